"""Exact search: the distance to every code, by XOR and count of bits, and the nearest of them.

Blocks of the database stay in the processor's cache, so that numpy's loops run at the speed of memory: the same loop
compiled by numba is no faster, and there is none.
"""

from __future__ import annotations

import numpy as np

from benchmark.evaluation.codes import words
from benchmark.search.neighbours import Neighbours, check_count, check_database, check_query, ranked

BLOCK = 1 << 15  # words at a time


class ExactScan:
    """All codes of a database, compared one by one."""

    def __init__(self, packed: np.ndarray, bits: int) -> None:
        self.bits = bits
        self.words = _small_words(check_database(packed, bits), bits)

    def __len__(self) -> int:
        return self.words.shape[1]

    @property
    def bytes(self) -> int:
        return self.words.nbytes

    def distances(self, query: np.ndarray) -> np.ndarray:
        """To every code of the database."""
        wanted = _small_words(check_query(query, self.bits), self.bits)
        found: np.ndarray = np.empty(len(self), np.uint8 if self.bits < 256 else np.uint16)
        for start in range(0, len(self), BLOCK):
            part = slice(start, start + BLOCK)
            np.bitwise_count(self.words[0, part] ^ wanted[0], out=found[part])
            for word in range(1, len(self.words)):
                np.add(found[part], np.bitwise_count(self.words[word, part] ^ wanted[word]), out=found[part])
        return found

    def distances_of(self, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """To some rows only."""
        wanted = _small_words(check_query(query, self.bits), self.bits)
        return np.bitwise_count(self.words[:, rows] ^ wanted).sum(axis=0, dtype=np.int64)

    def top(self, query: np.ndarray, n: int) -> Neighbours:
        """The `n` nearest, or all there are."""
        n = min(check_count(n), len(self))
        if not n:
            return ranked(np.empty(0, np.int64), np.empty(0, np.int64))
        found = self.distances(query)
        low, high = int(found.min()), self.bits  # the least radius that holds n of them
        while low < high:
            middle = (low + high) // 2
            if np.count_nonzero(found <= middle) >= n:
                high = middle
            else:
                low = middle + 1
        rows = np.flatnonzero(found <= high)
        return ranked(rows, found[rows], n, touched=len(self))

    def within(self, query: np.ndarray, radius: int) -> Neighbours:
        """All at distance `radius` or less."""
        found = self.distances(query)
        rows = np.flatnonzero(found <= min(check_count(radius, "radius"), self.bits))
        return ranked(rows, found[rows], touched=len(self))


def top(queries: np.ndarray, database: np.ndarray, n: int, bits: int) -> list[Neighbours]:
    """The `n` nearest of a packed database for each packed query."""
    index = ExactScan(database, bits)
    return [index.top(query, n) for query in queries]


def within(queries: np.ndarray, database: np.ndarray, radius: int, bits: int) -> list[Neighbours]:
    """All of a packed database at distance `radius` or less, for each packed query."""
    index = ExactScan(database, bits)
    return [index.within(query, radius) for query in queries]


def _small_words(packed: np.ndarray, bits: int) -> np.ndarray:
    """(words, n), in the smallest words that hold a short code; of 64 bits for a longer one."""
    wide = words(packed, bits)
    size = next((size for size in (1, 2, 4) if packed.shape[1] <= size), 8)
    if size == 8:
        return wide
    return np.ascontiguousarray(wide.view(np.uint8).reshape(len(packed), 8)[:, :size]).view(f"u{size}").reshape(1, -1)
