"""The grid -> cells, and what is to be done about each: done, stale, failed, skipped or todo.

Nothing here loads data or imports torch: re-planning a finished grid must cost next to nothing.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from benchmark.contracts import HashDataset, MethodInfo
from benchmark.deep.profile import Profile
from benchmark.errors import UsageError
from benchmark.evaluation.counting import EVALUATOR_VERSION
from benchmark.execution.fingerprint import digest, method_sources
from benchmark.execution.record import SCHEMA_VERSION, Record
from benchmark.execution.store import Store
from benchmark.registry import PAPER, get_method, methods

State = Literal["done", "stale", "failed", "skipped", "todo"]


@dataclass(frozen=True)
class DatasetChoice:
    """A data set as the user named it, with what is needed to build it again in another process."""

    spec: str
    dataset: HashDataset
    data_root: Path | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    backbone: str | None = None
    weights: str | None = None
    partial_weights: bool = False

    @functools.cached_property
    def parts(self) -> dict[str, Any]:
        """What a key says of data and weights; asked once per data set, not once per cell."""
        from benchmark.deep.backbones import weights_id

        backbone = self.backbone
        return {
            "dataset": {"revision": self.dataset.revision, "map_cutoff": self.dataset.map_cutoff},
            "weights": weights_id(backbone, self.weights, self.partial_weights) if backbone else None,
        }


@dataclass(frozen=True)
class Cell:
    """One training: what is run, and the key its result is stored under."""

    method: MethodInfo
    params: Mapping[str, Any]  # only those that differ from the method's defaults
    choice: DatasetChoice
    bits: int
    seed: int
    profile: Profile
    tuned: Mapping[str, Any] = field(default_factory=dict)  # what `tune` chose, or tries; params go before it
    fold: tuple[int, int] | None = None  # for `tune`: hold out part i of n of the training split, look at no other

    @property
    def identity(self) -> dict[str, Any]:
        """The cell as its record shows it."""
        dataset = self.choice.dataset
        tuned = {"tuned": dict(self.tuned)} if self.tuned else {}
        fold = {"fold": list(self.fold)} if self.fold else {}
        return {
            "method": self.method.name,
            "params": dict(self.params),
            "dataset": dataset.name,
            "protocol": dataset.protocol,
            "bits": self.bits,
            "seed": self.seed,
            "profile": self.profile.name,
            "backbone": self.choice.backbone,
            **tuned,
            **fold,
        }

    @property
    def parts(self) -> dict[str, Any]:
        """Everything that is hashed into the key, by name, so that `why` can tell what changed."""
        return {
            "cell": self.identity,
            "sources": method_sources(self.method.source),
            "profile": _profile_parts(self.profile),
            **self.choice.parts,
            "evaluator": EVALUATOR_VERSION,
            "schema": SCHEMA_VERSION,
        }

    @property
    def label(self) -> str:
        """For people: `dph coco-mini 32 bits seed 0`."""
        chosen = {**self.tuned, **self.params}
        shown = "".join(f" {name}={value:.4g}" if isinstance(value, float) else f" {name}={value}"
                        for name, value in chosen.items())  # fmt: skip
        fold = f" fold {self.fold[0] + 1} of {self.fold[1]}" if self.fold else ""
        return f"{self.method.name}{shown} {self.choice.dataset.name} {self.bits} bits seed {self.seed}{fold}"


@functools.cache
def _profile_parts(profile: Profile) -> dict[str, Any]:
    return profile.as_dict()


@dataclass(frozen=True)
class Grid:
    """What the user asked for."""

    methods: Sequence[str]
    choices: Sequence[DatasetChoice]
    bits: Sequence[int]
    seeds: Sequence[int]
    profile: Profile
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # method -> parameter -> value
    sweep: tuple[str, str, Sequence[Any]] | None = None  # method, parameter, values
    # What `tune` found: method and data set -> parameter -> value.
    tuned: Mapping[tuple[str, str], Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class PlannedCell:
    cell: Cell
    key: str
    state: State
    record: Record | None = None  # what is stored under the key, or the stale record of the same cell


def method_names(words: Iterable[str]) -> list[str]:
    """Names, `paper` (the twelve) or `all`, in the order given and once each."""
    chosen: list[str] = []
    for word in words:
        if word == "paper":
            chosen += [name for name in PAPER if name in methods.names()]
        elif word == "all":
            chosen += methods.names()
        else:
            chosen.append(get_method(word).info.name)
    return list(dict.fromkeys(chosen))


def cells(grid: Grid) -> list[Cell]:
    """Every cell of the grid, data set by data set, each once."""
    found = []
    for choice, name in itertools.product(grid.choices, grid.methods):
        info: MethodInfo = get_method(name).info
        tuned, profile = _tuned(grid, info, choice)
        for params in _param_sets(grid, info):
            for bits, seed in itertools.product(grid.bits, grid.seeds):
                found.append(Cell(info, params, choice, bits, seed, profile, tuned))
    return found


def _tuned(grid: Grid, info: MethodInfo, choice: DatasetChoice) -> tuple[dict[str, Any], Profile]:
    """What `tune` chose, less what the user has set, and a profile whose name says so."""
    if grid.tuned is None:
        return {}, grid.profile
    if (info.name, choice.dataset.name) not in grid.tuned:
        raise UsageError(f"--tuned: nothing was tuned for '{info.name}' on '{choice.dataset.name}'; tune it too")
    chosen, own = grid.tuned[info.name, choice.dataset.name], grid.params.get(info.name, {})
    changed_parameters(info, {name: value for name, value in chosen.items() if not sets_training(info, name)})
    tuned = {name: value for name, value in chosen.items() if name not in own}
    return tuned, replace(grid.profile, name=f"{grid.profile.name}-tuned")


def sets_training(info: MethodInfo, name: str) -> bool:
    """The learning rate is tuned like a parameter, but belongs to the training of any method that trains a network."""
    return name == "learning_rate" and info.takes_training and name not in info.parameters


def _param_sets(grid: Grid, info: MethodInfo) -> list[dict[str, Any]]:
    fixed = changed_parameters(info, grid.params.get(info.name, {}))
    sets = [fixed]
    if grid.sweep and grid.sweep[0] == info.name:
        _, parameter, values = grid.sweep
        sets += [changed_parameters(info, {**fixed, parameter: value}) for value in values]
    unique = {digest(params): params for params in sets}
    return list(unique.values())


def changed_parameters(info: MethodInfo, params: Mapping[str, Any]) -> dict[str, Any]:
    """Only what differs from the defaults, so that naming a default changes no key."""
    for name in params:
        if name not in info.parameters:
            known = ", ".join(info.parameters) or "none"
            raise UsageError(f"method '{info.name}' has no parameter '{name}'; it has: {known}")
    return {name: value for name, value in params.items() if value != info.parameters[name]}


def plan(grid: Grid, store: Store) -> list[PlannedCell]:
    """Each cell of the grid with its key and its state in the store."""
    return plan_cells(cells(grid), store)


def plan_cells(wanted: Iterable[Cell], store: Store) -> list[PlannedCell]:
    """The same for cells chosen otherwise."""
    records = {record.key: record for record in store.records()}
    keyed = [(cell, digest(cell.parts)) for cell in wanted]
    sound = {key for _, key in keyed if key in records and store.payload_is_there(records[key])}
    newest = _by_identity(records.values()) if len(sound) < len(keyed) else {}
    return [
        _found(cell, key, records[key]) if key in sound else _missing(cell, key, newest.get(digest(cell.identity)))
        for cell, key in keyed
    ]


def _found(cell: Cell, key: str, record: Record) -> PlannedCell:
    states: dict[str, State] = {"ok": "done", "skipped": "skipped", "interrupted": "todo"}
    return PlannedCell(cell, key, states.get(record.status, "failed"), record)


def _missing(cell: Cell, key: str, old: Record | None) -> PlannedCell:
    return PlannedCell(cell, key, "stale" if old else "todo", old)


def without_rows(planned: Sequence[PlannedCell], store: Store) -> list[PlannedCell]:
    """One done cell for each data set whose labels and names the store has lost."""
    done = {one.cell.choice.parts["dataset"]["revision"]: one for one in planned if one.state == "done"}
    return [one for revision, one in done.items() if not store.has_dataset(revision)]


def _by_identity(records: Iterable[Record]) -> dict[str, Record]:
    """The newest record of each cell, whatever its key."""
    newest: dict[str, Record] = {}
    for record in records:
        identity = digest(record.cell)
        ended = record.provenance.get("ended", "")
        if identity not in newest or ended > newest[identity].provenance.get("ended", ""):
            newest[identity] = record
    return newest


def stale_keys(store: Store) -> set[str]:
    """Records that a run today would not make: older code, older versions, or a newer record of the same cell."""
    records = list(store.records())
    newest = {record.key for record in _by_identity(records).values()}
    return {record.key for record in records if record.key not in newest or _outdated(record)}


def _outdated(record: Record) -> bool:
    name, parts = record.cell["method"], record.parts
    if (parts["evaluator"], parts["schema"]) != (EVALUATOR_VERSION, SCHEMA_VERSION):
        return True
    known = name in methods.names()
    return bool(known and method_sources(get_method(name).info.source) != parts["sources"])
