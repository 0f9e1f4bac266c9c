"""The retrieved items are the nearest ones, ties by one order; images only of the very same data set."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmark.report.gallery import nearest


@given(st.integers(0, 2**32 - 1))
def test_nearest_is_a_full_sort_by_distance_then_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    database = rng.integers(0, 8, (30, 2)).astype(np.uint8)
    query, order = database[rng.integers(30)], rng.permutation(30)
    distance = [sum(bin(int(a) ^ int(b)).count("1") for a, b in zip(query, row, strict=True)) for row in database]
    expected = sorted(range(30), key=lambda item: (distance[item], order[item]))[:10]
    assert nearest(query, database, order).tolist() == expected


def test_fewer_items_than_places() -> None:
    assert len(nearest(np.zeros(1, np.uint8), np.zeros((3, 1), np.uint8), np.arange(3))) == 3
