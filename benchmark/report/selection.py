"""Which records a report is about: those that can be read, and of them those that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from benchmark.errors import UsageError
from benchmark.execution.record import Record
from benchmark.execution.store import Store
from benchmark.report.display_names import LONGEST_REASON, clean

# Name of a filter -> what of a record it looks at.
FILTERS: dict[str, Callable[[Record], Any]] = {
    "methods": lambda record: record.cell["method"],
    "datasets": lambda record: record.cell["dataset"],
    "bits": lambda record: record.cell["bits"],
    "seeds": lambda record: record.cell["seed"],
    "profiles": lambda record: record.cell.get("profile"),
    "backbones": lambda record: record.cell.get("backbone"),
    "revisions": lambda record: record.revision,
    "keys": lambda record: record.key,
}


def read_records(store: Store) -> tuple[list[Record], dict[str, str]]:
    """Every readable record, and key -> why for the others: they are named, not passed over."""
    records, faults = [], {}
    for key in store.keys():  # noqa: SIM118 (a store is no dict)
        try:
            record = store.read(key)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            faults[key] = clean(f"{error}; see 'verify'", LONGEST_REASON)
            continue
        if record is not None:
            records.append(record)
    return records, faults


def selected(records: Collection[Record], only: Mapping[str, Collection[Any]]) -> list[Record]:
    """The records that pass every filter, each a collection of wanted values."""
    for name, wanted in only.items():
        if name not in FILTERS:
            raise UsageError(f"report: unknown filter '{name}'; known: {', '.join(FILTERS)}")
        if isinstance(wanted, (str, bytes)) or not isinstance(wanted, Collection):
            raise UsageError(f"report: {name} is {wanted!r}, expected a list of values, as in {name}=[...]")
    return [record for record in records if all(FILTERS[name](record) in wanted for name, wanted in only.items())]


def check_highlight(wanted: Collection[str], records: Collection[Record]) -> None:
    """Whoever is to be put in front must be there."""
    known = sorted({str(record.cell["method"]) for record in records})
    for name in wanted:
        if name not in known:
            there = ", ".join(known)
            raise UsageError(f"report: --highlight {name}: no result shown is of this method; there are: {there}")


def selection_words(only: Mapping[str, Collection[Any]] | None, records: Collection[Record] = ()) -> list[str]:
    """What a report of these records was confined to, in a sentence, so that nobody takes its winner for the winner of
    all."""
    shown = {name: wanted for name, wanted in (only or {}).items() if name != "keys"}  # a run's own; nobody reads them
    if "revisions" in shown:
        shown = {"data sets": _names_of(shown.pop("revisions"), records), **shown}
    told = [f"{name}: {', '.join(clean(value, 40) for value in wanted)}" for name, wanted in shown.items()]
    return [f"This report is confined to {'; '.join(told)}."] if told else []


def _names_of(revisions: Collection[Any], records: Collection[Record]) -> list[str]:
    """What people call the data sets of these revisions; those without a record have no name here."""
    names = {record.revision: str(record.cell["dataset"]) for record in records}
    found = list(dict.fromkeys(names[one] for one in revisions if one in names))
    lost = sum(one not in names for one in revisions)
    return found + ([f"{lost} without results"] if lost else [])
