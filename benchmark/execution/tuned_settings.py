"""What `tune` chose, and where it is known from: a file that the user names, the results folder, or this package.

A winner is the setting of one method on one data set (by its revision) at one code length under one training set-up.
How it was found lives in `tuning.py`; files of a results folder are read and written by `store.py`.
"""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from benchmark.data.cache import replacing
from benchmark.errors import UsageError
from benchmark.execution.fingerprint import digest
from benchmark.execution.record import Record

Origin = Literal["shipped", "tuned"]
Winner = Mapping[str, Any]  # method, dataset, revision, bits, profile, training, params, score, trials, ...
NAMES = ("method", "revision", "training", "bits")


@dataclass(frozen=True)
class TunedSettings:
    """Winners of one origin."""

    origin: Origin
    winners: Sequence[Winner] = ()
    source: str = ""  # a file that the user named

    @functools.cached_property
    def _found(self) -> dict[tuple[str, str, str], dict[int, Winner]]:
        found: dict[tuple[str, str, str], dict[int, Winner]] = {}
        for one in self.winners:
            found.setdefault((one["method"], one["revision"], one["training"]), {})[one["bits"]] = one
        return found

    def lengths(self, method: str, revision: str, training: str) -> dict[int, Winner]:
        """Code length -> winner, of one method on one data set under one training set-up (`training_id`)."""
        return self._found.get((method, revision, training), {})

    def of(self, method: str, revision: str, training: str, bits: int) -> dict[str, Any] | None:
        """What was chosen; of the nearest length where this one was not tuned; None where nothing was."""
        lengths = self.lengths(method, revision, training)
        if not lengths:
            return None
        nearest = min(lengths, key=lambda one: (abs(math.log2(one / bits)), one))
        return dict(lengths[nearest]["params"])


@dataclass(frozen=True)
class Chosen:
    """The settings of one cell, and where they come from."""

    origin: Literal["shipped", "tuned", "defaults"] = "defaults"
    params: Mapping[str, Any] = field(default_factory=dict)


def training_key(identity: Mapping[str, Any]) -> str:
    """What settings were tuned under, in short; another set-up needs other settings."""
    return digest(identity)[:16]


def choose(known: Iterable[TunedSettings], method: str, revision: str, training: str, bits: int) -> Chosen:
    """What the first of these that knows says; the defaults where none does."""
    for one in known:
        params = one.of(method, revision, training, bits)
        if params is not None:
            return Chosen(one.origin, params)
    return Chosen()


def would_choose(known: Iterable[TunedSettings], record: Record) -> bool:
    """Whether these would give its cell the settings that it has, less what its user had set."""
    cell, training = record.cell, (record.parts.get("profile") or {}).get("training") or {}
    chosen = choose(known, cell["method"], record.revision, training_key(training), cell["bits"])
    own = {name: value for name, value in chosen.params.items() if name not in cell.get("params", {})}
    return (cell.get("settings", "defaults"), cell.get("tuned", {})) == (chosen.origin, own)


@functools.cache
def shipped() -> TunedSettings:
    """What ships with the package, for the miniatures: made by `tune` (see docs), every trial's score included."""
    folder = resources.files("benchmark") / "tuned"
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".json")), key=lambda one: one.name)
    found = [winner for one in files for winner in json.loads(one.read_text(encoding="utf-8"))["winners"]]
    return TunedSettings("shipped", found)


def read_tuned(path: Path) -> TunedSettings:
    """A file that `tune` wrote."""
    if not os.path.isfile(path):  # a pipe would be waited for
        raise UsageError(f"--tuned {path}: no such file; make it with the command tune and --out {path}")
    try:
        return TunedSettings("tuned", checked(json.loads(path.read_text(encoding="utf-8"))), os.path.realpath(path))
    except OSError as error:
        raise UsageError(f"--tuned {path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"--tuned {path}: not a file that 'tune' wrote ({type(error).__name__})") from None


def checked(content: Any) -> list[Winner]:
    """The winners of a file's content, or KeyError, TypeError."""
    for one in content["winners"]:
        dict(one["params"])
        if not all(isinstance(one[name], int if name == "bits" else str) for name in NAMES):
            raise TypeError("a winner names method, revision, training and bits")
    return list(content["winners"])


def merged(older: Iterable[Winner], newer: Iterable[Winner]) -> list[Winner]:
    """Both; where both know of the same thing, the newer."""
    found = {tuple(one[name] for name in NAMES): one for one in (*older, *newer)}
    return [found[key] for key in sorted(found)]


def write_tuned(path: Path, winners: Sequence[Winner]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(as_text(winners), encoding="utf-8")


def as_text(winners: Sequence[Winner]) -> str:
    """A trial a line: to be read by people and by git."""
    shown = []
    for one in winners:
        head = json.dumps({name: value for name, value in one.items() if name != "trials"}, allow_nan=False)
        trials = ",\n   ".join(json.dumps(trial, allow_nan=False) for trial in one["trials"])
        shown.append(f'{head[:-1]}, "trials": [\n   {trials}]}}')
    return '{"winners": [\n ' + ",\n ".join(shown) + "]}\n"
