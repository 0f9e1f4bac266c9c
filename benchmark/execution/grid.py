"""What was asked for -> cells: data sets, methods, lengths, seeds, profile and parameters, all checked.

The names are those of the command line's flags. Nothing here loads data or imports torch.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from benchmark.contracts import Family, HashDataset, MethodInfo, Splits, checked_value
from benchmark.data.names import names_apart
from benchmark.deep.profile import Profile, load_profile
from benchmark.errors import UsageError
from benchmark.evaluation.codes import MAX_BITS
from benchmark.evaluation.counting import EVALUATOR_VERSION
from benchmark.execution.cell_names import cell_label
from benchmark.execution.fingerprint import digest, pipeline_sources, plugin_sources
from benchmark.execution.record import SCHEMA_VERSION
from benchmark.execution.tuned_settings import TunedSettings, choose, training_key
from benchmark.registry import (
    builtin_folder,
    dataset_class,
    datasets,
    get_dataset,
    get_method,
    methods,
    plugin_of,
    takes_path,
)

MAX_SEED = 2**32 - 1  # what every library's generator takes
Sweep = tuple[str, str, Sequence[Any]]  # a method or a data set, its parameter, the values
FOLD_SCORING = 2  # version of `worker.score_fold`
TRAINED = {"learning_rate": 1000, "weight_decay": 10**6}  # what --set may change of a training, and the most of it


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
    own_label: str = ""  # where another data set of this run has the same name

    @property
    def label(self) -> str:
        """What it is called in this run, and nothing else is."""
        return self.own_label or self.dataset.name

    @functools.cached_property
    def parts(self) -> dict[str, Any]:
        """What a key says of data and weights; asked once per data set, not once per cell."""
        return data_parts(self.dataset, self.backbone, self.weights, self.partial_weights)

    def load(self) -> Splits:
        """The rows, for commands that look at them themselves."""
        with faults_of_plugins(self.spec, self.data_root):
            return load_splits(self.dataset)

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


def load_splits(dataset: HashDataset) -> Splits:
    """The rows of a data set, which may be anybody's."""
    splits: Any = dataset.load()
    if not isinstance(splits, Splits):
        kind = type(splits).__name__
        raise UsageError(f"dataset '{dataset.name}': load() returned a {kind}, expected Splits(train, query, database)")
    return splits


