"""Published numbers: the papers' own, found for the cell they are nearest to, with what differs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from benchmark.report.published import Published, find, published, why_not_comparable


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


def test_a_miniature_finds_the_number_of_what_it_stands_for() -> None:
    real = find("nus", "dph", 32, "alexnet")
    assert real is not None
    assert find("nus-mini", "dph", 32, "mini-cnn") is real
    assert find("nus", "dph", 33, "alexnet") is None
    assert find("mine", "dph", 32, "alexnet") is None


def test_the_backbone_of_the_cell_comes_first() -> None:
    for number in published():
        found = find(number.dataset, number.method, number.bits, number.backbone)
        assert found is not None
        assert (found.dataset, found.method, found.bits) == (number.dataset, number.method, number.bits)
        assert found.backbone == number.backbone


@pytest.fixture
def number() -> Published:
    found = find("imagenet", "dph", 32, "alexnet")
    assert found is not None
    return found


def cell_of(number: Published) -> dict[str, Any]:
    return dataclasses.asdict(number) | {"miniature": False}


@pytest.mark.parametrize("name", ["protocol", "backbone", "k", "denominator", "empty"])
def test_what_was_measured_otherwise_is_named(number: Published, name: str) -> None:
    assert why_not_comparable(cell_of(number), number) == ""
    why = why_not_comparable(cell_of(number) | {name: "other"}, number)
    assert why == f"{name} other here, {getattr(number, name)} published"


def test_a_miniature_is_compared_with_nothing(number: Published) -> None:
    assert "miniature" in why_not_comparable(cell_of(number) | {"miniature": True}, number)
