"""Results against results and against published numbers: differences only between numbers measured alike."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from benchmark.commands.compare import add_arguments, run
from benchmark.errors import UsageError
from benchmark.report.comparison import compare_published, compare_results
from benchmark.report.published import find, published


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


def test_a_csv_of_names_that_look_like_formulas(synthetic, tmp_path: Path) -> None:
    """C15."""
    synthetic.cell("=cmd", "nus-mini", 16)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    root = str(synthetic.store.root)
    assert run(parser.parse_args([root, root, "--csv", str(tmp_path / "c.csv")])) == 0
    assert "\n'=cmd," in (tmp_path / "c.csv").read_text()
    with pytest.raises(UsageError, match="its folder does not exist"):
        run(parser.parse_args([root, root, "--csv", str(tmp_path / "no" / "c.csv")]))


def test_a_miniature_is_never_subtracted_from_the_paper(synthetic) -> None:
    synthetic.cell("dph", "imagenet-mini", 64)
    (only,) = compare_published(synthetic.store)
    assert only.b == 0.5492
    assert only.difference is None
    assert "miniature" in only.reason


def test_the_real_protocol_is_subtracted(synthetic) -> None:
    synthetic.published_cell("dph", "imagenet", 32)
    (only,) = compare_published(synthetic.store)
    assert only.difference == pytest.approx(0.4803 - only.a)


def test_published_numbers_are_the_papers(shared_data: Path) -> None:
    import csv

    reference = shared_data.parent / "reference" / "published"
    names = {"ImageNet": "imagenet", "NUS-WIDE": "nus", "MS-COCO": "coco"}
    ours = {(p.table, p.dataset, p.method, p.bits): p.map for p in published()}
    assert len(ours) == len(published()) == 212
    labels = {
        "map_alexnet_imbalanced": "Table 1", "ablation_alexnet_imbalanced": "Table 3 (ablation)",
        "balanced_alexnet": "Table 2 left (balanced)", "vgg16_imbalanced": "Table 2 right (VGG-16)",
    }  # fmt: skip
    for file in reference.glob("paper_*.csv"):
        with file.open() as handle:
            for row in csv.DictReader(handle):
                balanced = "-balanced" if row["table"].startswith("balanced") else ""
                dataset = names[row["dataset"]] + balanced
                key = (labels[row["table"]], dataset, row["method"].lower(), int(row["bits"]))
                assert ours[key] == float(row["map"])


def test_doubted_numbers_say_so() -> None:
    lsh, dph = find("nus", "lsh", 16, "alexnet"), find("imagenet", "dph", 64, "alexnet")
    assert lsh is not None
    assert "below chance" in lsh.doubt
    assert dph is not None
    assert "0.5592" in dph.doubt


def test_the_command_prints_and_writes(synthetic, tmp_path: Path, capsys) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    root = str(synthetic.store.root)
    assert run(parser.parse_args([root, "published", "--csv", str(tmp_path / "c.csv")])) == 0
    assert "not comparable: a miniature" in capsys.readouterr().out
    assert "0.3309" in (tmp_path / "c.csv").read_text()
    with pytest.raises(UsageError, match="no results"):
        run(parser.parse_args([root, str(tmp_path / "nowhere")]))
