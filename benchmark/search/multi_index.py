"""Multi-index hashing (Norouzi, Punjani, Fleet: Fast exact search in Hamming space with multi-index hashing, 2014).

A code is cut into m substrings, each with a table of its own. Two codes that differ in r = m a + b bits (b < m) agree
up to a bits in one of the first b + 1 substrings, or up to a - 1 bits in one of the others: else they would differ in
(b + 1)(a + 1) + (m - b - 1) a = r + 1 bits or more. So every near code is met in some table, and what is met is
compared in full: exact.
"""

from __future__ import annotations

from itertools import pairwise
from math import comb, log2

import numpy as np

from benchmark.search.exact import ExactScan
from benchmark.search.key_table import KeyTable, flips, substring_keys
from benchmark.search.neighbours import Neighbours, check_count, check_database, check_query, ranked

LONGEST_SUBSTRING = 32


def substring_count(bits: int, rows: int) -> int:
    """So many that each has about log2(rows) bits, which the paper finds best."""
    wanted = round(bits / max(1.0, log2(max(rows, 2))))
    return min(bits, max(1, wanted, -(-bits // LONGEST_SUBSTRING)))


class MultiIndex:
    """A table for each of `m` substrings."""

    def __init__(self, packed: np.ndarray, bits: int, m: int | None = None) -> None:
        packed = check_database(packed, bits)
        self.bits = bits
        self.scan = ExactScan(packed, bits)
        edges = np.linspace(0, bits, (m or substring_count(bits, len(packed))) + 1).astype(int).tolist()
        self.parts = list(pairwise(edges))
        self.tables = [KeyTable(substring_keys(packed, start, stop), stop - start) for start, stop in self.parts]

    def __len__(self) -> int:
        return len(self.scan)

    @property
    def bytes(self) -> int:
        return self.scan.bytes + sum(table.bytes for table in self.tables)

    def top(self, query: np.ndarray, n: int) -> Neighbours:
        """The `n` nearest: the radius grows by one until so many are within it."""
        n = min(check_count(n), len(self))
        walk = _Walk(self, query)
        for radius in range(self.bits + 1):
            if walk.within >= n:
                break
            if not walk.widen(radius):
                return self.scan.top(query, n)
        return walk.result(n)

    def within(self, query: np.ndarray, radius: int) -> Neighbours:
        """All at distance `radius` or less."""
        walk = _Walk(self, query)
        for one in range(min(check_count(radius, "radius"), self.bits) + 1):
            if not walk.widen(one):
                return self.scan.within(query, radius)
        return walk.result(None)


class _Walk:
    """One query's way through the tables."""

    def __init__(self, index: MultiIndex, query: np.ndarray) -> None:
        self.index, self.query = index, query
        code = check_query(query, index.bits)
        self.keys = [substring_keys(code, start, stop) for start, stop in index.parts]
        self.seen = np.zeros(len(index), bool)
        self.rows: list[np.ndarray] = []
        self.distances: list[np.ndarray] = []
        self.counts = np.zeros(index.bits + 1, np.int64)
        self.radius, self.touched, self.probed = -1, 0, 0

    @property
    def within(self) -> int:
        """How many are known to lie within the radius reached; there are no others."""
        return int(self.counts[: self.radius + 1].sum())

    def widen(self, radius: int) -> bool:
        """Meet all at distance `radius`; False where probing would cost more than to scan everything."""
        index, (distance, number) = self.index, divmod(radius, len(self.index.tables))
        start, stop = index.parts[number]
        probes = comb(stop - start, distance)
        if probes > max(len(index), 1):
            return False
        rows = index.tables[number].find(self.keys[number] ^ flips(stop - start, distance))
        rows = rows[~self.seen[rows]]
        self.seen[rows] = True
        found = index.scan.distances_of(self.query, rows)
        self.rows.append(rows)
        self.distances.append(found)
        self.counts += np.bincount(found, minlength=len(self.counts))
        self.radius, self.touched, self.probed = radius, self.touched + len(rows), self.probed + probes
        return True

    def result(self, n: int | None) -> Neighbours:
        """What lies within the radius reached, the first `n`."""
        rows, found = np.concatenate([*self.rows, []]), np.concatenate([*self.distances, []])
        near = found <= self.radius
        return ranked(rows[near], found[near], n, self.touched, self.probed)
