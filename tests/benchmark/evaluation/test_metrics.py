"""Every score is compared with the slow, obvious way: rank the items and walk down the list."""

import inspect
import json
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark import evaluate
from benchmark.errors import UsageError
from benchmark.evaluation.counting import Counts, count
from benchmark.evaluation.metrics import chance_map, score_counts

DENOMINATORS = ("hits", "min_k_relevant", "relevant")


def slow_ap(relevance, k, denominator, total):
    found, precisions = 0, 0.0
    for place, relevant in enumerate(relevance[:k], start=1):
        if relevant:
            found += 1
            precisions += found / place
    bound = {"hits": found, "min_k_relevant": min(k, total), "relevant": total}[denominator]
    return precisions / bound if bound else 0.0


def random_case(seed, bits, queries, items, classes):
    random = np.random.default_rng(seed)
    codes = [np.where(random.random((n, bits)) < 0.5, -1, 1) for n in (queries, items)]
    labels = [random.random((n, classes)) < 0.3 for n in (queries, items)]
    return codes[0], codes[1], labels[0], labels[1]


case = st.builds(
    random_case, st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 5), st.integers(1, 60), st.integers(1, 4)
)


@given(case, st.integers(1, 70), st.sampled_from(DENOMINATORS), st.sampled_from(["zero", "skip", "zero_all"]))
@settings(max_examples=150, deadline=None)
def test_stable_ties_follow_the_database_order(arrays, k, denominator, empty):
    query, database, query_labels, database_labels = arrays
    expected, precision = [], []
    for code, own in zip(query, query_labels, strict=True):
        order = sorted(range(len(database)), key=lambda i: (code != database[i]).sum())
        relevance = [bool((own & database_labels[i]).any()) for i in order]
        precision.append(sum(relevance[:10]) / min(10, len(database)))
        ap = slow_ap(relevance, min(k, len(database)), denominator, sum(relevance))
        dropped = {"zero": not any(relevance), "skip": not any(relevance[:k]), "zero_all": False}[empty]
        expected.append(np.nan if dropped else ap)
    scores = evaluate(*arrays, k, ties="stable", denominator=denominator, empty=empty, n=[10])
    np.testing.assert_allclose(scores.ap, expected, atol=1e-12)
    assert scores.precision_at_n[0] == pytest.approx(np.mean(precision), abs=1e-12)
    assert scores.skipped == np.isnan(expected).sum()
    bounds = {"denominator": denominator, "empty": "zero_all"}
    worst, best = (evaluate(*arrays, k, ties=ties, **bounds).ap for ties in ("worst", "best"))
    inside = ~np.isnan(scores.ap)
    assert (worst - 1e-12 <= scores.ap)[inside].all()
    assert (scores.ap <= best + 1e-12)[inside].all()


@given(case)
@settings(max_examples=100, deadline=None)
def test_radius_scores_are_those_of_the_ball(arrays):
    query, database, query_labels, database_labels = arrays
    scores = evaluate(*arrays)
    distance = (query[:, None] != database[None]).sum(axis=2)
    relevant = (query_labels[:, None] & database_labels[None]).any(axis=2)
    for radius in range(query.shape[1] + 1):
        ball = [np.flatnonzero(row <= radius) for row in distance]
        precision = [row[near].mean() if len(near) else 0.0 for row, near in zip(relevant, ball, strict=True)]
        recall = [row[near].sum() / row.sum() for row, near in zip(relevant, ball, strict=True) if row.any()]
        assert scores.precision_at_radius[radius] == pytest.approx(np.mean(precision))
        assert scores.empty_balls_at_radius[radius] == pytest.approx(np.mean([not len(near) for near in ball]))
        assert scores.items_at_radius[radius] == pytest.approx(np.mean([len(near) for near in ball]))
        if recall:
            assert scores.recall_at_radius[radius] == pytest.approx(np.mean(recall))
    assert scores.empty_ball_share == scores.empty_balls_at_radius[min(2, query.shape[1])]


