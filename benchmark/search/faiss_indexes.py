"""The same three ways by faiss (optional: `pip install 'hashbench[search]'`), with the same answers, ties included."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from math import comb
from typing import Any

import numpy as np

from benchmark.search.multi_index import substring_count
from benchmark.search.neighbours import Neighbours, check_count, check_database, check_query, grown, ranked

KEY_BITS = 20  # of IndexBinaryHash at most: about log2 of the rows it is meant for


class FaissScan:
    """IndexBinaryFlat: all codes, one by one."""

    def __init__(self, packed: np.ndarray, bits: int) -> None:
        import faiss

        self.bits = bits
        self.index: Any = faiss.IndexBinaryFlat(-(-bits // 8) * 8)
        self.index.add(np.ascontiguousarray(check_database(packed, bits)))

    def __len__(self) -> int:
        return int(self.index.ntotal)

    @property
    def bytes(self) -> int:
        return len(self) * int(self.index.code_size)

    def top(self, query: np.ndarray, n: int) -> Neighbours:
        """The `n` nearest. faiss breaks ties as it comes, so all at the last distance are asked for as well."""
        n = min(check_count(n), len(self))
        if not n:
            return self.within(query, 0)._replace(rows=np.empty(0, np.int64), distances=np.empty(0, np.int64))
        with _one_thread():
            farthest = int(self.index.search(check_query(query, self.bits), n)[0].max())
        found = self.within(query, farthest)
        return found._replace(rows=found.rows[:n], distances=found.distances[:n])

    def within(self, query: np.ndarray, radius: int) -> Neighbours:
        """All at distance `radius` or less."""
        return _within(self.index, check_query(query, self.bits), check_count(radius, "radius"), len(self))


class FaissLookup:
    """IndexBinaryHash: a table of the first bits; a ball of radius r differs from the query in r of them at most."""

    def __init__(self, packed: np.ndarray, bits: int) -> None:
        import faiss

        self.bits, self.scan = bits, FaissScan(packed, bits)
        self.index: Any = faiss.IndexBinaryHash(-(-bits // 8) * 8, min(bits, KEY_BITS))
        self.index.add(np.ascontiguousarray(check_database(packed, bits)))

    def __len__(self) -> int:
        return len(self.scan)

    @property
    def bytes(self) -> int:
        return len(self) * (int(self.index.code_size) + 8) + 16 * int(self.index.hashtable_size())

    def within(self, query: np.ndarray, radius: int) -> Neighbours:
        """All at distance `radius` or less; by a scan where there are more keys to probe than codes."""
        probes = _set_flips(self.index, check_count(radius, "radius"))
        if probes > len(self):
            return self.scan.within(query, radius)
        return _within(self.index, check_query(query, self.bits), radius, None, probes)

    def top(self, query: np.ndarray, n: int) -> Neighbours:
        """The `n` nearest: wider and wider balls, until one holds them."""
        return grown(self, query, n)


class FaissMulti:
    """IndexBinaryMultiHash: multi-index hashing."""

    def __init__(self, packed: np.ndarray, bits: int) -> None:
        import faiss

        self.bits, self.scan = bits, FaissScan(packed, bits)
        self.tables = substring_count(bits, len(packed))
        self.index: Any = faiss.IndexBinaryMultiHash(-(-bits // 8) * 8, self.tables, bits // self.tables)
        self.index.add(np.ascontiguousarray(check_database(packed, bits)))

    def __len__(self) -> int:
        return len(self.scan)

    @property
    def bytes(self) -> int:
        return self.scan.bytes + 8 * self.tables * len(self) + 16 * int(self.index.hashtable_size())

    def within(self, query: np.ndarray, radius: int) -> Neighbours:
        """All at distance `radius` or less; by a scan where there are more keys to probe than codes."""
        probes = self.tables * _set_flips(self.index, check_count(radius, "radius") // self.tables)
        if probes > len(self):
            return self.scan.within(query, radius)
        return _within(self.index, check_query(query, self.bits), radius, None, probes)

    def top(self, query: np.ndarray, n: int) -> Neighbours:
        """The `n` nearest: wider and wider balls, until one holds them."""
        return grown(self, query, n)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """What a search costs is told for one thread; and several that wait for busy cores are slower by far."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _set_flips(index: Any, distance: int) -> int:
    """Have all keys at so small a distance probed; return how many these are."""
    index.nflip = min(distance, int(index.b))
    return sum(comb(int(index.b), flipped) for flipped in range(index.nflip + 1))


def _within(index: Any, code: np.ndarray, radius: int, touched: int | None, probed: int = 0) -> Neighbours:
    import faiss

    stats: Any = getattr(faiss.cvar, "indexBinaryHash_stats")  # noqa: B009 (unknown to faiss's own types)
    stats.reset()
    with _one_thread():
        _, distances, rows = index.range_search(code, radius + 1)  # faiss means: less than
    compared = stats.ndis if touched is None else touched
    return ranked(rows, distances, touched=int(compared), probed=probed)
