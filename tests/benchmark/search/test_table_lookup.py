"""Lookup within a radius finds what a scan finds, and probes the keys of the ball."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.errors import UsageError
from benchmark.search import ExactScan, TableLookup
from tests.benchmark.search.conftest import pairs, searches


@given(searches(longest=64), st.integers(0, 70), st.integers(0, 70))
def test_lookup_equals_the_scan(search, radius, n):
    queries, database, bits = search
    table, scan = TableLookup(database, bits), ExactScan(database, bits)
    for query in queries:
        assert pairs(table.within(query, radius)) == pairs(scan.within(query, radius))
        assert pairs(table.top(query, n)) == pairs(scan.top(query, n))


def test_the_keys_of_the_ball_are_probed_and_no_code_beyond_it_is_touched():
    codes = np.random.default_rng(0).integers(0, 256, (20_000, 8), np.uint8)
    lookup = TableLookup(codes, 64)
    found = lookup.within(codes[5], 2)
    assert found.probed == 1 + 64 + 64 * 63 // 2
    assert found.touched == len(found.rows) == len(ExactScan(codes, 64).within(codes[5], 2).rows)
    assert lookup.bytes >= 12 * len(codes)  # a key and a row number each


def test_long_codes_are_sent_elsewhere():
    with pytest.raises(UsageError, match="up to 64 bits, these have 65; use 'multi'"):
        TableLookup(np.zeros((1, 9), np.uint8), 65)