@given(case, st.integers(1, 70))
@settings(max_examples=60, deadline=None)
def test_chance_is_the_score_of_a_constant_code(arrays, k):
    query, database, query_labels, database_labels = arrays
    scores = evaluate(*arrays, k)
    constant = evaluate(np.ones_like(query), np.ones_like(database), query_labels, database_labels, k)
    np.testing.assert_allclose(scores.chance_map, constant.map, atol=1e-12)
    np.testing.assert_allclose(chance_map(query_labels, database_labels, k), constant.map, atol=1e-12)


def test_a_perfect_code_scores_one_and_a_cut_off_beyond_the_database_means_all_of_it():
    codes = np.array([[1, 1], [-1, -1], [1, 1], [-1, -1]])
    scores = evaluate(codes[:2], codes, [0, 1], [0, 1, 0, 1], k=10**6)
    assert scores.map == 1
    assert scores.k == 4
    assert list(scores.n) == [4]


def test_no_relevant_pair_gives_nan_and_no_query():
    scores = evaluate(np.ones((2, 4)), np.ones((3, 4)), [0, 1], [2, 2, 3])
    assert np.isnan(scores.map)
    assert scores.queries == 0
    assert scores.skipped == 2
    assert np.isnan(scores.precision_recall[1]).all()
    assert np.isnan(scores.recall_at_n).all()
    assert evaluate(np.ones((2, 4)), np.ones((3, 4)), [0, 1], [2, 2, 3], empty="zero_all").map == 0


@given(case, st.integers(1, 70))
@settings(max_examples=60, deadline=None)
def test_classes_and_groups_average_the_queries_that_carry_them(arrays, k):
    scores = evaluate(*arrays, k)
    classes = arrays[2].shape[1]
    expected = []
    for number in range(classes):
        own = [ap for ap, labels in zip(scores.ap, arrays[2], strict=True) if labels[number] and ap == ap]
        expected.append(np.mean(own) if own else np.nan)
    np.testing.assert_allclose(scores.class_map, expected, atol=1e-12)
    groups = scores.group_map({"all": range(classes), "first": [0], "none": []})
    np.testing.assert_allclose(groups["first"], expected[0], atol=1e-12)
    known = [value for value in expected if value == value]
    np.testing.assert_allclose(groups["all"], np.mean(known) if known else np.nan, atol=1e-12)
    assert np.isnan(groups["none"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k: 0"),
        ({"ties": "random"}, "ties: 'random'"),
        ({"denominator": "all"}, "denominator"),
        ({"empty": "drop"}, "empty"),
        ({"n": [0]}, "n: "),
        ({"n": []}, "n: "),
        ({"n": [1.5]}, "n: "),
        ({"n": 5}, "n: "),
        ({"k": 1.5}, "k: 1.5"),
        ({"k": "all"}, "k: 'all'"),
    ],
)
def test_unknown_conventions_are_named(arguments, message):
    with pytest.raises(UsageError, match=message):
        evaluate(np.ones((1, 2)), np.ones((1, 2)), [0], [0], **arguments)


@pytest.mark.parametrize("ties", ["expected", "stable", "best", "worst"])
def test_evaluate_takes_tensors_columns_and_lists_alike(ties):
    """A9, and what notebooks hold: tensors with gradients, bfloat16, a column of uint8 class numbers, lists."""
    query, database, *_ = random_case(5, 8, 6, 40, 1)
    numbers = [np.arange(n) % 5 for n in (6, 40)]
    expected = evaluate(query, database, *numbers, 20, ties=ties).to_dict()
    codes = [torch.tensor(one, dtype=torch.bfloat16, requires_grad=True) for one in (query, database)]
    columns = [one[:, None].astype(np.uint8) for one in numbers]
    assert evaluate(*codes, *columns, 20, ties=ties).to_dict() == expected
    assert (
        evaluate(query.tolist(), database.tolist(), *[list(map(int, one)) for one in numbers], 20, ties=ties).to_dict()
        == expected
    )
    assert evaluate(*codes, *[[{int(one)} for one in part] for part in numbers], 20, ties=ties).to_dict() == expected


def test_every_option_of_evaluate_is_documented():
    names = inspect.signature(evaluate).parameters
    assert [name for name in names if not re.search(rf"^ +[a-z_, ]*\b{name}[a-z_, ]*:", evaluate.__doc__, re.M)] == []


RECORD_METRICS = ["map", "k", "ties", "denominator", "empty", "precision_at_radius_2", "empty_ball_share", "chance_map"]


