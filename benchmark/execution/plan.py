"""Cells -> what is to be done about each: done, stale, failed, skipped or todo; and which records are out of date.

Nothing here loads data or imports torch: re-planning a finished grid must cost next to nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from benchmark.deep.profile import load_profile
from benchmark.errors import UsageError
from benchmark.evaluation.counting import EVALUATOR_VERSION
from benchmark.execution.fingerprint import digest, pipeline_sources, plugin_sources
from benchmark.execution.grid import Cell, Grid, cells, data_parts
from benchmark.execution.provenance import install_command
from benchmark.execution.record import SCHEMA_VERSION, Record
from benchmark.execution.store import Store, tune_store
from benchmark.execution.tuned_settings import TunedSettings, shipped, would_choose
from benchmark.registry import dataset_class, datasets, get_dataset, get_method, methods, plugin_file

CHOSEN = ("tuned", "settings")  # of an identity: what cross-validation chose, whatever the user's words were
State = Literal["done", "stale", "failed", "skipped", "todo", "unkept"]  # unkept: done, but its model is wanted
Again = Literal["", "force", "only_failed", "keep_failed"]  # which cells run though they have a record


@dataclass(frozen=True)
class PlannedCell:
    cell: Cell
    key: str
    state: State
    record: Record | None = None  # what is stored under the key, or the stale record of the same cell


def plan(grid: Grid, store: Store) -> list[PlannedCell]:
    """Each cell of the grid with its key and its state in the store."""
    return plan_cells(cells(grid), store)


def plan_cells(wanted: Iterable[Cell], store: Store) -> list[PlannedCell]:
    """The same for cells chosen otherwise; two names for one thing make one cell."""
    records = {record.key: record for record in store.records()}
    keyed = {digest(cell.parts): cell for cell in wanted}
    sound = {key for key in keyed if key in records and store.payload_is_there(records[key])}
    older = _by_words(records.values()) if len(sound) < len(keyed) else {}
    return [
        _found(cell, key, records[key]) if key in sound else _missing(cell, key, older.get(_words(cell)))
        for key, cell in keyed.items()
    ]


def _found(cell: Cell, key: str, record: Record) -> PlannedCell:
    return PlannedCell(cell, key, state_of(record), record)


def state_of(record: Record) -> State:
    """Of a cell whose record this is."""
    states: dict[str, State] = {"ok": "done", "skipped": "skipped", "interrupted": "todo"}
    return states.get(record.status, "failed")


def _missing(cell: Cell, key: str, old: Record | None) -> PlannedCell:
    return PlannedCell(cell, key, "stale" if old and old.key != key else "todo", old)


def chosen_again(*, force: bool, only_failed: bool, keep_failed: bool) -> Again:
    """Of the three ways to choose among cells that have a record, the one that was asked for."""
    ways: dict[Again, bool] = {"force": force, "only_failed": only_failed, "keep_failed": keep_failed}
    asked = [name for name, wanted in ways.items() if wanted]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} contradict each other; give one of them")
    return asked[0] if asked else ""


def to_run(planned: Iterable[PlannedCell], again: Again = "") -> list[PlannedCell]:
    """The cells to run now."""
    wanted: dict[Again, tuple[State, ...]] = {
        "": ("todo", "stale", "failed", "unkept"),
        "force": ("done", "stale", "failed", "skipped", "todo"),
        "only_failed": ("failed",),
        "keep_failed": ("todo", "stale", "unkept"),
    }
    return [one for one in planned if one.state in wanted[again]]


def wanting_models(planned: Iterable[PlannedCell], store: Store) -> list[PlannedCell]:
    """The same, where models are to be kept: a done cell without one runs again, unless its method cannot be kept."""
    return [
        replace(one, state="unkept")
        if one.state == "done" and one.record and not store.has_model(one.record) and not _cannot_be_kept(one.record)
        else one
        for one in planned
    ]


def _cannot_be_kept(record: Record) -> bool:
    return "reason" in (record.model or {})


def without_rows(planned: Sequence[PlannedCell], store: Store) -> list[PlannedCell]:
    """One done cell for each data set whose labels and names the store has lost."""
    done = {one.cell.choice.parts["dataset"]["revision"]: one for one in planned if one.state == "done"}
    return [one for revision, one in done.items() if not store.has_dataset(revision)]


# Which records are out of date


def _words(cell: Cell | Record) -> str:
    """What was asked for, whatever it was made from."""
    identity = cell.identity if isinstance(cell, Cell) else cell.cell
    return digest([{name: value for name, value in identity.items() if name not in CHOSEN}, cell.asked])


def _by_words(records: Iterable[Record]) -> dict[str, Record]:
    """A record for each thing asked for: the one `why` compares with. Nothing else depends on which it is."""
    return {_words(record): record for record in sorted(records, key=lambda one: one.provenance.get("ended", ""))}


def stale_keys(store: Store, planned: Iterable[PlannedCell] = ()) -> set[str]:
    """Records that a run today would not make, however new they are.

    Made by other code or versions; or asked for in the words of a cell whose key today is another; or, where two
    records answer to the same words, those that do not fit what these words mean today.
    """
    records = [record for record in store.records() if record.cell.get("fold") is None]
    today = {_words(one.cell): one.key for one in planned}
    stale = {one.key for one in records if today.get(_words(one), one.key) != one.key or _outdated(one)}
    rivals: dict[str, list[Record]] = {}
    for record in records:
        if record.key not in stale and _words(record) not in today:
            rivals.setdefault(_words(record), []).append(record)
    for several in rivals.values():
        if len(several) > 1:
            known = [tune_store(store.root).tuned(), shipped()]
            stale |= {record.key for record in several if not _fits_today(record, known)}
    return stale


def _outdated(record: Record) -> bool:
    """Whether the code has changed since, as far as it is known here."""
    parts = record.parts
    if (parts.get("evaluator"), parts.get("schema")) != (EVALUATOR_VERSION, SCHEMA_VERSION):
        return True
    if parts.get("pipeline") not in (None, pipeline_sources()):
        return True
    name = record.cell["method"]
    if not record.codes_only and name in methods.names() and plugin_sources(get_method(name)) != parts.get("sources"):
        return True
    kind = _kind(record)
    if kind not in datasets.names():
        return False
    cls = dataset_class(kind, record.asked.get("data_root"))
    return bool(plugin_sources(cls) != parts["dataset"].get("sources"))


def _kind(record: Record) -> str:
    """The name of its data set, as it was asked for."""
    return str(record.asked.get("dataset", "")).partition(":")[0]


def unchecked(record: Record) -> str:
    """Why nobody can tell here whether the code is still what it was; empty where that is known."""
    named = {} if record.codes_only else {("method", str(record.cell["method"])): methods}
    named |= {("data set", kind): datasets for kind in [_kind(record)] if kind}
    strange = [f"{what} '{name}'" for (what, name), registry in named.items() if name not in registry.names()]
    if not strange:
        return ""
    here = {plugin_file(registry.get(name)) for (_, name), registry in named.items() if name in registry.names()}
    files = [file for file in str(record.titles.get("plugins", "")).splitlines() if file not in here]
    if not files:
        how = install_command(record.provenance) or "--plugin FILE"
        return f"{' and '.join(strange)} {'are' if strange[1:] else 'is'} not known here ({how})"
    return f"{' and '.join(files)} {'were' if files[1:] else 'was'} not given ({shlex.join(['--plugin', *files])})"


def _fits_today(record: Record, known: Sequence[TunedSettings]) -> bool:
    """Whether data, weights, profile and tuned settings are still what they were; where that cannot be told, they are
    taken to be."""
    asked = record.asked
    try:
        dataset = get_dataset(asked["dataset"], asked["data_root"], **asked["options"])
        parts = data_parts(dataset, record.cell.get("backbone"), asked["weights"], asked["partial_weights"])
        profile = load_profile(asked["profile"].partition(" tuned by ")[0].removesuffix(" untuned"))
    except (UsageError, OSError, KeyError):
        return True
    same = all(record.parts.get(name) == value for name, value in parts.items())
    same = same and bool(record.parts["profile"]["training"] == profile.training.identity())
    return same and (_by_request(asked) or would_choose(known, record))


def _by_request(asked: Mapping[str, Any]) -> bool:
    """Whether the user said where settings come from: a file, or nowhere."""
    return " tuned by " in asked["profile"] or asked["profile"].endswith(" untuned")
