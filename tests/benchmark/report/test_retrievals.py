"""The retrieved items are the nearest ones, ties by one order; images only of the very same data set."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmark.report.retrievals import nearest


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


def test_images_of_a_data_set_at_hand_are_shown_by_its_revision():
    from types import SimpleNamespace

    from benchmark import Split, Splits
    from benchmark.report.retrievals import _images

    pixels = np.arange(4 * 8 * 8 * 3, dtype=np.uint8).reshape(4, 8, 8, 3)
    part = Split(images=pixels, labels=[0, 1, 0, 1])
    mine = SimpleNamespace(revision="r1", load=lambda: Splits(part, part, part))
    shown = SimpleNamespace(name="lists:mine", revision="r1")
    query, items, reason = _images(shown, [1], [0, 3], {"r1": mine})
    assert np.array_equal(query[1], pixels[1])
    assert sorted(items) == [0, 3]
    assert reason == ""
    assert "not at hand" in _images(shown, [1], [0], {})[2]
