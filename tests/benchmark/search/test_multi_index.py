"""Multi-index hashing is exact, whatever the number of substrings, and touches few codes where codes are spread."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmark.search import ExactScan, MultiIndex
from benchmark.search.multi_index import LONGEST_SUBSTRING, substring_count
from tests.benchmark.search.conftest import pairs, searches


@given(searches(), st.integers(0, 140), st.integers(0, 70), st.data())
def test_multi_index_hashing_equals_the_scan(search, radius, n, data):
    queries, database, bits = search
    m = data.draw(st.integers(-(-bits // LONGEST_SUBSTRING), min(bits, 8)))
    index, scan = MultiIndex(database, bits, m), ExactScan(database, bits)
    for query in queries:
        assert pairs(index.within(query, radius)) == pairs(scan.within(query, radius))
        assert pairs(index.top(query, n)) == pairs(scan.top(query, n))


def test_without_falling_back_to_a_scan_it_is_exact_and_touches_a_part_only():
    random = np.random.default_rng(1)
    codes = random.integers(0, 256, (30_000, 8), np.uint8)
    index, scan = MultiIndex(codes, 64), ExactScan(codes, 64)
    for query in codes[:20] ^ np.uint8(1):  # eight bits away
        found = index.within(query, 9)
        assert pairs(found) == pairs(scan.within(query, 9))
        assert found.probed > 0
        assert found.touched < len(codes) / 10
        assert pairs(index.top(query, 1)) == pairs(scan.top(query, 1))


def test_substrings_have_about_as_many_bits_as_rows_need():
    assert [substring_count(64, rows) for rows in (0, 1, 2**16, 10**6, 10**9)] == [64, 64, 4, 3, 2]
    assert substring_count(512, 2**60) == 512 // LONGEST_SUBSTRING
    assert substring_count(16, 10**6) == 1
    assert MultiIndex(np.zeros((50, 8), np.uint8), 64).bytes > 50 * 8
