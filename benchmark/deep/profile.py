"""Training set-ups as data: what a profile file says, and nothing that trains. Does not import torch.

A profile is a small TOML file with a table `[training]`; `quick` and `paper` ship with the package, and a user may
copy and edit one and give its path.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from benchmark.errors import UsageError

Depth = Literal["hash", "last", "all"]
Optimizer = Literal["sgd", "adam"]
Schedule = Literal["stages", "cosine"]
CHOICES: dict[str, tuple[str, ...]] = {
    "train": get_args(Depth),
    "optimizer": get_args(Optimizer),
    "schedule": get_args(Schedule),
}
AT_LEAST = {
    **dict.fromkeys(("steps", "batch", "decay_every", "encode_batch"), 1),
    **dict.fromkeys(("resize", "crop", "num_workers", "learning_rate", "hash_rate", "bias_rate", "momentum"), 0),
    **dict.fromkeys(("weight_decay", "decay", "deviation", "checkpoint_seconds", "warmup", "epochs", "components"), 0),
}
BELOW_ONE = ("momentum", "warmup")  # momentum, and shares of the training
DECAY_ROWS = 1000  # up to which Adam's weight decay is the profile's
MOST = 10**9  # of any number: beyond it lies a slip of the keyboard
ELSEWHERE = {"backbone": "--backbone", "weights": "--weights", "partial_weights": "--partial-weights",
             "checkpoint": "the results folder"}  # fmt: skip


@dataclass(frozen=True)
class Training:
    """How a deep method is trained. The profile gives all but where to run and where to keep the snapshot."""

    train: Depth = "last"  # the hash layer only | also the backbone's last layers | everything, from images
    backbone: str | None = None  # None: the data set's own; with features and no backbone, the hash layer only
    weights: str | None = None  # torchvision's name, a file, or None for the backbone's own
    partial_weights: bool = False  # whether a file may hold weights for a part of the backbone only
    components: int = 0  # principal directions of fixed features that the hash layer sees; 0: all features
    steps: int = 600
    epochs: float = 0.0  # more steps where so many passes over the training rows need them
    batch: int = 256  # images in each of the two streams
    optimizer: Optimizer = "sgd"
    learning_rate: float = 0.003  # of the backbone; the hash layer's is `hash_rate` times that
    hash_rate: float = 10.0
    bias_rate: float = 2.0  # biases learn this much faster than the weights beside them, and do not decay
    momentum: float = 0.9
    weight_decay: float = 5e-4  # sgd: part of the gradient; adam: of the hash layer's weights, less with many rows
    schedule: Schedule = "stages"
    decay: float = 0.5  # stages: the learning rate is multiplied by this ...
    decay_every: int = 200  # ... after so many steps
    warmup: float = 0.0  # share of the steps over which the rate rises from zero
    deviation: float = 0.01  # of the hash layer's initial weights
    self_pairs: bool = False  # whether an image that both streams drew makes a pair with itself
    resize: int = 0  # images to squares of this size, ...
    crop: int = 0  # ... of which so much is shown to the network; 0: what the backbone was made for
    augment: bool = False  # random crop and mirror; else the centre crop, in training too
    encode_batch: int = 1024  # rows encoded at a time: bounds memory
    mixed_precision: bool = True  # on CUDA only
    device: str = "auto"
    num_workers: int = 0  # processes that decode images ahead of training
    checkpoint: str | None = None  # file that keeps the latest snapshot of a training
    checkpoint_seconds: float = 120.0  # between snapshots

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(f"training: {name} = {getattr(self, name)!r}, expected one of {', '.join(choices)}")
        for name, least in AT_LEAST.items():
            value = getattr(self, name)
            if not least <= value <= MOST:  # which NaN is not
                what = f"{least} or more" if value < least else f"{least} to {MOST:,}"
                raise UsageError(f"training: {name} = {value}, expected {what}")
        for name in BELOW_ONE:
            if getattr(self, name) >= 1:
                raise UsageError(f"training: {name} = {getattr(self, name)}, expected less than 1")
        if self.resize and self.crop > self.resize:
            raise UsageError(f"training: crop = {self.crop}, expected at most resize, which is {self.resize}")
        if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", self.device):
            raise UsageError(f"training: device = {self.device!r}, expected auto, cpu, cuda, cuda:N or mps")

    def steps_for(self, rows: int) -> int:
        """The number of steps on so many training rows: at least `steps`, more where `epochs` passes need more."""
        return max(self.steps, math.ceil(self.epochs * rows / self.batch))

    def decay_for(self, rows: int) -> float:
        """Adam's weight decay on so many training rows: the profile's up to 1,000, and less in proportion to more."""
        return self.weight_decay * min(1.0, DECAY_ROWS / rows)

    def identity(self) -> dict[str, Any]:
        """All that decides the result, as plain data: not where it runs, nor where its snapshots lie."""
        values = dataclasses.asdict(self)
        return {key: value for key, value in values.items() if key not in PLACE}


PLACE = ("device", "num_workers", "encode_batch", "checkpoint", "checkpoint_seconds")


@dataclass(frozen=True)
class Profile:
    """A named training set-up."""

    name: str
    training: Training = field(default_factory=Training)
    source: str = ""  # the name or file it was loaded by

    def as_dict(self) -> dict[str, Any]:
        """Plain data for hashing: the name and all that decides a result."""
        return {"name": self.name, "training": self.training.identity()}


def load_profile(profile: str | Path) -> Profile:
    """The profile of that name, or the one in that TOML file."""
    shipped = {path.name.removesuffix(".toml"): path for path in _shipped()}
    named = str(profile)
    source = shipped.get(named, Path(profile))
    if named not in shipped and not os.path.isfile(profile):
        raise UsageError(f"profile '{profile}': neither a file nor one of {', '.join(sorted(shipped))}")
    try:
        content = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"profile {profile}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # no TOML, or no UTF-8
        raise UsageError(f"profile {profile}: not TOML: {error}") from error
    unknown = set(content) - {"training"}
    if unknown:
        raise UsageError(f"profile {profile}: unknown table or key '{unknown.pop()}', expected [training]")
    known_as = named if named in shipped else os.path.realpath(profile)
    return Profile(Path(source.name).stem, _training(content.get("training", {}), profile), known_as)


def _shipped() -> list[Any]:
    folder = resources.files("benchmark") / "profiles"
    return [path for path in folder.iterdir() if path.name.endswith(".toml")]


def _training(table: Any, profile: str | Path) -> Training:
    if not isinstance(table, dict):
        raise UsageError(f"profile {profile}: training = {table!r}, expected a table [training]")
    found = {key: _value(key, value, profile) for key, value in table.items()}
    try:
        return Training(**found)
    except UsageError as error:
        raise UsageError(f"profile {profile}: {error}") from error


def _value(key: str, value: Any, profile: str | Path) -> Any:
    """One entry of the table in the type of its field."""
    kinds = get_type_hints(Training)
    if key in ELSEWHERE:
        raise UsageError(f"profile {profile}: {key} is chosen by {ELSEWHERE[key]}, not by a profile; leave it out")
    if key not in kinds:
        known = ", ".join(name for name in kinds if name not in ELSEWHERE)
        raise UsageError(f"profile {profile}: unknown key '{key}' in [training]; known: {known}")
    accepted = {int: (int,), float: (int, float), bool: (bool,)}.get(kinds[key], (str,))
    if not isinstance(value, accepted) or (isinstance(value, bool) and kinds[key] is not bool):
        raise UsageError(f"profile {profile}: {key} = {value!r}, expected {accepted[-1].__name__}")
    return _as_float(key, value, profile) if kinds[key] is float else value


def _as_float(key: str, value: Any, profile: str | Path) -> float:
    try:
        return float(value)
    except OverflowError:
        raise UsageError(f"profile {profile}: {key} = {value}, expected a number that a float can hold") from None
