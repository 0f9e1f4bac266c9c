"""The cell of a record, planned again: the same key, or the line that says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark.deep.profile import load_profile
from benchmark.errors import UsageError
from benchmark.execution.cell_names import label_of
from benchmark.execution.grid import choose_datasets, make_grid
from benchmark.execution.options import Options
from benchmark.execution.plan import plan
from benchmark.execution.record import Record
from benchmark.execution.recorded_cell import planned_again, recorded_cell
from benchmark.execution.runner import request_for
from benchmark.execution.store import Store
from benchmark.execution.worker import blank_record
from benchmark.registry import get_method


def record_of(store: Store, spec: str, **grid: Any) -> Record:
    """A record as a run would begin it."""
    choices = choose_datasets([spec])
    (planned,) = plan(make_grid(choices, ["itq"], [4], [3], "quick", **grid), store)
    return blank_record(request_for(planned, store, Options()), get_method("itq").info)


@pytest.mark.parametrize("grid", [{}, {"params": {"itq": {"iterations": 7}}}, {"untuned": True}], ids=str)
def test_the_same_words_give_the_same_key(tiny: Path, tmp_path: Path, grid: dict[str, Any]) -> None:
    store = Store(tmp_path / "results")
    record = record_of(store, f"features:{tiny}", **grid)
    again = planned_again(record, store)
    assert again.key == record.key
    assert again.cell.label == label_of(record)


def test_tuned_settings_are_those_of_then(tiny: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    record = record_of(store, f"features:{tiny}")
    told = dict(record.cell) | {"tuned": {"iterations": 9}, "settings": "tuned"}
    cell = recorded_cell(Record(record.key, told, record.parts, asked=record.asked))
    assert (dict(cell.tuned), cell.settings) == ({"iterations": 9}, "tuned")


def test_what_would_be_another_cell_today_is_refused(tiny: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    record = record_of(store, f"features:{tiny}")
    old = Record("0" * 64, record.cell, {**record.parts, "sources": {"plugin": "older"}}, asked=record.asked)
    with pytest.raises(UsageError, match=r"'itq tiny 4 bits seed 3' is stale \(sources"):
        planned_again(old, store)
    with pytest.raises(UsageError, match="does not say what was asked for"):
        recorded_cell(Record("0" * 64, record.cell, record.parts))


def test_the_profile_of_then_has_its_name(tiny: Path, tmp_path: Path) -> None:
    record = record_of(Store(tmp_path / "results"), f"features:{tiny}", untuned=True)
    assert recorded_cell(record).profile.name == "quick-untuned"
    assert recorded_cell(record).profile.training == load_profile("quick").training