@given(case, st.integers(1, 70))
@settings(max_examples=30, deadline=None)
def test_the_single_numbers_go_through_json_unchanged(arrays, k):
    scores = evaluate(*arrays, k, graded=True)
    found = scores.to_dict()
    assert list(found) == [*RECORD_METRICS, "queries", "skipped_queries", "ndcg", "acg"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["map"] == (scores.map if scores.queries else None)
    assert found["precision_at_radius_2"] == scores.precision_at_radius[min(2, arrays[0].shape[1])]
    assert found["queries"] + found["skipped_queries"] == len(arrays[0])
    assert list(evaluate(*arrays, k).to_dict()) == [*RECORD_METRICS, "queries", "skipped_queries"]


@given(case, st.integers(1, 70), st.sampled_from(["expected", "stable", "best"]))
@settings(max_examples=30, deadline=None)
def test_other_maps_are_those_of_evaluate(arrays, k, ties):
    found = evaluate(*arrays, k, ties=ties, denominator="relevant").other_maps()
    for name, (cut_off, rule) in {"all": (None, "expected"), "best": (k, "best"), "worst": (k, "worst")}.items():
        expected = evaluate(*arrays, cut_off, ties=rule, denominator="relevant").map
        np.testing.assert_equal(found[f"map_{name}"], expected)


def test_curves_have_the_names_of_a_payload():
    scores = evaluate(*random_case(3, 8, 4, 60, 3), k=30, n=[5, 10])
    curves = scores.curves()
    assert list(curves) == [
        *("ap", "recall", "precision", "precision_at_radius", "recall_at_radius", "items_at_radius"),
        *("n", "precision_at_n", "recall_at_n"),
    ]
    assert all(isinstance(values, np.ndarray) for values in curves.values())
    assert {len(curves[name]) for name in curves if name.endswith("_at_radius")} == {9}
    assert curves["n"].tolist() == [5, 10]


@given(case, st.integers(1, 70), st.booleans())
@settings(max_examples=30, deadline=None)
def test_scores_print_one_short_line_per_number_and_no_bare_map(arrays, k, graded):
    scores = evaluate(*arrays, k, graded=graded)
    lines = repr(scores).splitlines()
    assert len(lines) == 5 + 2 * graded
    assert all(len(line) <= 120 for line in lines)
    assert f"MAP@{scores.k} " in lines[0]
    assert f"{scores.map:.4f}" in lines[0]
    assert all(word in lines[0] for word in ("ties: expected", "denominator: hits", "empty: zero", "skipped"))
    assert not re.search(r"\b(MAP|NDCG|ACG|P)\b(?!@)", repr(scores))


def test_counts_without_labels_have_no_scores_per_class():
    counts = count(np.ones((1, 2)), np.ones((1, 2)), [0], [0])
    with pytest.raises(UsageError, match="queries' labels"):
        _ = score_counts(Counts(counts.counts)).class_map


def test_shards_score_like_the_whole_but_have_no_order():
    arrays = random_case(3, 8, 4, 60, 3)
    shards = [(arrays[1][a : a + 20], arrays[3][a : a + 20]) for a in range(0, 60, 20)]
    assert evaluate(arrays[0], shards, arrays[2], k=30).map == evaluate(*arrays, k=30).map
    with pytest.raises(UsageError, match="shards"):
        evaluate(arrays[0], shards, arrays[2], ties="stable")


def test_stable_ties_cannot_be_read_off_counts():
    with pytest.raises(UsageError, match="stable"):
        score_counts(count(np.ones((1, 2)), np.ones((1, 2)), [0], [0]), ties="stable")


@given(case, st.integers(1, 70))
@settings(max_examples=60, deadline=None)
def test_counting_by_grade_changes_no_other_score(arrays, k):
    plain, graded = evaluate(*arrays, k), evaluate(*arrays, k, graded=True)
    np.testing.assert_array_equal(plain.ap, graded.ap)
    np.testing.assert_array_equal(plain.precision_at_radius, graded.precision_at_radius)


def test_graded_scores_need_graded_counts():
    with pytest.raises(UsageError, match="graded=True"):
        _ = evaluate(np.ones((1, 2)), np.ones((1, 2)), [0], [0]).ndcg
