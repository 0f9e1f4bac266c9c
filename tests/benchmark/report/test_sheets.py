"""Sheets: what may be compared stands together, what may not stands apart, and every name is its own."""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd
import pytest

from benchmark.execution.record import CODES_ONLY
from benchmark.report.record_frame import record_frame
from benchmark.report.sheets import (
    Sheet,
    at_curve_bits,
    chance_level,
    curve_bits,
    cutoff,
    defaults,
    leading,
    main_sheet,
    map_at,
    methods,
    mixtures,
    scored,
    sheets,
)


def test_no_cell_of_a_sheet_is_there_twice_whatever_the_records(synthetic) -> None:
    """A property over many collisions of names: a scored slot holds one record, and every label one data set."""
    for revision, k, weights, source in itertools.product(("r1", "r2"), (20, 50), ("w1", "w2"), ("s1", "s2")):
        parts = {"weights": weights, "sources": {"method": source}}
        synthetic.cell("itq", "nus-mini", 16, revision=revision, cutoff=k, parts=parts)
    records = list(synthetic.store.records())
    table = record_frame(records, [record.key for record in records if int(record.key, 16) % 2])
    found = sheets(table)
    assert len(found) == 2
    assert len({sheet.slug for sheet in found}) == 2
    for sheet in found:
        assert len(sheet.datasets()) == 4
        assert all(len(scored(sheet.of(dataset))) == 1 for dataset in sheet.datasets())
    assert len({(s.slug, d.slug) for s in found for d in s.datasets()}) == 8


def sheets_of(synthetic: Any) -> list[Sheet]:
    return sheets(record_frame(synthetic.store.records()))


def test_nothing_makes_no_sheet(synthetic) -> None:
    assert sheets_of(synthetic) == []


def given(synthetic: Any, method: str, dataset: str, **more: Any) -> None:
    """Codes that others made, as `add-codes` files them."""
    parts = {"profile": None, "weights": None, "sources": None}
    synthetic.cell(method, dataset, 16, settings=CODES_ONLY, profile="", backbone=None, parts=parts, **more)


def test_codes_of_others_stand_in_every_sheet_of_their_data_and_in_no_other(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 16, backbone="vgg16")
    synthetic.cell("itq", "coco-mini", 16, backbone="resnet18")
    given(synthetic, "theirs", "nus-mini")
    given(synthetic, "lonely", "imagenet-mini")
    found = {sheet.backbone: set(sheet.cells["method"]) for sheet in sheets_of(synthetic)}
    both = {"itq", "theirs"}
    assert found == {"mini-cnn": both, "vgg16": both, "resnet18": {"itq"}, "": {"lonely"}}


@pytest.mark.parametrize(
    "change",
    [{"profile": "paper"}, {"backbone": "vgg16"}, {"parts": {"weights": "v"}}, {"parts": {"evaluator": 99}}],
)
def test_cells_of_another_setting_are_another_sheet_and_the_larger_one_is_first(synthetic, change: Any) -> None:
    synthetic.cell("itq", "nus-mini", 16, **change)
    for bits in (16, 32):
        synthetic.cell("itq", "nus-mini", bits)
    first, second = sheets_of(synthetic)
    assert (len(first.cells), len(second.cells)) == (2, 1)
    assert first.slug != second.slug
    assert first.heading != second.heading
    assert second.titled("MAP") == f"MAP; {second.heading}"


def test_another_split_is_another_column_of_one_sheet_and_one_sheet_needs_no_heading(synthetic) -> None:
    for revision in ("a", "b"):
        synthetic.cell("itq", "nus-mini", 16, revision=revision)
    (only,) = sheets_of(synthetic)
    one, two = only.datasets()
    assert {one.revision, two.revision} == {"a", "b"}
    assert one.label != two.label
    assert [len(only.of(column)) for column in (one, two)] == [1, 1]
    assert only.titled("MAP") == "MAP"


def test_a_method_without_a_profile_stands_beside_the_one_profile_there_is(synthetic) -> None:
    """Its number depends on none; where there are two profiles it belongs to neither."""
    synthetic.cell("itq", "nus-mini", 16, parts={"profile": None})
    synthetic.cell("dph", "nus-mini", 16, parts={"profile": {"steps": 1}})
    (only,) = sheets_of(synthetic)
    assert set(only.cells["method"]) == {"itq", "dph"}
    synthetic.cell("hashnet", "nus-mini", 16, parts={"profile": {"steps": 2}})
    apart = [set(sheet.cells["method"]) for sheet in sheets_of(synthetic)]
    assert sorted(map(sorted, apart)) == [["dph"], ["hashnet"], ["itq"]]


