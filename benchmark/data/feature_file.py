"""Features and labels in an npz file, checked array by array; what `features:` and `pairs:` share.

Every fault is a UsageError that names the file and the array. Which arrays a data set asks for is its own
part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from benchmark.data.given_files import need_file
from benchmark.data.label_width import check_width
from benchmark.data.names import fault_of_name, shown
from benchmark.data.option_values import MOST
from benchmark.errors import UsageError
from benchmark.labels import as_multi_hot, class_count, holds_class_numbers, warn_if_ambiguous
from benchmark.wording import counted

MAP_CUTOFF = 1000  # where the file does not say


@dataclass(frozen=True)
class FeatureFile:
    """The arrays of one file, by name."""

    path: Path
    arrays: Mapping[str, np.ndarray]

    @classmethod
    def read(cls, path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> FeatureFile:
        """The named arrays; UsageError where the file is no npz or lacks a required one."""
        with _open(path) as stored:
            missing = [name for name in required if name not in stored.files]
            if missing:
                has = ", ".join(stored.files) or "nothing"
                raise UsageError(f"features file {path} lacks {', '.join(missing)}; it has {has}")
            wanted = [name for name in (*required, *optional) if name in stored.files]
            return cls(path, {name: _member(path, stored, name) for name in wanted})

    def fault(self, name: str, text: object) -> NoReturn:
        raise UsageError(f"features file {self.path}, array {name}: {text}")

    def map_cutoff(self) -> int:
        """k of MAP@k; 0 for the whole database."""
        value = self.arrays.get("map_cutoff", np.array(MAP_CUTOFF))
        if value.size != 1 or value.dtype.kind not in "iu" or not 0 <= int(value.reshape(-1)[0]) <= MOST:
            self.fault("map_cutoff", f"expected one whole number from 1 to {MOST:,}, or 0 for the whole database")
        return int(value.reshape(-1)[0])

    def features(self, parts: Sequence[str]) -> dict[str, np.ndarray]:
        """Float32 rows of one width, all finite."""
        found: dict[str, np.ndarray] = {}
        width = None
        for part in parts:
            name = f"{part}_features"
            array = self.arrays[name]
            if array.ndim != 2 or array.dtype.kind not in "fiu":
                self.fault(name, f"shape {array.shape} of {array.dtype}, expected (n, d) numbers")
            if not array.size:
                self.fault(name, f"empty, shape {array.shape}")
            if width not in (None, array.shape[1]):
                self.fault(name, f"{array.shape[1]} columns, expected {width} as {parts[0]}_features")
            width = array.shape[1]
            with np.errstate(over="ignore"):
                found[part] = array.astype(np.float32, copy=False)
            finite = np.isfinite(found[part]).all(axis=1)
            if not finite.all():
                row, rows = int(np.argmin(finite)), int((~finite).sum())
                self.fault(
                    name, f"row {row} holds NaN or infinity ({counted(rows, 'such row')}); remove or repair them"
                )
        return found

    def labels(self, parts: Sequence[str]) -> dict[str, np.ndarray]:
        """Multi-hot labels of one width, one row per row of features."""
        raw = {part: self.arrays[f"{part}_labels"] for part in parts}
        first = raw[parts[0]]
        for part, array in raw.items():
            rows = len(self.arrays[f"{part}_features"])
            if array.ndim not in (1, 2) or len(array) != rows:
                self.fault(f"{part}_labels", f"shape {array.shape}, expected {rows} rows as {part}_features")
            if holds_class_numbers(array) != holds_class_numbers(first):
                kinds = ["class numbers" if holds_class_numbers(one) else "multi-hot" for one in (array, first)]
                self.fault(f"{part}_labels", f"{kinds[0]}, but {parts[0]}_labels is {kinds[1]}; use one of both")
        if holds_class_numbers(first):
            warn_if_ambiguous(*raw.values())
            raw = {part: array.reshape(-1) for part, array in raw.items()}
        counts = {part: self._checked(class_count, part, array) for part, array in raw.items()}
        classes = max(counts.values()) if holds_class_numbers(first) else counts[parts[0]]
        check_width(f"features file {self.path}", classes, sum(map(len, raw.values())))
        return {part: self._checked(as_multi_hot, part, array, classes) for part, array in raw.items()}

    def _checked(self, read: Callable[..., Any], part: str, *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except UsageError as error:
            self.fault(f"{part}_labels", error)

    def names(self, name: str, count: int) -> list[str] | None:
        """Names of classes or rows, `count` of them; None where the file has none."""
        if name not in self.arrays:
            return None
        found = [str(value).strip() for value in self.arrays[name].reshape(-1)]
        if len(found) != count:
            self.fault(name, f"{len(found)} names, expected {count}")
        wrong = next((one for one in found if fault_of_name(one)), None)
        if wrong is not None and name == "class_names":
            self.fault(name, f"name {shown(wrong)} {fault_of_name(wrong)}")
        twice = next((one for one in found if found.count(one) > 1), None) if name == "class_names" else None
        if twice is not None:
            self.fault(name, f"name {shown(twice)} stands twice, expected a name of its own for each class")
        return found


def _open(path: Path) -> Any:
    need_file("features file", path)
    try:
        stored = np.load(path, allow_pickle=False)
    except PermissionError as error:
        raise UsageError(f"features file {path} cannot be read: {error.strerror}") from None
    except Exception as error:  # numpy raises whatever its zip or header parser raises
        raise UsageError(f"features file {path} is no npz file: {error}") from None
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise UsageError(f"features file {path} holds one bare array, expected an npz of named arrays")
    return stored


def _member(path: Path, stored: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(stored[name])
    except Exception as error:  # a damaged member, or one that holds pickled objects
        raise UsageError(f"features file {path}, array {name}: cannot be read: {error}") from None
