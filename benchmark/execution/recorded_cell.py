"""The cell of a record, as it would be planned today: the same words, the same settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmark.deep.profile import load_profile
from benchmark.errors import UsageError
from benchmark.execution.cell_names import label_of
from benchmark.execution.fingerprint import differences
from benchmark.execution.grid import Cell, choose_datasets
from benchmark.execution.plan import PlannedCell, plan_cells
from benchmark.execution.record import Record
from benchmark.execution.store import Store
from benchmark.registry import get_method


def planned_again(record: Record, store: Store) -> PlannedCell:
    """The cell of this record, planned; an error where it would be another today."""
    cell = recorded_cell(record)
    (planned,) = plan_cells([cell], store)
    if planned.key != record.key:
        changed = ", ".join(line.partition(":")[0] for line in differences(record.parts, cell.parts)[:3])
        told = f"'{label_of(record)}' is stale ({changed} changed)"
        raise UsageError(f"{told}: it cannot be run as it was; run it anew, with --keep-models")
    return planned


def recorded_cell(record: Record) -> Cell:
    """What was asked for, asked for again."""
    asked, cell = record.asked, record.cell
    if record.codes_only:
        raise UsageError(f"'{label_of(record)}' is codes only, made elsewhere: it cannot be run here")
    missing = [name for name in ("dataset", "options", "profile") if name not in asked]
    if missing:
        raise UsageError(f"'{label_of(record)}': its record does not say what was asked for; run it anew")
    (choice,) = choose_datasets(
        [asked["dataset"]],
        data_root=None if asked.get("data_root") is None else Path(asked["data_root"]),
        option={asked["dataset"].partition(":")[0]: asked["options"]},
        backbone=cell.get("backbone"),
        weights=asked.get("weights"),
        partial_weights=asked.get("partial_weights", False),
    )
    profile = load_profile(asked["profile"].partition(" tuned by ")[0].removesuffix(" untuned"))
    profile = replace(profile, name=cell["profile"], source=asked["profile"])
    info = get_method(cell["method"]).info
    tuned, settings = cell.get("tuned", {}), cell.get("settings", "defaults")
    return Cell(info, cell["params"], choice, cell["bits"], cell["seed"], profile, tuned, settings)
