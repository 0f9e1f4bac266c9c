"""The database side of a count: arrays, .npy files or a stream of them, cut into tiles of packed codes and labels.

A tile is small enough for the cache; a file is read tile by tile, so that a database may exceed the memory.
The queries' side is `queries`; counting lives in `counting`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.arrays import as_array
from benchmark.errors import UsageError
from benchmark.evaluation.codes import pack_any
from benchmark.labels import LabelLists, as_multi_hot, could_be_lists, holds_class_numbers, read_labels
from benchmark.wording import counted

TILE = 65_536  # items: their bit planes stay in the second-level cache
LABEL_BYTES = 2**25  # fewer items where there are so many classes that a tile's labels would take more than this


@dataclass(frozen=True, eq=False)
class Tile:
    """Some database items: packed codes and packed labels."""

    packed: np.ndarray  # (n, ceil(bits / 8)) uint8
    labels: np.ndarray  # (n, ceil(classes / 8)) uint8


@dataclass(frozen=True)
class FileRows:
    """Rows of an .npy file. It is mapped anew for each slice and let go, so what was read does not stay in memory."""

    path: Path
    start: int
    stop: int
    shape: tuple[int, ...]
    dtype: np.dtype

    @classmethod
    def whole(cls, path: Path) -> FileRows:
        array = _mapped(path)
        if not array.shape:
            raise UsageError(f"{path}: a single number, expected an array of rows")
        return cls(path, 0, array.shape[0], array.shape, array.dtype)

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, last, _ = rows.indices(len(self))
        return np.array(_mapped(self.path)[self.start + first : self.start + last])

    def part(self, first: int, last: int) -> FileRows:
        return FileRows(self.path, self.start + first, self.start + last, (last - first, *self.shape[1:]), self.dtype)


def _mapped(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as an .npy file: {error}") from error


@dataclass(frozen=True, eq=False)
class Shard:
    """A part of the database: codes and labels of the same rows."""

    codes: np.ndarray | FileRows
    labels: np.ndarray | FileRows | LabelLists
    could_be_lists: bool = False  # the labels are multi-hot, but see `labels.could_be_lists`

    @classmethod
    def of(cls, codes: Any, labels: Any) -> Shard:
        rows = _from(codes, lambda data: as_array(data, "database codes"))
        try:
            own = _from(labels, read_labels)
        except UsageError as error:
            raise UsageError(str(error).replace("labels", "database labels", 1)) from error
        for data, name in ((rows, "codes"), (own, "labels")):
            if not isinstance(data, LabelLists) and not data.shape:
                raise UsageError(f"database {name}: {data!r} is not an array of rows")
        if len(rows) != len(own):
            told = f"{counted(len(own), 'row')}, expected {len(rows)}"
            raise UsageError(f"database labels: {told} as the database codes have")
        return cls(rows, own, not isinstance(own, FileRows) and could_be_lists(labels, own))

    def __len__(self) -> int:
        return len(self.codes)

    def split(self, parts: int) -> list[Shard]:
        edges = np.linspace(0, len(self), parts + 1).astype(int).tolist()
        return [
            Shard(_part(self.codes, first, last), _part(self.labels, first, last)) for first, last in pairwise(edges)
        ]

    @property
    def classes(self) -> int | None:
        """The number of label columns; None for class numbers."""
        if isinstance(self.labels, LabelLists) or holds_class_numbers(self.labels):
            return None
        return self.labels.shape[1]


def _from(data: Any, read: Callable[[Any], Any]) -> Any:
    """A path as the rows of its file, anything else as `read` reads it."""
    return FileRows.whole(Path(data)) if isinstance(data, (str, Path)) else read(data)


def _part(source: Any, first: int, last: int) -> Any:
    return source.part(first, last) if isinstance(source, FileRows) else source[first:last]


def shards_of(codes: Any, labels: Any) -> Iterator[Shard]:
    """The shards of a database given as arrays, paths, or (with `labels` None) an iterable of such pairs."""
    if labels is not None:
        yield Shard.of(codes, labels)
        return
    if isinstance(codes, (str, Path)) or hasattr(codes, "shape"):
        raise UsageError("database labels: missing, expected them beside the database codes")
    for number, shard in enumerate(codes):
        if not isinstance(shard, (tuple, list)) or len(shard) != 2:
            raise UsageError(f"database shard {number}: {type(shard).__name__}, expected a pair (codes, labels)")
        yield Shard.of(*shard)


@dataclass(frozen=True)
class Layout:
    """How codes and labels are given and what they must agree with."""

    bits: int
    classes: int
    packed_codes: bool  # codes may come packed
    packed_labels: bool
    other_classes: bool  # the queries gave class numbers: those from `classes` on are classes that no query has

    def tiles(self, shard: Shard) -> Iterator[Tile]:
        size = max(512, min(TILE, LABEL_BYTES * 8 // max(1, self.classes)))
        for start in range(0, len(shard), size):
            codes, labels = shard.codes[start : start + size], shard.labels[start : start + size]
            packed, bits = pack_any(codes, self.bits if self.packed_codes else None, "database codes")
            if bits != self.bits:
                told = f"{counted(bits, 'bit')}, expected {self.bits}"
                raise UsageError(f"database codes: {told} as the query codes have")
            yield Tile(packed, self.pack_labels(labels, "database labels"))

    def pack_labels(self, labels: np.ndarray | LabelLists, name: str) -> np.ndarray:
        """Class numbers, multi-hot or packed labels as packed ones."""
        try:
            if are_packed(labels, self.classes if self.packed_labels else None):
                return np.asarray(labels)
            return np.packbits(as_multi_hot(labels, self.classes, self.other_classes), axis=1)
        except UsageError as error:
            raise UsageError(str(error).replace("labels", name, 1)) from error


def are_packed(labels: np.ndarray | LabelLists, classes: int | None) -> bool:
    """Whether labels are packed, `np.packbits(multi_hot, axis=1)`, as they may be where `classes` is told."""
    width = -(-(classes or 0) // 8)
    if isinstance(labels, LabelLists) or not width or labels.dtype != np.uint8 or labels.shape[1:] != (width,):
        return False
    if width == 1:
        raise UsageError(
            f"labels: one column of uint8 with classes={classes} may be class numbers or packed; give class numbers "
            f"as (n,), multi-hot as bool (n, {classes}); packed are taken from 9 classes on"
        )
    return True
