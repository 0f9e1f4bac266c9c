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
    paired_difference,
    permutation_test,
    permutation_tests,
    ranks,
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
    assert permutation_test(a, b) == permutation_test(b, a) == 1 / 10_000


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
