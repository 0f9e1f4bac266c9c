"""The exact scan is what counting bit by bit and sorting by hand give."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmark.evaluation.codes import pack
from benchmark.search import ExactScan, top, within
from benchmark.search.exact import BLOCK
from tests.benchmark.search.conftest import pairs, searches, slow_ranking


@given(searches(), st.integers(0, 80))
def test_the_nearest_are_those_of_a_sort_with_ties_by_row_number(search, n):
    queries, database, bits = search
    for query, found in zip(queries, top(queries, database, n, bits), strict=True):
        assert pairs(found) == slow_ranking(query, database, bits)[:n]


@given(searches(), st.integers(0, 140))
def test_a_ball_holds_all_within_its_radius_and_no_other(search, radius):
    queries, database, bits = search
    for query, found in zip(queries, within(queries, database, radius, bits), strict=True):
        assert pairs(found) == [one for one in slow_ranking(query, database, bits) if one[0] <= radius]


def test_codes_of_512_bits_and_more_than_one_block():
    random = np.random.default_rng(0)
    codes = pack(random.integers(0, 2, (BLOCK + 100, 512)))
    opposite = ~codes[-1]
    scan = ExactScan(codes, 512)
    assert scan.distances(opposite)[-1] == 512
    assert pairs(scan.top(codes[BLOCK + 7], 1)) == [(0, BLOCK + 7)]
    assert scan.distances_of(opposite, np.array([3])) == scan.distances(opposite)[3]


def test_a_short_code_takes_no_more_memory_than_its_bytes():
    codes = np.zeros((1000, 2), np.uint8)
    assert ExactScan(codes, 16).bytes == 2000
    assert ExactScan(codes, 16).top(codes[0], 1).touched == 1000
