"""SpH: balls of half the rows, forces as the paper sums them, no harm from coinciding centres."""

import sys

import numpy as np

from benchmark import Split, get_method

SpH = get_method("sph")
sph = sys.modules[SpH.__module__]


def features(items=401, dimension=8):
    return np.random.default_rng(0).standard_normal((items, dimension)).astype(np.float32)


def test_every_ball_holds_half_of_the_training_rows():
    split = Split(features=features())
    codes = SpH(12).fit(split).encode(split)
    inside = (codes == 1).sum(axis=0)
    assert np.all(np.abs(inside - 200.5) <= 2)


def test_forces_equal_the_plain_sum_over_pairs():
    rng = np.random.default_rng(0)
    centres, inside = rng.standard_normal((5, 3)), rng.random((40, 5)) < 0.5
    expected = np.zeros((5, 3))
    for i in range(5):
        for j in range(5):
            both = sum(bool(row[i] and row[j]) for row in inside)
            expected[i] += 0.5 * (both - 10) / 10 * (centres[i] - centres[j]) / 5
    np.testing.assert_allclose(sph.repulsion(centres, sph.overlaps(inside)), expected, atol=1e-6)


def test_moving_the_centres_brings_the_overlaps_nearer_to_a_quarter():
    split = Split(features=features(2000, 16) + 3)

    def spread(rounds):
        codes = SpH(8, rounds=rounds, scaling="center").fit(split).encode(split)
        shared = sph.overlaps(codes == 1)[~np.eye(8, dtype=bool)]
        return np.abs(shared).mean()

    assert spread(100) < spread(0)
    assert spread(100) < 0.15


def test_equal_rows_make_coinciding_centres_and_still_give_codes():
    split = Split(features=np.ones((30, 4)))
    assert set(np.unique(SpH(8).fit(split).encode(split))) <= {-1, 1}
