"""faiss gives what we give: the same rows at the same distances, ties in the same order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.search import KINDS, ExactScan, open_index
from tests.benchmark.search.conftest import pairs, searches

faiss = pytest.importorskip("faiss", reason="faiss is optional")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=50)
@given(searches(), st.integers(0, 70), st.integers(0, 70))
def test_faiss_equals_the_scan(kind, search, radius, n):
    queries, database, bits = search
    index, scan = open_index(database, bits, kind, faiss=True), ExactScan(database, bits)
    assert len(index) == len(scan)
    for query in queries:
        assert pairs(index.within(query, radius)) == pairs(scan.within(query, radius))
        assert pairs(index.top(query, n)) == pairs(scan.top(query, n))


@pytest.mark.parametrize("kind", ["lookup", "multi"])
def test_faiss_probes_its_tables_where_there_are_rows_enough(kind):
    codes = np.random.default_rng(1).integers(0, 256, (30_000, 8), np.uint8)
    index, scan = open_index(codes, 64, kind, faiss=True), ExactScan(codes, 64)
    for query in codes[:20] ^ np.uint8(3) * (np.arange(8) == 0).astype(np.uint8):  # two bits away
        found = index.within(query, 3)
        assert pairs(found) == pairs(scan.within(query, 3))
        assert found.probed > 0
        assert found.touched < len(codes) / 10
    assert index.bytes > 8 * len(codes)


class Spy:
    """An index of faiss that remembers by how many threads it was searched."""

    def __init__(self, index):
        self.index, self.threads = index, []

    def __getattr__(self, name):
        if name in ("search", "range_search"):
            self.threads.append(faiss.omp_get_max_threads())
        return getattr(self.index, name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_takes_one_thread_and_leaves_the_setting_as_it_was(kind):
    codes = np.random.default_rng(1).integers(0, 256, (20_000, 8), np.uint8)
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(3)
        index = open_index(codes, 64, kind, faiss=True)
        index.index = spy = Spy(index.index)
        index.within(codes[0], 2)
        index.top(codes[0], 1)
        assert faiss.omp_get_max_threads() == 3
        assert set(spy.threads) == {1}
    finally:
        faiss.omp_set_num_threads(before)
