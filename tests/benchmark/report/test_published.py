"""Published numbers: those of the sources, and set only against cells that were measured alike."""

from __future__ import annotations

import csv
import dataclasses
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from benchmark.registry import methods
from benchmark.report.published import UNSTATED, Published, measured_alike, printed_for, published, why_not_comparable

SETS = {
    "ImageNet": "imagenet", "NUS-WIDE": "nus", "MS-COCO": "coco", "flickr25k": "mirflickr", "nus21": "nus21",
    "cifar100-lt": "cifar100", "imagenet100-lt": "imagenet", "cifar100 10000/5000/45000": "cifar100",
}  # fmt: skip


def test_published_numbers_are_the_sources(shared_data: Path) -> None:
    ours: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for one in published():
        k = "all" if one.k is None else str(one.k)
        start = (one.source.partition(",")[0], one.dataset, one.backbone, one.title, one.bits, k)
        ours[*start, str(one.imbalance_factor or "")].append(one.map)
    theirs: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for file in (shared_data.parent / "reference" / "published").glob("*.csv"):
        for row in csv.DictReader(file.open()):
            table = row.get("table", "")
            balanced = "-balanced" if table.startswith("balanced") else ""
            dataset = SETS[row["dataset"]] + balanced
            k = row.get("k") or ("1000" if dataset.startswith("imagenet") else "5000")
            usual = ("vgg16" if table.startswith("vgg") else "alexnet") if table else UNSTATED
            source = row.get("source", "Cao et al.").partition(",")[0]
            start = (source, dataset, row.get("backbone") or usual, row["method"], int(row["bits"]), k)
            theirs[*start, row.get("imbalance_factor", "")].append(float(row["map"]))
    assert {key: sorted(values) for key, values in ours.items()} == {key: sorted(v) for key, v in theirs.items()}
    assert len(published()) == 696


def test_a_method_is_called_here_by_the_title_it_was_printed_under() -> None:
    names = {one.info.title: one.info.name for one in methods}
    assert all(one.method == names.get(one.title, one.title.lower()) for one in published())
    assert {"DPH", "CSQ", "OrthoHash", "HyP2", "LSH"} <= {one.title for one in published()} & set(names)


def test_numbers_are_shares_and_a_larger_cut_off_never_raises_them() -> None:
    assert all(0 < one.map < 1 for one in published())
    by_k: dict[tuple[Any, ...], dict[int, float]] = defaultdict(dict)
    for one in published():
        if "SHC" in one.source:
            by_k[one.title, one.bits][one.k or 10**9] = one.map
    assert len(by_k) == 30
    assert all(scores[100] >= scores[1000] >= scores[10**9] for scores in by_k.values())


def cell_of(number: Published, **changes: Any) -> dict[str, Any]:
    """A cell that was measured as this number was."""
    sizes = number.protocol.split("/") if "/" in number.protocol else ("7", "8", "9000")
    rows = dict(zip(("train_rows", "query_rows", "database_rows"), map(int, sizes), strict=True))
    k = rows["database_rows"] if number.k is None else number.k
    return dataclasses.asdict(number) | rows | {"k": k, "miniature": False} | changes


def one_of(dataset: str, method: str, bits: int, backbone: str = "alexnet") -> Published:
    return next(
        p for p in published() if (p.dataset, p.method, p.bits, p.backbone) == (dataset, method, bits, backbone)
    )


def test_doubted_numbers_say_so() -> None:
    assert "below chance" in one_of("nus", "lsh", 16).doubt
    assert {p.map for p in published() if (p.dataset, p.method, p.bits) == ("imagenet", "dph", 64)} >= {0.5492, 0.5592}
    assert "0.5592" in one_of("imagenet", "dph", 64).doubt


def test_every_number_is_found_by_a_cell_measured_as_it_was() -> None:
    for number in published():
        cell = cell_of(number)
        assert number in printed_for(cell)
        assert why_not_comparable(cell, number) == ""
        found = measured_alike(cell)
        assert found is not None
        assert (found.method, found.backbone, found.k, found.protocol) == (
            number.method, number.backbone, number.k, number.protocol,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"protocol": "drawn"}, "protocol published lists, here drawn"),
        ({"backbone": "vgg16"}, "published for alexnet, this is vgg16"),
        ({"backbone": ""}, "published for alexnet, this is features"),
        ({"k": 5000}, "k 1000, here 5000"),
        ({"denominator": "relevant"}, "denominator hits, here relevant"),
        ({"empty": "skip"}, "empty zero, here skip"),
        ({"miniature": True}, "a miniature is never set against published numbers"),
    ],
)
def test_what_was_measured_otherwise_is_named(change: dict[str, Any], told: str) -> None:
    number = one_of("imagenet", "dph", 32)
    cell = cell_of(number, **change)
    assert why_not_comparable(cell, number) == told
    assert measured_alike(cell) is None


def test_a_protocol_of_sizes_is_that_of_the_audit() -> None:
    number = one_of("cifar100", "csq", 32, "resnet34")
    cell = cell_of(number, protocol="drawn, seed 0")
    assert why_not_comparable(cell, number) == ""
    why = why_not_comparable(cell | {"database_rows": 50_000}, number)
    assert why == "protocol 10000/5000/45000, here drawn, seed 0 (10000/5000/50000)"
    whole = next(p for p in published() if p.source == number.source and p.k is None)
    assert "k all, here 100" in why_not_comparable(cell | {"k": 100}, whole)


def test_what_a_source_does_not_state_is_no_match() -> None:
    poster = one_of("cifar100", "csq", 32, UNSTATED)
    assert "an unstated backbone" in why_not_comparable(cell_of(poster, backbone="resnet34"), poster)
    assert printed_for(cell_of(poster, bits=33)) == []
