"""What a search finds, and the checks of what it is given: packed codes of one length, and one query at a time."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from benchmark.errors import UsageError
from benchmark.evaluation.codes import MAX_BITS
from benchmark.wording import counted

MOST_ROWS = 2**32 - 1  # row numbers are kept in four bytes


class Neighbours(NamedTuple):
    """Rows of the database, nearest first, ties by row number; and what it took to find them."""

    rows: np.ndarray
    distances: np.ndarray
    touched: int  # codes whose distance was computed, or that were read from a table
    probed: int = 0  # keys that were looked up


def ranked(
    rows: np.ndarray, distances: np.ndarray, n: int | None = None, touched: int = 0, probed: int = 0
) -> Neighbours:
    """Rows by distance, then by number; the first `n` of them."""
    order = np.lexsort((rows, distances))[:n]
    return Neighbours(rows[order].astype(np.int64), distances[order].astype(np.int64), touched, probed)


class Ball(Protocol):
    """An index that answers which codes lie within a radius."""

    bits: int

    def __len__(self) -> int: ...

    def within(self, query: np.ndarray, radius: int) -> Neighbours: ...


def grown(index: Ball, query: np.ndarray, n: int) -> Neighbours:
    """The `n` nearest by wider and wider balls, until one holds so many; a ball of all bits holds every code."""
    n = min(check_count(n), len(index))
    radius = 0
    found = index.within(query, radius)
    while len(found.rows) < n:
        radius += 1
        found = index.within(query, radius)
    return found._replace(rows=found.rows[:n], distances=found.distances[:n])


def check_database(packed: np.ndarray, bits: int) -> np.ndarray:
    """`packed` as (n, ceil(bits / 8)) bytes, whatever stood in the padding now 0; UsageError where it is not."""
    if not 1 <= bits <= MAX_BITS:
        raise UsageError(f"search: {bits} bits, expected 1 to {MAX_BITS}")
    width = -(-bits // 8)
    if packed.ndim != 2 or packed.dtype != np.uint8 or packed.shape[1] != width:
        shape = f"{packed.dtype} of shape {packed.shape}"
        wanted = f"{counted(width, 'column')} for {counted(bits, 'bit')}"
        raise UsageError(f"search: {shape}, expected packed uint8 of {wanted}")
    if len(packed) > MOST_ROWS:
        raise UsageError(f"search: {len(packed):,} codes, expected at most {MOST_ROWS:,}; search them in parts")
    if bits % 8 and np.any(packed[:, -1] & padding(bits)):
        packed = packed.copy()
        packed[:, -1] &= np.uint8(0xFF) ^ padding(bits)
    return packed


def check_query(query: np.ndarray, bits: int) -> np.ndarray:
    """One packed code as (1, ceil(bits / 8)) bytes."""
    return check_database(np.asarray(query).reshape(1, -1), bits)


def check_count(n: int, name: str = "n") -> int:
    """A number of neighbours, or a radius."""
    if n < 0:
        raise UsageError(f"search: {name} is {n}, expected 0 or more")
    return int(n)


def padding(bits: int) -> np.uint8:
    """The bits of the last byte that belong to no code."""
    return np.uint8(0xFF >> (bits % 8)) if bits % 8 else np.uint8(0)
