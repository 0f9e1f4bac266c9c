"""SH: which waves are chosen, in which order, and where their bits switch."""

import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark import Split, get_method

SH = get_method("sh")
sh = sys.modules[SH.__module__]


def plain_waves(ranges, bits):
    """Every wave any direction could need, sorted by its eigenvalue."""
    waves = [(k * np.pi / r, i, k) for i, r in enumerate(ranges) for k in range(1, bits + 1)]
    return [omega for omega, _, _ in sorted(waves)[:bits]]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=6), st.integers(1, 20))
def test_the_chosen_waves_are_the_smoothest_in_order(ranges, bits):
    ranges = np.array(ranges)
    directions, waves = sh.smoothest_waves(ranges, bits)
    omega = waves * np.pi / ranges[directions]
    assert len(omega) == bits
    assert np.all(np.diff(omega) >= 0)
    np.testing.assert_allclose(omega, plain_waves(ranges, bits))
    assert len(set(zip(directions, waves, strict=True))) == bits


def test_a_two_to_one_rectangle_has_the_long_wave_first_then_a_tie():
    directions, waves = sh.smoothest_waves(np.array([2.0, 1.0]), 3)
    pairs = list(zip(directions, waves, strict=True))
    assert pairs[0] == (0, 1)
    assert set(pairs[1:]) == {(0, 2), (1, 1)}


def box(items=4000):
    return np.random.default_rng(0).uniform(-0.5, 0.5, (items, 2)) * [2, 1] + 7


def test_the_first_bit_of_a_direction_splits_its_range_in_the_middle():
    rows = box()
    rows[0], rows[1] = [6, 6.5], [8, 7.5]  # two corners: the box is known
    codes = SH(3, scaling="none").fit(Split(features=rows)).encode(Split(features=rows))
    clear = np.abs(rows[:, 0] - 7) > 0.05
    side = np.where(rows[:, 0] > 7, 1, -1)
    agreement = (codes[clear, 0] == side[clear]).mean()
    assert max(agreement, 1 - agreement) > 0.98  # the principal direction is the long side, up to its sign


def test_codes_equal_the_plain_loop():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((60, 4)) * [4, 3, 2, 1]
    codes = SH(6, scaling="none").fit(Split(features=rows)).encode(Split(features=rows))
    _, vectors = np.linalg.eigh(np.cov(rows.T))
    waves = []
    for i in range(4):
        direction = vectors[:, 3 - i] * np.sign(vectors[np.abs(vectors[:, 3 - i]).argmax(), 3 - i])
        v = rows @ direction
        for k in range(1, 7):
            phase = k * np.pi * (v - v.min()) / (v.max() - v.min())
            waves.append((k / (v.max() - v.min()), np.where(np.cos(phase) > 0, 1, -1)))
    waves.sort(key=lambda wave: wave[0])
    expected = np.stack([bit for _, bit in waves[:6]], axis=1)
    assert (codes == expected).mean() > 0.99  # a row on a node of a wave may fall on either side


def test_more_bits_than_columns_and_flat_data_still_give_codes():
    rows = box(50)
    assert SH(16).fit(Split(features=rows)).encode(Split(features=rows)).shape == (50, 16)
    flat = np.ones((20, 3))
    assert set(np.unique(SH(8).fit(Split(features=flat)).encode(Split(features=flat)))) <= {-1, 1}


def test_rows_outside_the_box_have_codes():
    method = SH(4).fit(Split(features=box()))
    assert set(np.unique(method.encode(Split(features=box() * 50)))) <= {-1, 1}
