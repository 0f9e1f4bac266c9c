"""Vectors ranked by cosine: against sorting and adding up by hand."""

from __future__ import annotations

import itertools
import statistics

import numpy as np
import pytest

from benchmark import UsageError, evaluate, score_counts
from benchmark.evaluation import vectors
from benchmark.evaluation.vectors import cosine_in_database_order, count_vectors


def case(seed: int, items: int = 40, whole: bool = True) -> tuple[np.ndarray, ...]:
    """Few distinct vectors where `whole`, so that there are ties; multi-hot labels, some rows without."""
    random = np.random.default_rng(seed)
    draw = (lambda n: random.integers(-1, 2, (n, 3)).astype(float)) if whole else (lambda n: random.normal(size=(n, 5)))
    return draw(12), draw(items), random.random((12, 4)) < 0.3, random.random((items, 4)) < 0.3


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    length = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return round(float((a * b).sum()) / length, 9) if length else 0.0


def ap_by_hand(relevance: list[bool], k: int) -> float:
    found = [place for place, hit in enumerate(relevance[:k]) if hit]
    return statistics.fmean((n + 1) / (place + 1) for n, place in enumerate(found)) if found else 0.0


@pytest.mark.parametrize("k", [1, 7, 40])
def test_without_ties_it_is_sorting_and_adding_up(k: int) -> None:
    query, database, query_labels, database_labels = case(1, whole=False)
    scores = score_counts(count_vectors(query, database, query_labels, database_labels), k, n=[3, 20])
    for row, own in enumerate(query):
        order = sorted(range(len(database)), key=lambda item: -cosine(own, database[item]))
        relevance = [bool((query_labels[row] & database_labels[item]).any()) for item in order]
        if any(relevance):
            assert scores.ap[row] == pytest.approx(ap_by_hand(relevance, k))
        else:
            assert np.isnan(scores.ap[row])
        assert scores._hits_at_n[row].tolist() == [sum(relevance[:3]), sum(relevance[:20])]
    bounds = scores.other_maps()
    assert bounds["map_best"] == pytest.approx(scores.map) == pytest.approx(bounds["map_worst"])


def test_ties_are_averaged_over_all_orders() -> None:
    """Five items at one cosine, two of them relevant, one before them: every order by hand."""
    database = np.array([[1, 0], [1, 1], [2, 2], [3, 3], [0.5, 0.5], [7, 7]])
    relevant = np.array([[0], [1], [0], [1], [0], [0]], bool)
    scores = score_counts(count_vectors([[1.0, 0.0]], database, np.array([[True]]), relevant), 4)
    orders = [ap_by_hand([False, *order], 4) for order in itertools.permutations([True, False, True, False, False])]
    assert scores.map == pytest.approx(statistics.fmean(orders))
    bounds = scores.other_maps()
    assert (bounds["map_best"], bounds["map_worst"]) == pytest.approx((max(orders), min(orders)))


def test_ties_in_the_order_of_the_database() -> None:
    query, database, query_labels, database_labels = case(2)
    counts = count_vectors(query, database, query_labels, database_labels)
    found = cosine_in_database_order(score_counts(counts, 10), counts)
    for row, own in enumerate(query):
        order = sorted(range(len(database)), key=lambda item: (-cosine(own, database[item]), item))
        relevance = [bool((query_labels[row] & database_labels[item]).any()) for item in order]
        assert not any(relevance) or found.ap[row] == pytest.approx(ap_by_hand(relevance, 10))


@pytest.mark.parametrize("denominator", ["hits", "min_k_relevant", "relevant"])
@pytest.mark.parametrize("empty", ["zero", "skip", "zero_all"])
def test_codes_taken_as_vectors_score_as_by_hamming_distance(denominator: str, empty: str) -> None:
    """Of codes the cosine is 1 - 2 d / K, so both rankings are one, ties and all conventions included."""
    random = np.random.default_rng(3)
    query, database = (random.choice((-1.0, 1.0), (n, 6)) for n in (15, 90))
    labels = random.random((15, 3)) < 0.3, random.random((90, 3)) < 0.1
    rule = {"denominator": denominator, "empty": empty}
    here = score_counts(count_vectors(query, database, *labels), 20, **rule)
    there = evaluate(query, database, *labels, k=20, **rule)
    np.testing.assert_allclose(here.ap, there.ap)
    np.testing.assert_allclose(here.precision_at_n, there.precision_at_n)
    np.testing.assert_allclose(here.recall_at_n, there.recall_at_n)
    np.testing.assert_allclose(here.precision_recall[1], there.precision_recall[1])
    np.testing.assert_allclose(here.class_map, there.class_map)
    assert here.chance_map == pytest.approx(there.chance_map)
    assert (here.queries, here.skipped) == (there.queries, there.skipped)


def test_a_radius_is_not_spoken_of() -> None:
    scores = score_counts(count_vectors(*case(4)), 10)
    told = scores.to_dict()
    assert told["precision_at_radius_2"] is told["empty_ball_share"] is None
    assert not [name for name in scores.curves() if "radius" in name]
    assert "H<=" not in repr(scores)


def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = score_counts(count_vectors(*case(5)), 10)
    for name, value in (("PAIRS", 1), ("ROWS", 3), ("CHUNK", 90)):
        monkeypatch.setattr(vectors, name, value)
    parts = score_counts(count_vectors(*case(5)), 10)
    np.testing.assert_array_equal(whole.ap, parts.ap)
    np.testing.assert_allclose(whole.precision_recall[1], parts.precision_recall[1])


def test_the_length_of_a_vector_does_not_matter_and_none_is_a_tie() -> None:
    query, database, *labels = case(6)
    database[:5] = 0
    scaled = database * np.random.default_rng(0).uniform(0.1, 9, (len(database), 1))
    one, other = (score_counts(count_vectors(query, rows, *labels), 10) for rows in (database, scaled))
    np.testing.assert_allclose(one.ap, other.ap)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((np.ones((12, 2)), None), "database vectors: 3 columns, expected 2"),
        ((np.full((12, 3), np.nan), None), "query vectors: NaN or infinity"),
        ((np.ones(3), None), r"query vectors: float64 of shape \(3,\)"),
        ((np.ones((9, 3)), None), "labels: 12 and 40 rows, expected 9 and 40"),
    ],
)
def test_bad_vectors_are_named(change: tuple[np.ndarray, None], message: str) -> None:
    _, database, *labels = case(7)
    with pytest.raises(UsageError, match=message):
        count_vectors(change[0], database, *labels)