def test_a_method_with_one_setting_of_its_own_is_shown_under_it(synthetic) -> None:
    """--set dph.gamma=2 left DPH out of every table of its own report."""
    synthetic.cell("dph", "nus", 16, params={"gamma": 2, "mode": "authors"})
    synthetic.cell("itq", "nus", 16)
    for value in (1, 2):
        synthetic.cell("ksh", "nus", 16, params={"anchors": value})
    (only,) = sheets_of(synthetic)
    assert set(defaults(only).cells["title"]) == {"DPH (gamma=2, mode=authors)", "ITQ"}


def test_swept_cells_variants_and_data_apart_are_left_out_where_they_should_be(synthetic) -> None:
    for method, dataset, params in (
        ("dph", "nus", {}), ("dph", "nus", {"gamma": 2}), ("dph-f", "nus", {}), ("dph", "imagenet-balanced", {}),
    ):  # fmt: skip
        synthetic.cell(method, dataset, 16, params=params)
    (only,) = sheets_of(synthetic)
    assert len(defaults(only).cells) == 3
    assert set(main_sheet(only).cells["dataset"]) == {"nus"}
    assert set(main_sheet(only).cells["method"]) == {"dph"}


def test_one_length_is_the_longest_that_all_have_or_else_most(synthetic) -> None:
    for method, lengths in {"itq": (16, 32, 64), "lsh": (16, 32), "sh": (16, 32, 128)}.items():
        for bits in lengths:
            synthetic.cell(method, "nus-mini", bits)
    assert curve_bits(sheets_of(synthetic)[0].cells) == 32
    for bits in (64, 256):
        synthetic.cell("sdh", "nus-mini", bits)
    assert curve_bits(sheets_of(synthetic)[0].cells) == 32  # three of four; at 64 bits only two


@pytest.mark.parametrize(("lengths", "shown"), [((16, 64, 128), 128), ((16, 32), 32)])
def test_curves_are_shown_at_the_most_bits_there_are(synthetic, lengths: Any, shown: int) -> None:
    for bits in lengths:
        synthetic.cell("itq", "nus-mini", bits)
    error = {"kind": "E", "message": "m", "traceback": ""}
    synthetic.cell("itq", "nus-mini", 256, status="failed", error=error, metrics={})
    (only,) = sheets_of(synthetic)
    assert curve_bits(only.cells) == shown
    cells, bits = at_curve_bits(only, only.datasets()[0])
    assert (list(cells["bits"]), bits) == ([shown], shown)


def test_the_leading_two_are_the_highlighted_pair_or_the_two_best(synthetic) -> None:
    for method in ("lsh", "itq", "sh"):
        synthetic.cell(method, "nus-mini", 16, quality={"lsh": 0.2, "itq": 0.8, "sh": 0.5}[method])
    assert leading(sheets_of(synthetic)[0].cells) == ["itq", "sh"]
    for method in ("dph", "hashnet"):
        synthetic.cell(method, "nus-mini", 16, quality=0.1)
    assert leading(sheets_of(synthetic)[0].cells) == ["dph", "hashnet"]


def test_methods_come_in_the_order_of_the_paper(synthetic) -> None:
    for method in ("lsh", "itq", "dph", "hashnet"):
        synthetic.cell(method, "nus-mini", 16)
    assert methods(sheets_of(synthetic)[0].cells) == [
        ("dph", "DPH"), ("hashnet", "HashNet"), ("itq", "ITQ"), ("lsh", "LSH")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cutoffs", "said", "name"), [([100.0, 100.0], "100", "MAP@100"), ([0.0], "all", "MAP@all"),
                                  ([0.0, 9.0], "all, 9", "MAP@k"), ([5000.0, 100.0], "100, 5000", "MAP@k"),
                                  ([None], "–", "MAP@k")],
)  # fmt: skip
def test_one_cut_off_is_named_and_two_are_k(cutoffs: Any, said: str, name: str) -> None:
    cells = pd.DataFrame({"cutoff": cutoffs})
    assert (cutoff(cells), map_at(cells)) == (said, name)


def test_chance_is_known_where_a_cell_says_it() -> None:
    assert chance_level(pd.DataFrame({"chance_map": [None, 0.25]})) == 0.25
    assert chance_level(pd.DataFrame({"chance_map": [None]})) is None
    assert chance_level(pd.DataFrame()) is None


def test_what_should_be_one_thing_and_is_several_is_said(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 32, parts={"sources": {"method": "s", "more": "m"}})
    assert mixtures(sheets_of(synthetic)[0]) == []
    elsewhere = {"versions": {"torch": "1"}, "machine": {"processor": "y"}, "ended": ""}
    synthetic.cell("itq", "nus-mini", 64, parts={"sources": {"method": "other"}}, provenance=elsewhere)
    versions, machines, code = mixtures(sheets_of(synthetic)[0])
    assert "2 different library versions" in versions
    assert "2 different machines" in machines
    assert code == "Cells of ITQ were made by different versions of the method's code."
