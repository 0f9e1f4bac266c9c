"""The closed forms are compared with enumeration: every order of every level, one after the other."""

from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.evaluation.counting import Counts
from benchmark.evaluation.metrics import score_counts
from benchmark.evaluation.ties import Levels, authors_curve, average_precision, harmonic_span, precision_recall_curve

DENOMINATORS = ("hits", "min_k_relevant", "relevant")


def slow_ap(relevance, k, denominator, total):
    found, precisions = 0, 0.0
    for place, relevant in enumerate(relevance[:k], start=1):
        if relevant:
            found += 1
            precisions += found / place
    bound = {"hits": found, "min_k_relevant": min(k, total), "relevant": total}[denominator]
    return precisions / bound if bound else 0.0


def all_orders(levels):
    """Every ranking of a list of levels, each a list of 0/1, as lists of relevance."""
    rankings = [[]]
    for level in levels:
        rankings = [ranking + list(order) for ranking in rankings for order in permutations(level)]
    return rankings


def as_rows(levels):
    items = np.array([[len(level) for level in levels]])
    relevant = np.array([[sum(level) for level in levels]])
    return items, relevant


small_levels = st.lists(st.lists(st.integers(0, 1), max_size=4), min_size=1, max_size=3).filter(
    lambda levels: 0 < sum(map(len, levels)) <= 9
)


@given(small_levels, st.integers(1, 10), st.sampled_from(DENOMINATORS))
@settings(max_examples=300, deadline=None)
def test_ap_is_the_mean_and_the_bounds_over_all_tie_orders(levels, k, denominator):
    total = sum(map(sum, levels))
    every = [slow_ap(order, k, denominator, total) for order in all_orders(levels)]
    k = min(k, sum(map(len, levels)))
    for ties, expected in (("expected", np.mean(every)), ("best", max(every)), ("worst", min(every))):
        assert average_precision(Levels(*as_rows(levels)), k, ties, denominator)[0] == pytest.approx(
            expected, abs=1e-12
        )


@given(small_levels, st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_precision_at_n_is_the_mean_and_the_bounds_over_all_tie_orders(levels, n):
    n = min(n, sum(map(len, levels)))
    every = [sum(order[:n]) / n for order in all_orders(levels)]
    items, relevant = as_rows(levels)
    counts = Counts(np.stack([items - relevant, relevant], axis=2))
    for ties, expected in (("expected", np.mean(every)), ("best", max(every)), ("worst", min(every))):
        assert score_counts(counts, ties=ties, n=[n]).precision_at_n[0] == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 300), st.sampled_from(DENOMINATORS))
@settings(max_examples=60, deadline=None)
def test_ap_of_a_cut_level_is_the_sum_over_the_hypergeometric_law(seed, slots, denominator):
    random = np.random.default_rng(seed)
    items = np.array([random.integers(0, 40), slots + random.integers(1, 400)])
    relevant = random.integers(0, items + 1)
    (before, size), (hits, found), total = items.tolist(), relevant.tolist(), int(relevant.sum())
    k, whole, expected = before + slots, sum_of_level(0, 0, before, hits), 0.0
    for m in range(max(0, slots - size + found), min(slots, found) + 1):
        chance = comb(found, m) * comb(size - found, slots - m) / comb(size, slots)
        bound = {"hits": hits + m, "min_k_relevant": min(k, total), "relevant": total}[denominator]
        if bound:
            expected += chance * (whole + sum_of_level(before, hits, slots, m)) / bound
    found_ap = average_precision(Levels(items[None], relevant[None]), k, "expected", denominator)
    assert found_ap[0] == pytest.approx(expected, abs=1e-12)


def sum_of_level(before, hits, slots, found):
    """E[sum of rel P] over a level of `slots` places with `found` relevant, term by term."""
    place = np.arange(1, slots + 1)
    pair = (found - 1) / (slots - 1) if slots > 1 else 0.0
    return float((found / max(slots, 1) / (before + place) * (hits + 1 + (place - 1) * pair)).sum())


