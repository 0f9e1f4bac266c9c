"""ITQ: the loss falls with each half-step, the rotation stays one, and constants do not matter."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark import Split, UsageError, get_method
from benchmark.shallow import signs

ITQ = get_method("itq")
itq = sys.modules[ITQ.__module__]


def features(items=300, dimension=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((items, dimension)) @ rng.standard_normal((dimension, dimension)) + 3


def loss(components, codes, rotation):
    return ((codes - components @ rotation) ** 2).sum()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_each_half_step_lowers_the_loss(seed, bits):
    components = np.random.default_rng(seed).standard_normal((40, bits))
    rotation = itq.random_rotation(bits, seed)
    codes = signs(components @ rotation)
    for _ in range(10):
        before = loss(components, codes, rotation)
        rotation = itq.best_rotation(components, codes)
        between = loss(components, codes, rotation)
        codes = signs(components @ rotation)
        assert before + 1e-9 >= between >= loss(components, codes, rotation) - 1e-9
        np.testing.assert_allclose(rotation.T @ rotation, np.eye(bits), atol=1e-10)


def test_best_rotation_beats_every_other_in_the_plane():
    components = np.random.default_rng(0).standard_normal((50, 2))
    codes = signs(components)
    best = loss(components, codes, itq.best_rotation(components, codes))
    for angle in np.linspace(0, 2 * np.pi, 500):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert best <= loss(components, codes, turn) + 1e-9
        assert best <= loss(components, codes, turn * [1, -1]) + 1e-9


def plain_itq(rows, bits, seed, iterations):
    """The paper's loop, with a full singular value decomposition and nothing clever."""
    _, _, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    directions = right[:bits].T
    for k in range(bits):
        if directions[np.abs(directions[:, k]).argmax(), k] < 0:
            directions[:, k] *= -1
    components = (rows - rows.mean(axis=0)) @ directions
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((bits, bits)))
    for _ in range(iterations):
        codes = np.where(components @ rotation > 0, 1, -1)
        left, _, right = np.linalg.svd(codes.T @ components)
        rotation = right.T @ left.T
    return np.where(components @ rotation > 0, 1, -1)


def test_codes_equal_the_plain_loop():
    rows = features()
    codes = ITQ(8, seed=5, scaling="none").fit(Split(features=rows)).encode(Split(features=rows))
    assert (codes == plain_itq(rows, 8, 5, 50)).mean() > 0.999


def test_training_rows_are_encoded_as_the_last_codes_and_a_constant_changes_nothing():
    rows = features()
    shift = np.random.default_rng(1).uniform(-2, 2, 12)
    plain = ITQ(8, scaling="center-l2").fit(Split(features=rows)).encode(Split(features=rows))
    moved = ITQ(8, scaling="center-l2").fit(Split(features=rows + shift)).encode(Split(features=rows + shift))
    assert (plain == moved).mean() > 0.999


def test_queries_are_centred_with_the_training_mean():
    rows = features()
    method = ITQ(8).fit(Split(features=rows))
    one_by_one = np.concatenate([method.encode(Split(features=row[None])) for row in rows])
    np.testing.assert_array_equal(one_by_one, method.encode(Split(features=rows)))


def test_more_bits_than_columns_are_declined():
    split = Split(features=features(dimension=4))
    assert ITQ.unsupported(split, 4) is None
    assert "4 columns" in ITQ.unsupported(split, 5)
    with pytest.raises(UsageError, match="use fewer bits"):
        ITQ(5).fit(split)
