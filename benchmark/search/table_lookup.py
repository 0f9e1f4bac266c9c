"""Lookup within a radius in one table of whole codes: all keys at a distance of at most r are probed.

What the literature calls O(1): its cost does not grow with the database, but with the keys in the ball, of which
there are 137 at 16 bits and radius 2, and 2081 at 64.
"""

from __future__ import annotations

from math import comb

import numpy as np

from benchmark.errors import UsageError
from benchmark.search.exact import ExactScan
from benchmark.search.key_table import KeyTable, flips, substring_keys
from benchmark.search.neighbours import Neighbours, check_count, check_database, check_query, grown, ranked

LONGEST_KEY = 64


class TableLookup:
    """One table whose keys are the codes."""

    def __init__(self, packed: np.ndarray, bits: int) -> None:
        packed = check_database(packed, bits)
        if bits > LONGEST_KEY:
            raise UsageError(f"search: lookup takes codes of up to {LONGEST_KEY} bits, these have {bits}; use 'multi'")
        self.bits = bits
        self.scan = ExactScan(packed, bits)
        self.table = KeyTable(substring_keys(packed, 0, bits), bits)

    def __len__(self) -> int:
        return len(self.scan)

    @property
    def bytes(self) -> int:
        return self.table.bytes  # the codes themselves are needed for wide balls only

    def within(self, query: np.ndarray, radius: int) -> Neighbours:
        """All at distance `radius` or less; by a scan where the ball has more keys than the database has codes."""
        radius = min(check_count(radius, "radius"), self.bits)
        probes = sum(comb(self.bits, distance) for distance in range(radius + 1))
        if probes > max(len(self), 1):
            return self.scan.within(query, radius)
        key = substring_keys(check_query(query, self.bits), 0, self.bits)
        found = [self.table.find(key ^ flips(self.bits, distance)) for distance in range(radius + 1)]
        distances = np.repeat(np.arange(radius + 1), [len(rows) for rows in found])
        return ranked(np.concatenate(found), distances, touched=len(distances), probed=probes)

    def top(self, query: np.ndarray, n: int) -> Neighbours:
        """The `n` nearest: wider and wider balls, until one holds them."""
        return grown(self, query, n)
