"""Differences only between numbers measured alike, and p where the queries can be paired."""

from __future__ import annotations

import dataclasses

import pytest

from benchmark.report.comparison import Comparison, as_lines, compare_published, compare_results, summary


def test_a_store_equals_itself(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    (only,) = compare_results(synthetic.store, synthetic.store)
    assert only.difference == 0
    assert only.p == 1.0


def test_other_scores_are_told_apart_by_queries(synthetic, other) -> None:
    synthetic.cell("lsh", "nus-mini", 16)
    other.cell("lsh", "nus-mini", 16, quality=0.9)
    (only,) = compare_results(synthetic.store, other.store)
    assert only.difference == pytest.approx(only.b - only.a)
    assert only.p < 0.05


@pytest.mark.parametrize("change", [{"revision": "another"}, {"k": 5000}, {"ties": "stable"}])
def test_numbers_measured_otherwise_are_not_subtracted(synthetic, other, change) -> None:
    record = synthetic.cell("lsh", "nus-mini", 16)
    if "revision" not in change:
        change = {"metrics": record.metrics | change}
    other.cell("lsh", "nus-mini", 16, **change)
    (only,) = compare_results(synthetic.store, other.store)
    assert only.difference is None
    assert only.reason


def test_two_data_sets_of_one_name_are_each_compared_with_themselves(synthetic, other) -> None:
    """A2: the names agree four times, the data twice."""
    for store in (synthetic, other):
        for revision in ("a", "b"):
            store.cell("lsh", "feats", 16, revision=revision)
    found = compare_results(synthetic.store, other.store)
    assert len(found) == 2
    assert all(one.difference is not None for one in found)
    assert len({one.dataset for one in found}) == 2


def test_a_stale_result_gives_way_to_the_present_one(synthetic, other) -> None:
    """A2: and is compared where it is the only one."""
    old = synthetic.cell("lsh", "nus-mini", 16)
    new = synthetic.cell("lsh", "nus-mini", 16, parts={"sources": {"method": "new"}})
    there = other.cell("lsh", "nus-mini", 16)
    (only,) = compare_results(synthetic.store, other.store, {old.key}, {there.key})
    assert (only.a, only.b) == (new.metrics["map"], there.metrics["map"])
    assert only.difference is not None


def test_of_several_results_that_nothing_tells_apart_no_difference_is_given(synthetic, other) -> None:
    for code in ("one", "two"):
        synthetic.cell("lsh", "nus-mini", 16, parts={"sources": {"method": code}})
    other.cell("lsh", "nus-mini", 16)
    for one in compare_results(synthetic.store, other.store):
        assert one.difference is None
        assert "unclear" in one.reason


def test_other_weights_are_compared_only_where_there_are_no_like_ones(synthetic, other) -> None:
    for weights in ("w", "v"):
        synthetic.cell("lsh", "nus-mini", 16, parts={"weights": weights})
    like = other.cell("lsh", "nus-mini", 16)
    (only,) = compare_results(synthetic.store, other.store)
    assert only.b == like.metrics["map"]


def test_a_miniature_is_never_set_against_the_paper(synthetic) -> None:
    synthetic.cell("dph", "imagenet-mini", 64)
    found, apart = compare_published(synthetic.store)
    assert found == []
    assert apart == ["ImageNet-mini (miniature), dph: a miniature is never set against published numbers"]


def test_the_real_protocol_is_subtracted_and_the_others_are_told(synthetic) -> None:
    synthetic.published_cell("dph", "imagenet", 64)
    synthetic.published_cell("dsh", "imagenet", 64)
    synthetic.published_cell("orthohash", "imagenet", 64)
    found, apart = compare_published(synthetic.store)
    assert [one.method for one in found] == ["dph", "dsh"]
    assert found[0].difference == pytest.approx(0.5492 - found[0].a)
    assert "Deep Priority Hashing" in found[0].note
    assert "printed as 0.5492 in Table 1 and 0.5592 in Table 3" in found[0].note
    assert any("published for vgg16, this is alexnet" in line and line.startswith("imagenet, dph:") for line in apart)
    assert "imagenet, orthohash: nothing is published of this method on this data set" in apart


def test_what_nothing_is_published_of_is_said(synthetic) -> None:
    for method, dataset in (("dph", "mine"), ("lsh", "mine"), ("agh", "imagenet"), ("dph", "imagenet")):
        record = synthetic.published_cell(method, dataset, 24)
        synthetic.store.commit(record, None)
    _, apart = compare_published(synthetic.store)
    assert sorted(apart) == [
        "imagenet, agh: nothing is published of this method on this data set",
        "imagenet, dph: no number is published at 24 bits",
        "mine, dph, lsh: nothing is published on this data set",
    ]


def test_another_protocol_is_told_and_not_subtracted(synthetic) -> None:
    metrics = synthetic.published_cell("dph", "imagenet", 32).metrics
    synthetic.cell("dph", "coco", 32, metrics=metrics | {"k": 100}, protocol="drawn", backbone="")
    found, apart = compare_published(synthetic.store)
    assert len(found) == 1
    told = [line for line in apart if line.startswith("coco")]
    assert len(told) == 2  # the paper prints it twice
    words = "published for alexnet, this is features; protocol published lists, here drawn; k 5000, here 100"
    assert all(words in line for line in told)


def test_seeds_are_averaged_before_the_paper_is_subtracted(synthetic) -> None:
    scores = []
    for seed in range(3):
        record = synthetic.published_cell("dph", "imagenet", 32)
        record.cell["seed"], record.metrics["map"] = seed, 0.4 + seed / 10
        synthetic.store.commit(record, None)
        scores.append(record.metrics["map"])
    (only,), _ = compare_published(synthetic.store)
    assert only.a == pytest.approx(sum(scores) / 3)
    assert only.seed is None


def test_a_lost_payload_costs_the_test_not_the_difference(synthetic, other) -> None:
    synthetic.cell("lsh", "nus-mini", 16)
    other.cell("lsh", "nus-mini", 16, quality=0.9)
    (payload,) = synthetic.store.cells.glob("*.npz")
    payload.unlink()
    (only,) = compare_results(synthetic.store, other.store)
    assert only.difference == pytest.approx(only.b - only.a)
    assert only.p is None


def test_stores_that_share_no_cell(synthetic, other) -> None:
    synthetic.cell("lsh", "nus-mini", 16)
    assert compare_results(synthetic.store, other.store) == []
    other.cell("lsh", "nus-mini", 32)
    assert compare_results(synthetic.store, other.store) == []
    assert summary([]) == as_lines([])[-1] == "no cell is in both"


def test_every_cell_is_one_line_and_the_last_line_counts_them() -> None:
    sure = Comparison("itq", "", "nus", 16, 0, 0.5, 0.6, 0.1, 0.01, "")
    alike = dataclasses.replace(sure, b=0.5, difference=0.0, p=1.0)
    apart = dataclasses.replace(sure, difference=None, p=None, seed=None, reason="k 100 and 5000")
    head, first, second, third, last = as_lines([sure, alike, apart])
    assert head.split() == ["method", "data", "set", "bits", "seed", "A", "B", "B", "-", "A", "p"]
    assert first.split() == ["itq", "nus", "16", "0", "0.5000", "0.6000", "+0.1000", "0.0100", "*"]
    assert second.endswith("+0.0000  1.0000")
    assert third.endswith("-  not comparable: k 100 and 5000")
    assert last.startswith("3 cells in both: 1 differ, 1 surely so")
    assert last.endswith("1 not comparable")