def data_parts(dataset: HashDataset, backbone: str | None, weights: str | None, partial: bool) -> dict[str, Any]:
    """All that decides a method's input: rows, labels, the code that reads them, and how images become features."""
    from benchmark.deep.backbones import weights_id

    return {
        "dataset": {
            "revision": dataset.revision,
            "map_cutoff": dataset.map_cutoff,
            "sources": plugin_sources(plugin_of(dataset)),
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
    settings: str = "defaults"  # where what was not set by the user comes from: "shipped", "tuned" or "defaults"
    fold: tuple[int, int] | None = None  # for `tune`: hold out part i of n of the training split, look at no other

    @property
    def identity(self) -> dict[str, Any]:
        """The cell as its record shows it."""
        dataset = self.choice.dataset
        tuned = {"tuned": dict(self.tuned)} if self.tuned else {}
        settings = {"settings": self.settings} if self.settings != "defaults" else {}
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
            **settings,
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
            **({"fold_scoring": FOLD_SCORING} if self.fold else {}),
        }

    @property
    def asked(self) -> dict[str, Any]:
        """Data, weights and profile in the user's words."""
        return self.choice.asked | {"profile": self.profile.source}

    @property
    def label(self) -> str:
        """For people: `dph coco-mini 32 bits seed 0`."""
        fold = f" fold {self.fold[0] + 1} of {self.fold[1]}" if self.fold else ""
        chosen = {**self.tuned, **self.params}
        return cell_label(self.method.name, chosen, self.choice.label, self.bits, self.seed) + fold


@functools.cache
def training_id(profile: Profile) -> str:
    """What settings were tuned under; another set-up needs other settings."""
    return training_key(profile.training.identity())


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
    sweep: Sweep | None = None  # of a method; that of a data set is in `choices`
    known: Sequence[TunedSettings] = ()  # settings that cross-validation chose, the first that knows goes before others

    def by_one_seed(self) -> Grid:
        """What a run tunes before it begins: by the first of its seeds, so that more seeds cost no more trials."""
        return replace(self, seeds=self.seeds[:1])


def method_names(words: Iterable[str]) -> list[str]:
    """Names, `all`, or a group that methods say they belong to (`paper`), in the order given and once each."""
    chosen: list[str] = []
    for word in words:
        several = word not in methods.names_unloaded() and [
            one.info for one in methods if word in ("all", *one.info.groups)
        ]
        if several:
            chosen += [info.name for info in sorted(several, key=lambda one: get_args(Family).index(one.family))]
        else:
            chosen.append(get_method(word).info.name)
    return list(dict.fromkeys(chosen))


def cells(grid: Grid) -> list[Cell]:
    """Every cell of the grid, data set by data set, each once."""
    found: dict[str, Cell] = {}
    for choice, name in itertools.product(grid.choices, grid.methods):
        info: MethodInfo = get_method(name).info
        for (params, named), bits in itertools.product(_param_sets(grid, info), grid.bits):
            revision = str(choice.parts["dataset"]["revision"])
            chosen = choose(grid.known, name, revision, training_id(grid.profile), bits)
            tuned = changed_parameters(info, chosen.params)
            own = params | {key: info.parameters[key] for key in named & set(tuned) - set(params)}  # a default, named
            tuned = {key: value for key, value in tuned.items() if key not in named}
            for seed in grid.seeds:
                cell = Cell(info, own, choice, bits, seed, grid.profile, tuned, chosen.origin)
                found.setdefault(digest([choice.asked, cell.identity]), cell)
    _refuse_unused_winners(grid, found.values())
    return list(found.values())


def _refuse_unused_winners(grid: Grid, found: Iterable[Cell]) -> None:
    """A file of winners of which no cell has its settings is a mistake, not a wish."""
    for file in (one.source for one in grid.known if one.source and all(cell.settings != "tuned" for cell in found)):
        data = ", ".join(f"'{choice.label}'" for choice in grid.choices)
        what = f"nothing in it was tuned for {', '.join(grid.methods)} on {data} as they are now, by this profile"
        raise UsageError(f"--tuned {file}: {what}; tune them, or leave --tuned away")


def sets_training(info: MethodInfo, name: str) -> bool:
    """Rate and decay are set like parameters, but belong to the training of any method that trains a network."""
    return name in TRAINED and info.takes_training and name not in info.parameters


def _param_sets(grid: Grid, info: MethodInfo) -> list[tuple[dict[str, Any], set[str]]]:
    """What the user sets or sweeps, less what is the default anyway, and the names of all of it."""
    own = grid.params.get(info.name, {})
    sets = [(changed_parameters(info, own), set(own))]
    if grid.sweep and grid.sweep[0] == info.name:
        _, parameter, values = grid.sweep
        sets += [(changed_parameters(info, {**own, parameter: value}), {*own, parameter}) for value in values]
    unique = {digest([params, sorted(named)]): (params, named) for params, named in sets}
    return list(unique.values())


def changed_parameters(info: MethodInfo, params: Mapping[str, Any]) -> dict[str, Any]:
    """Only what differs from the defaults, each in its declared type, so that naming a default changes no key."""
    changed = {}
    for name, value in params.items():
        if sets_training(info, name):
            changed[name] = _training_number(info, name, value)
        elif name not in info.parameters:
            known = ", ".join([*info.parameters, *(one for one in TRAINED if sets_training(info, one))]) or "none"
            raise UsageError(f"method '{info.name}' has no parameter '{name}'; it has: {known}")
        else:
            typed = checked_value(info.name, info.declared[name], value)
            if typed != info.parameters[name]:
                changed[name] = typed
    return changed


def _training_number(info: MethodInfo, name: str, value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= TRAINED[name] or (name == "learning_rate" and value == 0):
        least = "above 0" if name == "learning_rate" else "of 0 or more"
        raise UsageError(f"{info.name}: {name} = {value!r}, expected a number {least} and up to {TRAINED[name]}")
    return float(value)


# Data sets by name


def choose_datasets(
    specs: Sequence[str],
    *,
    data_root: Path | None = None,
    option: Mapping[str, Mapping[str, Any]] | None = None,
    backbone: str | None = None,
    weights: str | None = None,
    partial_weights: bool = False,
    skip_broken: bool = False,
    check: bool = True,
) -> list[DatasetChoice]:
    """The data sets by name, each checked: what is missing is said before any work, all of it at once.

    `option` has the parameters of data sets: name -> parameter -> value. `audit` and `prepare` do without the check:
    they have something to say where images are missing.
    """
    option = option or {}
    for name in set(option) - {spec.partition(":")[0] for spec in specs}:
        raise UsageError(f"--option {name}.…: '{name}' is not among --datasets")
    if data_root is not None and not os.path.isdir(data_root):
        raise UsageError(f"data root {data_root} is not a folder; give the folder that holds your data sets")
    root = None if data_root is None else Path(os.path.realpath(data_root))
    choices, faults = [], []
    for spec in dict.fromkeys(map(_absolute, specs)):
        parameters = dict(option.get(spec.partition(":")[0], {}))
        if skip_broken and "skip_broken" in dataset_class(spec, root).info.parameters:
            parameters["skip_broken"] = True
        dataset = _built(spec, root, parameters)
        try:
            if check:
                with faults_of_plugins(spec, root):
                    dataset.check()
        except UsageError as error:
            faults.append(str(error))
        own = _own_backbone(dataset, backbone)
        file = _absolute_file(weights) if own else None
        choices.append(DatasetChoice(spec, dataset, root, parameters, own, file, partial_weights))
    if faults:
        raise UsageError(" | ".join(faults))
    _refuse_unused(choices, backbone=backbone, weights=weights)
    labels = names_apart({choice.spec: choice.dataset.name for choice in choices})
    return [replace(choice, own_label=labels[choice.spec]) for choice in choices]


def _built(spec: str, root: Path | None, parameters: Mapping[str, Any]) -> HashDataset:
    """The data set with these parameters; where its data lie is none of them."""
    for name in {"spec", "data_root"} & set(parameters):
        raise UsageError(f"dataset '{spec}' has no parameter '{name}'; data lie where --data-root says")
    with faults_of_plugins(spec, root):
        return get_dataset(spec, root, **parameters)


def _refuse_unused(choices: Sequence[DatasetChoice], **flags: str | None) -> None:
    """A backbone, or weights, that no data set would use is a mistake, not a wish."""
    for name, value in flags.items():
        if value is not None and not any(choice.backbone for choice in choices):
            raise UsageError(f"--{name} {value}: none of --datasets has images to use it on; leave it away")


@contextlib.contextmanager
def faults_of_plugins(spec: str, root: Path | None) -> Iterator[None]:
    """Whatever goes wrong in a data set that somebody gave us is a sentence; in one of our own it is a bug."""
    try:
        yield
    except (UsageError, OSError):
        raise
    except Exception as error:
        source = dataset_class(spec, root).info.source
        if source is None or source.parent == builtin_folder("datasets").resolve():
            raise
        told = f"{type(error).__name__}: {error}"
        raise UsageError(f"dataset '{spec}' of {source} cannot be used: {told}") from error


def _own_backbone(dataset: HashDataset, backbone: str | None) -> str | None:
    """The user's backbone or the data set's own; none where there are features only."""
    if backbone is not None and not backbone.strip():
        raise UsageError("--backbone '': expected a name, such as alexnet")
    return (backbone or dataset.backbone) if dataset.backbone else None


def _absolute(spec: str) -> str:
    """Cells run in a scratch folder, so paths must not depend on the working directory."""
    name, _, argument = spec.partition(":")
    return f"{name}:{os.path.realpath(argument)}" if argument and takes_path(spec) else spec


def _absolute_file(weights: str | None) -> str | None:
    return os.path.realpath(weights) if weights and os.path.isfile(weights) else weights


def default_profile() -> str:
    """'paper' where there is a GPU, else 'quick'; asks the driver's files, not torch, to stay fast."""
    return "paper" if Path("/proc/driver/nvidia/version").exists() else "quick"


def make_grid(
    choices: Sequence[DatasetChoice],
    methods: Sequence[str],
    bits: Sequence[int],
    seeds: Sequence[int],
    profile: str | Path | None = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    sweep: Sweep | None = None,
    known: Sequence[TunedSettings] = (),
    untuned: bool = False,
) -> Grid:
    """The grid of these names; a setting for a method that is not in it is a mistake, not a wish.

    `sweep` is of a method, or of a data set: then every method is run on it at every value, and as it was asked for.
    A profile whose settings come from a file that the user named, or are to be no tuned ones, has a name that says so:
    its results stand in tables of their own.
    """
    names = method_names(methods)
    lengths, numbers = _whole("bits", bits, 1, MAX_BITS), _whole("seeds", seeds, 0, MAX_SEED)
    for what, given in {"datasets": choices, "methods": names, "bits": lengths, "seeds": numbers}.items():
        if not given:
            raise UsageError(f"{what}: none given, expected at least one")
    if sweep and sweep[0] not in names and sweep[0] in datasets.names_unloaded():
        choices, sweep = _with_variations(choices, sweep), None
    for flag, owner in [*(("--set", owner) for owner in params or {}), *([("--sweep", sweep[0])] if sweep else [])]:
        if owner not in names:
            raise UsageError(f"{flag} {owner}.…: method '{get_method(owner).info.name}' is not among --methods")
    chosen = load_profile(default_profile() if profile is None else profile)
    if untuned:
        known, chosen = (), replace(chosen, name=f"{chosen.name}-untuned", source=f"{chosen.source} untuned")
    for file in (one.source for one in known if one.source):
        chosen = replace(chosen, name=f"{chosen.name}-tuned", source=f"{chosen.source} tuned by {file}")
    grid = Grid(names, choices, lengths, numbers, chosen, params or {}, sweep, known)
    for name in names:
        _param_sets(grid, get_method(name).info)  # wrong values show before any data set is read
    return grid


def _with_variations(choices: Sequence[DatasetChoice], sweep: Sweep) -> list[DatasetChoice]:
    """The data sets, and in front of the swept one its variations; the one that is as it was asked for is that one."""
    owner, parameter, values = sweep
    if owner not in {choice.spec.partition(":")[0] for choice in choices}:
        raise UsageError(f"--sweep {owner}.{parameter}: '{owner}' is not among --datasets")
    found: list[DatasetChoice] = []
    for choice in choices:
        if choice.spec.partition(":")[0] == owner:
            varied = [_variation(choice, owner, parameter, value) for value in values]
            found += [choice if one.parts == choice.parts else one for one in varied]
        found.append(choice)
    return list({id(choice): choice for choice in found}.values())


def _variation(choice: DatasetChoice, owner: str, parameter: str, value: Any) -> DatasetChoice:
    """The same data set with one parameter changed, checked."""
    parameters = {**choice.parameters, parameter: value}
    try:
        dataset = _built(choice.spec, choice.data_root, parameters)
        with faults_of_plugins(choice.spec, choice.data_root):
            dataset.check()
    except UsageError as error:
        raise UsageError(f"--sweep {owner}.{parameter} {value}: {error}") from error
    label = f"{choice.label} {parameter}={value}"
    return replace(choice, dataset=dataset, parameters=parameters, own_label=label)


def _whole(name: str, values: Iterable[Any], least: int, most: int) -> list[int]:
    """Whole numbers within bounds, each once, in the order given."""
    found = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not least <= int(value) <= most:
            raise UsageError(f"{name}: {value}, expected whole numbers from {least} to {most}")
        found.append(int(value))
    return list(dict.fromkeys(found))
