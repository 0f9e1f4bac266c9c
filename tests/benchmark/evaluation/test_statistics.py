"""Tests and intervals against slow, obvious ones, and against published constants."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.evaluation.statistics import (
    bootstrap_interval,
    cliques,
    critical_difference,
    friedman,
    holm,
    mean_difference,
    paired_difference,
    paired_tests,
    permutation_test,
    permutation_tests,
    ranks,
    seeded_difference,
)


def exact_p(difference: np.ndarray) -> float:
    """All sign flips, counted one by one."""
    seen = abs(difference.sum())
    flips = list(itertools.product((1, -1), repeat=len(difference)))
    return sum(abs(np.dot(signs, difference)) >= seen - 1e-12 for signs in flips) / len(flips)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_permutation_test_estimates_the_exact_p(steps: list[int], seed: int) -> None:
    a = np.array(steps) / 7
    p = permutation_test(a, np.zeros(len(a)), rounds=4000, seed=seed)
    assert abs(p - exact_p(a)) < 5 * np.sqrt(0.25 / 4000) + 1 / 4000


def test_equal_scores_are_never_sure() -> None:
    a = np.random.default_rng(0).random(50)
    assert permutation_test(a, a.copy()) == 1.0


def test_a_clear_lead_is_sure_and_symmetric() -> None:
    rng = np.random.default_rng(0)
    b = rng.random(200)
    a = b + rng.normal(0.1, 0.1, 200)
    assert permutation_test(a, b) == permutation_test(b, a) <= 1 / 10_000


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_p_is_never_below_the_exact_one_but_for_the_luck_of_its_flips(steps: list[int]) -> None:
    a = np.array(steps) / 7
    exact = exact_p(a)
    assert permutation_test(a, np.zeros(len(a)), rounds=2000) >= exact - 5 * np.sqrt(exact * (1 - exact) / 2000)


def test_a_clear_lead_stays_sure_among_any_number_of_tests() -> None:
    """Of 36 methods with one seed no pair differed: 1 of 10,000 flips, times 630 pairs."""
    rng = np.random.default_rng(0)
    scores = [rng.normal(0.3 + 0.3 * (n == 0), 0.1, (1, 500)) for n in range(36)]
    pairs = list(itertools.combinations(range(36), 2))
    p = holm(paired_tests(scores, pairs)[0])
    assert (p[[0 in pair for pair in pairs]] < 0.001).all()
    assert (p[[0 not in pair for pair in pairs]] >= 0.001).all()


def test_rounding_is_no_difference() -> None:
    """An AP of 1.0000000000000002 beside one of 1 was a lead, and p was 0.067."""
    whole, a_bit_more = np.ones((1, 200)), np.ones((1, 200)) + 2.3e-16
    p, mean = paired_tests([whole, a_bit_more], [(0, 1)])
    assert (p.tolist(), mean.tolist()) == ([1.0], [0.0])
    assert seeded_difference(np.repeat(whole, 2, axis=0), a_bit_more).p() == 1
    assert ranks(np.array([[1.0, 1.0000000000000002, 0.5]])).tolist() == [[1.5, 1.5, 3]]


def test_skipped_queries_do_not_change_p() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random(30), rng.random(30)
    holes = np.r_[a, np.nan, 0.3], np.r_[b, 0.5, np.nan]
    assert paired_difference(*holes)[-2:].tolist() == [0, 0]
    assert abs(permutation_test(*holes) - permutation_test(a, b)) < 0.03


def test_many_tests_at_once_are_each_alone() -> None:
    differences = np.random.default_rng(2).normal(0.05, 0.2, (40, 6))
    together = permutation_tests(differences, seed=3)
    alone = [permutation_tests(differences[:, [i]], seed=3)[0] for i in range(6)]
    assert together.tolist() == alone


def test_pairing_different_queries_is_an_error() -> None:
    with pytest.raises(ValueError, match="same queries"):
        permutation_test(np.zeros(3), np.zeros(4))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_the_step_down_rule(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for level in (0.01, 0.05, 0.2):
        rejected = set()
        for step, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
            if p_values[index] * (len(p_values) - step) > level:
                break
            rejected.add(index)
        assert {i for i, q in enumerate(adjusted) if q <= level} == rejected


def test_bootstrap_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        low, high = bootstrap_interval(rng.beta(2, 3, 80), rounds=400, seed=trial)
        covered += low <= 0.4 <= high
    assert 0.88 <= covered / 200 <= 0.99


def test_bootstrap_leaves_out_skipped_queries() -> None:
    assert bootstrap_interval(np.array([0.5, np.nan, 0.5])) == (0.5, 0.5)
    assert np.isnan(bootstrap_interval(np.array([np.nan]))).all()


def test_ranks_average_ties() -> None:
    assert ranks(np.array([[0.3, 0.9, 0.3]])).tolist() == [[2.5, 1, 2.5]]


@pytest.mark.parametrize(("methods", "quantile"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_difference_has_the_constants_of_demsar_2006(methods: int, quantile: float) -> None:
    expected = quantile * np.sqrt(methods * (methods + 1) / (6 * 14))
    assert critical_difference(methods, 14) == pytest.approx(expected, abs=2e-3)


def test_friedman_needs_something_to_rank() -> None:
    assert np.isnan(friedman(np.ones((1, 4))))
    scores = np.arange(5) + np.random.default_rng(0).normal(0, 0.1, (8, 5))
    assert friedman(scores) < 0.001


@given(st.lists(st.floats(1, 9), min_size=1, max_size=7), st.floats(0, 4))
def test_cliques_are_the_maximal_groups_within_the_difference(mean: list[float], difference: float) -> None:
    values = np.array(mean)
    found = {frozenset(group) for group in cliques(values, difference)}
    within = []
    for size in range(2, len(mean) + 1):
        for group in itertools.combinations(range(len(mean)), size):
            low = min(values[list(group)])
            if all(values[i] <= low + difference for i in group):
                within.append(frozenset(group))
    maximal = {group for group in within if not any(group < other for other in within)}
    assert found == maximal


# --- several seeds -----------------------------------------------------------------------------------------


def test_where_all_queries_are_alike_seeds_are_tested_as_welch_does() -> None:
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    a, b = rng.normal(0.5, 0.02, 3), rng.normal(0.45, 0.05, 4)
    found = seeded_difference(np.repeat(a[:, None], 50, axis=1), np.repeat(b[:, None], 50, axis=1))
    welch = ttest_ind(a, b, equal_var=False)
    assert found.p() == pytest.approx(welch.pvalue, rel=1e-6)
    assert found.interval() == pytest.approx(tuple(welch.confidence_interval()), rel=1e-6)


def test_where_all_seeds_are_alike_queries_are_tested_as_a_paired_t_test_does() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(1)
    a, b = rng.random(80), rng.random(80)
    found = seeded_difference(np.stack([a, a]), np.stack([b, b, b]))
    assert found.p() == pytest.approx(ttest_rel(a, b).pvalue, rel=1e-9)
    assert abs(found.p() - permutation_test(a, b)) < 0.02


def test_the_variance_is_that_of_queries_and_of_seeds_counted_one_by_one() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((3, 40)), rng.random((2, 40))
    differences = [sum(a[s][q] for s in range(3)) / 3 - sum(b[s][q] for s in range(2)) / 2 for q in range(40)]
    mean = sum(differences) / 40
    by_query = sum((one - mean) ** 2 for one in differences) / 39 / 40
    by_seed = 0.0
    for scores in (a, b):
        means = [sum(row) / 40 for row in scores]
        middle = sum(means) / len(means)
        by_seed += sum((one - middle) ** 2 for one in means) / (len(means) - 1) / len(means)
    found = seeded_difference(a, b)
    assert found.mean == pytest.approx(mean)
    assert found.variance == pytest.approx(by_query + by_seed)


def test_two_seeds_that_disagree_are_not_overruled_by_many_queries() -> None:
    rng = np.random.default_rng(3)
    hardness = rng.random(100_000)
    a = np.stack([hardness + 0.02, hardness - 0.01]) + rng.normal(0, 0.05, (2, 100_000))
    b = np.stack([hardness, hardness]) + rng.normal(0, 0.05, (2, 100_000))
    assert permutation_test(a.mean(axis=0), b.mean(axis=0), rounds=199) <= 1 / 200  # as it was: sure
    assert seeded_difference(a, b).p() > 0.5


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("noise", [0.0, 0.003, 0.03])
def test_methods_that_are_equal_but_for_their_seeds_are_told_apart_in_one_of_twenty(seeds: int, noise: float) -> None:
    """Under the null, with little, some and much noise of seeds beside that of 400 queries."""
    rng, trials, found, as_it_was = np.random.default_rng(seeds), 600, 0, 0
    for _ in range(trials):
        hardness = rng.random(400)
        a, b = (
            hardness + rng.normal(0, 0.1, 400) + rng.normal(0, noise, (seeds, 1)) + rng.normal(0, 0.05, (seeds, 400))
            for _ in range(2)
        )
        found += seeded_difference(a, b).p() < 0.05
        over_queries = a.mean(axis=0) - b.mean(axis=0)
        as_it_was += abs(over_queries.mean()) > 1.96 * over_queries.std(ddof=1) / 20
    assert 0.005 <= found / trials <= 0.075
    assert noise < 0.01 or as_it_was / trials > 0.25  # averaging over seeds first: sure where nothing is


def test_a_lead_that_all_seeds_share_is_found() -> None:
    rng = np.random.default_rng(4)
    hardness = rng.random(400)
    a, b = (hardness + lead + rng.normal(0, 0.002, (3, 1)) + rng.normal(0, 0.05, (3, 400)) for lead in (0.05, 0.0))
    assert seeded_difference(a, b).p() < 0.001
    low, high = seeded_difference(a, b).interval()
    assert 0 < low < 0.05 < high


def test_a_method_with_one_seed_borrows_the_spread_of_the_other() -> None:
    rng = np.random.default_rng(5)
    many, one = rng.random((4, 30)), rng.random((1, 30))
    spread = many.mean(axis=1).var(ddof=1)
    by_query = (many.mean(axis=0) - one[0]).var(ddof=1) / 30
    assert seeded_difference(many, one).variance == pytest.approx(by_query + spread / 4 + spread)


def test_skipped_queries_do_not_count_and_equal_scores_are_never_sure_with_seeds_either() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.random((2, 30)), rng.random((2, 30))
    holes = [np.c_[a, [np.nan, 0.3]], np.c_[b, [0.1, 0.2]]]
    assert seeded_difference(*holes) == seeded_difference(a, b)
    assert seeded_difference(a, a.copy()).p() == 1.0
    with pytest.raises(ValueError, match="same queries"):
        seeded_difference(a, b[:, :7])


def test_pairs_are_tested_by_queries_alone_only_where_neither_has_a_second_seed() -> None:
    rng = np.random.default_rng(7)
    scores = [rng.random((1, 40)), rng.random((1, 40)), rng.random((2, 40))]
    p, mean = paired_tests(scores, [(0, 1), (0, 2)])
    assert p[0] == permutation_test(scores[0][0], scores[1][0])
    assert p[1] == seeded_difference(scores[0], scores[2]).p()
    assert mean[0] == pytest.approx(scores[0].mean() - scores[1].mean())


def test_the_mean_of_independent_differences_has_the_variance_of_a_mean() -> None:
    rng = np.random.default_rng(8)
    both = [seeded_difference(rng.random((2, 50)), rng.random((2, 50))) for _ in range(2)]
    mean = mean_difference(both)
    assert mean.mean == pytest.approx((both[0].mean + both[1].mean) / 2)
    assert mean.variance == pytest.approx((both[0].variance + both[1].variance) / 4)
