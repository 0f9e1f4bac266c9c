"""A table gives exactly the rows that have a key; substrings and flips are those written out by hand."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.evaluation.codes import pack
from benchmark.search.key_table import KeyTable, flips, substring_keys


@given(st.integers(1, 64), st.integers(0, 40), st.integers(0, 2**32))
def test_a_table_finds_the_rows_that_have_one_of_the_keys(bits, rows, seed):
    random = np.random.default_rng(seed)
    pool = np.unique(random.integers(0, 2**bits, 6, dtype=np.uint64))  # few, so that rows share keys
    keys = random.choice(pool, rows)
    wanted = pool[::2]
    found = KeyTable(keys, bits).find(wanted)
    assert sorted(found.tolist()) == [row for row, key in enumerate(keys) if key in wanted]


@given(st.data())
def test_a_substring_is_the_number_that_its_bits_spell(data):
    bits = data.draw(st.integers(1, 128))
    start = data.draw(st.integers(0, bits - 1))
    stop = data.draw(st.integers(start + 1, min(bits, start + 64)))
    ones = np.random.default_rng(bits).integers(0, 2, (3, bits))
    spelt = [int("".join(map(str, row[start:stop])), 2) for row in ones]
    assert substring_keys(pack(ones), start, stop).tolist() == spelt


@pytest.mark.parametrize(("bits", "distance"), [(1, 0), (1, 1), (5, 2), (9, 9), (64, 2), (4, 5)])
def test_flips_are_all_numbers_with_so_many_ones(bits, distance):
    expected = {sum(1 << place for place in places) for places in combinations(range(bits), distance)}
    found = flips(bits, distance).tolist()
    assert len(found) == len(expected)
    assert set(found) == expected


def test_long_keys_are_told_apart_within_a_bucket_and_short_ones_need_not_be_kept():
    assert KeyTable(np.arange(8, dtype=np.uint64), 3).keys is None
    table = KeyTable(np.array([5, 2**63], np.uint64), 64)
    assert table.find(np.array([5], np.uint64)).tolist() == [0]
    assert table.find(np.arange(6, 400, dtype=np.uint64)).tolist() == []
