"""Which cell people mean."""

from __future__ import annotations

import pytest

from benchmark.errors import UsageError
from benchmark.execution.cell_names import cell_called, cell_label, cells_called, is_called, label_of
from benchmark.execution.record import Record

LABELS = {
    "a1f": "dph coco-mini 64 bits seed 0",
    "b2e": "dph coco-mini 16 bits seed 0",
    "c3d": "dph-f coco-mini 64 bits seed 0",
    "d4c": "itq iterations=100 coco-mini 64 bits seed 0",
    "e5b": "itq coco-mini 64 bits seed 1",
}


@pytest.mark.parametrize(
    ("text", "key"),
    [("dph coco 64", "a1f"), ("dph coco-mini 64 bits seed 0", "a1f"), ("dph 16", "b2e"), ("dph-f", "c3d"),
     ("c3", "c3d"), ("itq coco 64 bits seed 1", "e5b"), ("itq iter", "d4c")],
)  # fmt: skip
def test_words_or_a_part_of_the_key_name_one_cell(text: str, key: str) -> None:
    assert cell_called(text, LABELS, "results") == key


def test_words_that_mean_several_cells_name_them() -> None:
    with pytest.raises(UsageError, match=r"'itq' means 2 cells of results: 'itq iter.*\(d4c\).*; say more"):
        cell_called("itq", LABELS, "results")


def test_words_that_mean_none_tell_how_cells_are_called() -> None:
    with pytest.raises(UsageError, match="no cell of results matches 'zebra'; cells there are called like 'dph coco"):
        cell_called("zebra", LABELS, "results")
    with pytest.raises(UsageError, match="there is no cell"):
        cell_called("zebra", {}, "results")


def test_order_matters_and_several_may_be_meant() -> None:
    assert not is_called("64 dph", "a1f", LABELS["a1f"])
    assert cells_called("coco 64", LABELS) == ["a1f", "c3d", "d4c", "e5b"]


def test_a_record_is_called_as_its_cell_was_whatever_the_order_its_file_has() -> None:
    cell = {"method": "itq", "params": {"b": 0.12345}, "tuned": {"c": 2, "a": 1}, "dataset": "x", "bits": 8, "seed": 1}
    record = Record("k", cell, {"dataset": {"revision": "r"}})
    assert label_of(record) == "itq a=1 b=0.1235 c=2 x 8 bits seed 1"
    assert cell_label("itq", {"c": 2, "b": 0.12345, "a": 1}, "x", 8, 1) == label_of(record)


def test_options_of_the_data_set_tell_records_apart_as_a_sweep_names_them() -> None:
    cell = {"method": "itq", "dataset": "x", "bits": 8, "seed": 1}
    records = [
        Record(key, cell, {"dataset": {"revision": "r"}}, asked={"options": options})
        for key, options in (("k", {}), ("l", {"imbalance": "zipf:0.5"}))
    ]
    labels = {one.key: label_of(one) for one in records}
    assert labels == {"k": "itq x 8 bits seed 1", "l": "itq x imbalance=zipf:0.5 8 bits seed 1"}
    assert cell_called("itq x imbalance=zipf:0.5 8 bits seed 1", labels, "results") == "l"
