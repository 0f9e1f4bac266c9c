"""The database side of a count: arrays, .npy files or a stream of them, cut into tiles of packed codes and labels.

A tile is small enough for the cache; a file is read tile by tile, so that a database may exceed the memory.
Counting lives in `evaluator`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.contracts import as_multi_hot
from benchmark.errors import UsageError
from benchmark.evaluation.codes import pack_any

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

    @classmethod
    def whole(cls, path: Path) -> FileRows:
        shape = _mapped(path).shape
        if not shape:
            raise UsageError(f"{path}: a single number, expected an array of rows")
        return cls(path, 0, shape[0], shape)

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, last, _ = rows.indices(len(self))
        return np.array(_mapped(self.path)[self.start + first : self.start + last])

    def part(self, first: int, last: int) -> FileRows:
        return FileRows(self.path, self.start + first, self.start + last, (last - first, *self.shape[1:]))


def _mapped(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as an .npy file: {error}") from error


@dataclass(frozen=True, eq=False)
class Shard:
    """A part of the database: codes and labels of the same rows."""

    codes: np.ndarray | FileRows
    labels: np.ndarray | FileRows

    @classmethod
    def of(cls, codes: Any, labels: Any) -> Shard:
        shard = cls(_source(codes), _source(labels))
        if len(shard.codes) != len(shard.labels):
            raise UsageError(
                f"database labels: {len(shard.labels)} rows, expected {len(shard.codes)} as the database codes have"
            )
        return shard

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
        return self.labels.shape[1] if len(self.labels.shape) == 2 else None


def _source(data: Any) -> np.ndarray | FileRows:
    if isinstance(data, (str, Path)):
        return FileRows.whole(Path(data))
    array = np.asanyarray(data)
    if not array.ndim:
        raise UsageError(f"database: {data!r} is not an array of rows")
    return array


def _part(source: np.ndarray | FileRows, first: int, last: int) -> np.ndarray | FileRows:
    return source.part(first, last) if isinstance(source, FileRows) else source[first:last]


def shards_of(codes: Any, labels: Any) -> Iterator[Shard]:
    """The shards of a database given as arrays, paths, or (with `labels` None) an iterable of such pairs."""
    if labels is not None:
        yield Shard.of(codes, labels)
        return
    if isinstance(codes, (str, Path, np.ndarray)):
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
    other_classes: bool  # class numbers from `classes` on are allowed: classes that no query has

    def tiles(self, shard: Shard) -> Iterator[Tile]:
        size = max(4096, min(TILE, LABEL_BYTES * 8 // max(1, self.classes)))
        for start in range(0, len(shard), size):
            codes, labels = shard.codes[start : start + size], shard.labels[start : start + size]
            packed, bits = pack_any(codes, self.bits if self.packed_codes else None, "database codes")
            if bits != self.bits:
                raise UsageError(f"database codes: {bits} bits, expected {self.bits} as the query codes have")
            yield Tile(packed, self.pack_labels(labels, "database labels"))

    def pack_labels(self, labels: np.ndarray, name: str) -> np.ndarray:
        """Class numbers, multi-hot or packed labels as packed ones."""
        width = -(-self.classes // 8)
        if self.packed_labels and labels.dtype == np.uint8 and labels.shape[1:] == (width,):
            return np.asarray(labels)
        try:
            if labels.ndim == 1 and self.other_classes and labels.dtype.kind in "iu":
                labels = np.where(labels < self.classes, labels, -1)  # relevant to no query
            return np.packbits(as_multi_hot(labels, self.classes), axis=1)
        except UsageError as error:
            raise UsageError(str(error).replace("labels", name, 1)) from error
