"""Which records a report is about: those that can be read, and of them those that were asked for."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark.errors import UsageError
from benchmark.report.selection import FILTERS, read_records, selected, selection_words


def test_a_record_that_cannot_be_read_is_named_and_the_others_are_there(synthetic) -> None:
    good, bad = synthetic.cell("itq", "nus-mini", 16), synthetic.cell("lsh", "nus-mini", 16)
    (synthetic.store.cells / f"{bad.key}.json").write_text("{}")
    records, faults = read_records(synthetic.store)
    assert [record.key for record in records] == [good.key]
    assert set(faults) == {bad.key}
    assert faults[bad.key].endswith("see 'verify'")


@pytest.mark.parametrize(
    ("name", "value"),
    [("methods", "itq"), ("datasets", "nus-mini"), ("bits", 16), ("seeds", 1), ("profiles", "paper"),
     ("backbones", "vgg16"), ("revisions", "other")],
)  # fmt: skip
def test_a_filter_keeps_what_has_the_value_and_nothing_else(synthetic, name: str, value: Any) -> None:
    synthetic.cell("lsh", "coco-mini", 32)
    wanted = synthetic.cell(
        "itq", "nus-mini", 16, seed=1, profile="paper", backbone="vgg16", revision="other"
    )  # fmt: skip
    records, _ = read_records(synthetic.store)
    assert [record.key for record in selected(records, {name: [value]})] == [wanted.key]
    assert selected(records, {name: [value], "keys": ["none"]}) == []
    assert len(selected(records, {})) == 2
    assert name in FILTERS


def test_what_is_no_filter_is_refused_by_name(synthetic) -> None:
    with pytest.raises(UsageError, match="unknown filter 'method'; known: methods, datasets"):
        selected([], {"method": ["itq"]})
    for wanted in ("itq", 16, b"itq"):
        with pytest.raises(UsageError, match=r"expected a list of values, as in methods=\[\.\.\.\]"):
            selected([], {"methods": wanted})  # type: ignore[dict-item]


def test_what_a_report_is_confined_to_is_said_but_for_keys() -> None:
    assert selection_words(None) == []
    words = selection_words({"methods": ["itq", "lsh"], "bits": [16], "keys": ["abc"]})
    assert words == ["This report is confined to methods: itq, lsh; bits: 16."]


def test_data_sets_that_a_report_is_confined_to_are_called_by_their_names(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16, revision="011680d4")
    records, _ = read_records(synthetic.store)
    only = {"revisions": ["011680d4"], "bits": [16]}
    assert selection_words(only, records) == ["This report is confined to data sets: nus-mini; bits: 16."]
    only = {"revisions": ["011680d4", "other"]}
    words = ["This report is confined to data sets: nus-mini, 1 without results."]
    assert selection_words(only, records) == words