def test_ap_keeps_its_precision_at_millions_of_items():
    items, relevant = np.array([[10**6, 3, 10**6]]), np.array([[7, 2, 1000]])
    k = 10**6 + 3
    big = sum_of_level(0, 0, 10**6, 7)
    small = sum(Fraction(2, 3) * Fraction(1, 10**6 + j) * (8 + (j - 1) * Fraction(1, 2)) for j in range(1, 4))
    assert average_precision(Levels(items, relevant), k)[0] == pytest.approx((big + float(small)) / 9, rel=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 3000), st.sampled_from(["expected", "best", "worst"]))
@settings(max_examples=40, deadline=None)
def test_queries_scored_together_score_as_alone(seed, k, ties):
    random = np.random.default_rng(seed)
    items = random.integers(0, 4, (300, 6)) * random.integers(0, 10 ** random.integers(1, 5, (300, 6)))
    relevant = random.binomial(items, random.random((300, 1)))
    together = average_precision(Levels(items, relevant), k, ties)
    for row in random.integers(0, 300, 10):
        alone = average_precision(Levels(items[[row]], relevant[[row]]), k, ties)
        assert together[row] == pytest.approx(alone[0], abs=1e-13)


@given(st.integers(0, 10**7), st.integers(0, 2000))
def test_harmonic_spans_are_exact(start, length):
    exact = float(np.sum(1 / np.arange(start + 1, start + length + 1, dtype=np.longdouble)))
    assert harmonic_span(np.array([start]), np.array([length]))[0] == pytest.approx(exact, rel=1e-13, abs=0)


def slow_curve(items, relevant):
    """One query: the points of non-empty radii, the first of each recall, joined by straight lines."""
    points = {}
    for radius in range(len(items)):
        retrieved, hits = sum(items[: radius + 1]), sum(relevant[: radius + 1])
        if retrieved:
            points.setdefault(hits / sum(relevant), hits / retrieved)
    return np.interp(np.linspace(0, 1, 101), list(points), list(points.values()))


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=5, max_size=5), min_size=1, max_size=4)
)
@settings(max_examples=200, deadline=None)
def test_precision_recall_joins_the_points_of_the_radii(rows):
    counts = np.array(rows)
    items, relevant = counts.sum(axis=2), counts[:, :, 1]
    slow = [slow_curve(a, b) for a, b in zip(items.tolist(), relevant.tolist(), strict=True) if sum(b)]
    recall, precision = precision_recall_curve(Levels(items, relevant))
    assert recall[50] == 0.5
    np.testing.assert_allclose(precision, np.mean(slow, axis=0) if slow else np.full(101, np.nan), atol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=2, max_size=6))
@settings(max_examples=100, deadline=None)
def test_the_authors_curve_is_that_of_their_script(row):
    recall, precision = [], []
    all_relevant = sum(hits for _, hits in row)
    for radius in range(len(row) - 1):
        hits = sum(hits for _, hits in row[: radius + 1])
        retrieved = hits + sum(others for others, _ in row[: radius + 1])
        recall.append(hits / all_relevant if hits else 0.0)
        precision.append(hits / retrieved if hits else 0.0)
    recall.append(1.0)
    precision.append(precision[-1] if all_relevant else 0.0)
    counts = np.array([row])
    curve = authors_curve(Levels(counts.sum(axis=2), counts[:, :, 1]))
    np.testing.assert_allclose(curve[1], np.interp(np.linspace(0, 1, 101), recall, precision), atol=1e-12)


def slow_dcg(grades, k):
    return sum((2.0**grade - 1) / np.log2(1 + place) for place, grade in enumerate(grades[:k], start=1))


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=3).filter(lambda rows: sum(map(len, rows))),
    st.integers(1, 12),
)
@settings(max_examples=100, deadline=None)
def test_graded_scores_are_the_means_over_all_tie_orders(levels, k):
    counts = np.array([[[level.count(grade) for grade in range(4)] for level in levels]])
    k = min(k, sum(map(len, levels)))
    scores = score_counts(Counts(counts, graded=True), k)
    orders = all_orders(levels)
    assert scores.acg == pytest.approx(np.mean([sum(order[:k]) / k for order in orders]), abs=1e-12)
    ideal = slow_dcg(sorted(orders[0], reverse=True), k)
    if ideal:
        assert scores.ndcg == pytest.approx(np.mean([slow_dcg(order, k) for order in orders]) / ideal, abs=1e-12)
    else:
        assert np.isnan(scores.ndcg)
