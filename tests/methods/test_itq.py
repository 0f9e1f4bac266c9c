"""ITQ: the loss falls with each half-step, the rotation stays one, and constants do not matter."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark import Split, UsageError, get_method
from benchmark.shallow.projections import signs

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


class TestAgainstFaiss:
    """faiss multiplies U by V where ITQ's update needs U by V^T: its loss stays a random rotation's.

    So its subspace must be ours, its retrieval that of ours before the first update, and ours be better.
    """

    classes = np.arange(1000) % 20

    def rows(self):
        rng = np.random.default_rng(0)
        spread = 1.5 * rng.standard_normal((1000, 40))
        return (rng.standard_normal((20, 40))[self.classes] + spread).astype(np.float32)

    def faiss(self, rows, seed):
        library = pytest.importorskip("faiss")
        transform = library.ITQTransform(40, 16, True)  # centres and normalises as "center-l2" does
        transform.itq.seed = seed
        transform.train(rows)
        matrix = library.vector_to_array(transform.pca_then_itq.A).reshape(16, 40)
        return matrix, signs(transform.apply(rows))

    def ours(self, rows, seed, iterations):
        method = ITQ(16, seed, iterations=iterations).fit(Split(features=rows))
        return method.directions, method.encode(Split(features=rows))

    def gap(self, codes):
        """How many bits nearer rows of one class are than others."""
        distance = (16 - codes.astype(int) @ codes.T.astype(int)) / 2
        same = self.classes[:, None] == self.classes
        return distance[~same].mean() - distance[same].mean()

    def test_the_subspace_is_the_same(self):
        rows = self.rows()
        theirs, _ = self.faiss(rows, 0)
        ours, _ = self.ours(rows, 0, 50)
        np.testing.assert_allclose(np.linalg.svd(theirs @ ours)[1], 1, atol=1e-3)

    def test_retrieval_is_theirs_before_the_first_update_and_better_after(self):
        rows = self.rows()
        theirs = np.array([self.gap(self.faiss(rows, seed)[1]) for seed in range(5)])
        start = np.array([self.gap(self.ours(rows, seed, 0)[1]) for seed in range(5)])
        final = np.array([self.gap(self.ours(rows, seed, 50)[1]) for seed in range(5)])
        assert abs(theirs.mean() - start.mean()) < theirs.std() + start.std()
        assert final.min() > theirs.max()
