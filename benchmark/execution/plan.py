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
from benchmark.deep.profile import Profile, load_profile
from benchmark.errors import UsageError
from benchmark.evaluation.counting import EVALUATOR_VERSION
from benchmark.execution.fingerprint import digest, pipeline_sources, plugin_sources
from benchmark.execution.record import SCHEMA_VERSION, Record
from benchmark.execution.store import Store
from benchmark.registry import PAPER, dataset_class, datasets, get_dataset, get_method, methods

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
        return data_parts(self.dataset, self.backbone, self.weights, self.partial_weights)

    @functools.cached_property
    def asked(self) -> dict[str, Any]:
        """The user's words. The same words with another key make a record stale; other words ask for another thing."""
        return {
            "dataset": self.spec,
            "data_root": str(self.data_root) if self.data_root else None,
            "options": dict(self.parameters),
            "weights": self.weights,
            "partial_weights": self.partial_weights,
        }


def data_parts(dataset: HashDataset, backbone: str | None, weights: str | None, partial: bool) -> dict[str, Any]:
    """All that decides a method's input: rows, labels, the code that reads them, and how images become features."""
    from benchmark.deep.backbones import weights_id

    return {
        "dataset": {
            "revision": dataset.revision,
            "map_cutoff": dataset.map_cutoff,
            "sources": plugin_sources(type(dataset)),
        },
        "weights": weights_id(backbone, weights, partial) if backbone else None,
        "pipeline": pipeline_sources() if backbone else None,
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
            "sources": plugin_sources(get_method(self.method.name)),
            "profile": _profile_parts(self.profile),
            **self.choice.parts,
            "evaluator": EVALUATOR_VERSION,
            "schema": SCHEMA_VERSION,
        }

    @property
    def asked(self) -> dict[str, Any]:
        """Data, weights and profile in the user's words."""
        return self.choice.asked | {"profile": self.profile.source}

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
class Tuned:
    """What `tune` found and wrote to a file: settings by method and revision of the data."""

    source: str
    settings: Mapping[tuple[str, str], Mapping[str, Any]]

    def of(self, method: str, choice: DatasetChoice) -> Mapping[str, Any]:
        found = self.settings.get((method, choice.parts["dataset"]["revision"]))
        if found is None:
            what = f"nothing was tuned for '{method}' on '{choice.dataset.name}' as it is now"
            raise UsageError(f"--tuned {self.source}: {what}; tune it too")
        return found


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
    tuned: Tuned | None = None


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
    chosen, own = grid.tuned.of(info.name, choice), grid.params.get(info.name, {})
    tuned = {name: value for name, value in changed_parameters(info, chosen).items() if name not in own}
    source = f"{grid.profile.source} tuned by {grid.tuned.source}"
    return tuned, replace(grid.profile, name=f"{grid.profile.name}-tuned", source=source)


def sets_training(info: MethodInfo, name: str) -> bool:
    """The learning rate is tuned like a parameter, but belongs to the training of any method that trains a network."""
    return name == "learning_rate" and info.input == "images" and name not in info.parameters


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
    changed = {}
    for name, value in params.items():
        if sets_training(info, name):
            changed[name] = value
        elif name not in info.parameters:
            known = ", ".join(info.parameters) or "none"
            raise UsageError(f"method '{info.name}' has no parameter '{name}'; it has: {known}")
        elif value != info.parameters[name]:
            changed[name] = value
    return changed


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
    states: dict[str, State] = {"ok": "done", "skipped": "skipped", "interrupted": "todo"}
    return PlannedCell(cell, key, states.get(record.status, "failed"), record)


def _missing(cell: Cell, key: str, old: Record | None) -> PlannedCell:
    return PlannedCell(cell, key, "stale" if old and old.key != key else "todo", old)


def without_rows(planned: Sequence[PlannedCell], store: Store) -> list[PlannedCell]:
    """One done cell for each data set whose labels and names the store has lost."""
    done = {one.cell.choice.parts["dataset"]["revision"]: one for one in planned if one.state == "done"}
    return [one for revision, one in done.items() if not store.has_dataset(revision)]


# Which records are out of date


def _words(cell: Cell | Record) -> str:
    """What was asked for, whatever it was made from."""
    identity = cell.identity if isinstance(cell, Cell) else cell.cell
    return digest([{name: value for name, value in identity.items() if name != "tuned"}, cell.asked])


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
            stale |= {record.key for record in several if not _fits_today(record)}
    return stale


def _outdated(record: Record) -> bool:
    """Whether the code has changed since, as far as it is known here."""
    parts = record.parts
    if (parts.get("evaluator"), parts.get("schema")) != (EVALUATOR_VERSION, SCHEMA_VERSION):
        return True
    if parts.get("pipeline") not in (None, pipeline_sources()):
        return True
    name = record.cell["method"]
    if name in methods.names() and plugin_sources(get_method(name)) != parts.get("sources"):
        return True
    kind = str(record.asked.get("dataset", "")).partition(":")[0]
    if kind not in datasets.names():
        return False
    cls = dataset_class(kind, record.asked.get("data_root"))
    return bool(plugin_sources(cls) != parts["dataset"].get("sources"))


def _fits_today(record: Record) -> bool:
    """Whether data, weights and profile are still what they were; where that cannot be told, they are taken to be."""
    asked = record.asked
    try:
        dataset = get_dataset(asked["dataset"], asked["data_root"], **asked["options"])
        parts = data_parts(dataset, record.cell.get("backbone"), asked["weights"], asked["partial_weights"])
        profile = load_profile(asked["profile"].partition(" tuned by ")[0])
    except (UsageError, OSError, KeyError):
        return True
    same = all(record.parts.get(name) == value for name, value in parts.items())
    return same and bool(record.parts["profile"]["training"] == profile.training.identity())
