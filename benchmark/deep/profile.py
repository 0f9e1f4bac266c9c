"""Training set-ups as data: what a profile file says, and nothing that trains. Does not import torch.

A profile is a small TOML file with a table `[training]`; `quick` and `paper` ship with the package, and a user may
copy and edit one and give its path.
"""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from benchmark.errors import UsageError

Depth = Literal["hash", "last", "all"]


@dataclass(frozen=True)
class Training:
    """How a deep method is trained. The profile gives all but where to run and where to keep the snapshot."""

    train: Depth = "last"  # the hash layer only | also the backbone's last layers | everything, from images
    backbone: str | None = None  # None: the data set's own; with features and no backbone, the hash layer only
    weights: str | None = None  # torchvision's name, a file, or None for the backbone's own
    partial_weights: bool = False  # whether a file may hold weights for a part of the backbone only
    steps: int = 600
    batch: int = 256  # images in each of the two streams
    learning_rate: float = 0.003  # of the backbone; the hash layer's is `hash_rate` times that
    hash_rate: float = 10.0
    bias_rate: float = 2.0  # biases learn this much faster than the weights beside them, and do not decay
    momentum: float = 0.9
    weight_decay: float = 5e-4
    decay: float = 0.5  # the learning rate is multiplied by this ...
    decay_every: int = 200  # ... after so many steps
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
        if self.train not in get_args(Depth):
            raise UsageError(f"training: train = {self.train!r}, expected one of {', '.join(get_args(Depth))}")
        for name in ("steps", "batch", "decay_every", "encode_batch"):
            if getattr(self, name) < 1:
                raise UsageError(f"training: {name} = {getattr(self, name)}, expected 1 or more")

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
    source = shipped.get(str(profile), Path(profile))
    if not source.is_file():
        raise UsageError(f"profile '{profile}': neither a file nor one of {', '.join(sorted(shipped))}")
    try:
        content = tomllib.loads(source.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"profile {profile}: not TOML: {error}") from error
    unknown = set(content) - {"training"}
    if unknown:
        raise UsageError(f"profile {profile}: unknown table or key '{unknown.pop()}', expected [training]")
    known_as = str(profile) if str(profile) in shipped else str(Path(profile).resolve())
    return Profile(Path(source.name).stem, _training(content.get("training", {}), profile), known_as)


def _shipped() -> list[Any]:
    folder = resources.files("benchmark") / "profiles"
    return [path for path in folder.iterdir() if path.name.endswith(".toml")]


def _training(table: dict[str, Any], profile: str | Path) -> Training:
    kinds = get_type_hints(Training)
    for key, value in table.items():
        if key not in kinds:
            raise UsageError(f"profile {profile}: unknown key '{key}' in [training]; known: {', '.join(kinds)}")
        accepted = {int: (int,), float: (int, float), bool: (bool,)}.get(kinds[key], (str,))
        if not isinstance(value, accepted) or (isinstance(value, bool) and kinds[key] is not bool):
            raise UsageError(f"profile {profile}: {key} = {value!r}, expected {accepted[-1].__name__}")
        if kinds[key] is float:
            table = table | {key: float(value)}
    return Training(**table)
