"""LSH: agreement is the angle, length is nothing, the seed is everything."""

import numpy as np
import pytest

from benchmark import Split, get_method

LSH = get_method("lsh")


def test_agreement_is_one_minus_the_angle_over_pi():
    rows = np.random.default_rng(0).standard_normal((12, 5)) + 0.5
    codes = LSH(20_000, scaling="none").fit(Split(features=rows)).encode(Split(features=rows))
    agreement = (codes[:, None, :] == codes[None, :, :]).mean(axis=2)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    angle = np.arccos(np.clip(unit @ unit.T, -1, 1))
    np.testing.assert_allclose(agreement, 1 - angle / np.pi, atol=0.02)


def test_positive_scale_changes_no_code():
    rows = np.random.default_rng(0).standard_normal((40, 8))
    method = LSH(64, scaling="l2").fit(Split(features=rows))
    scales = np.random.default_rng(1).uniform(0.1, 10, (40, 1))
    np.testing.assert_array_equal(method.encode(Split(features=rows * scales)), method.encode(Split(features=rows)))


def test_plain_loop_over_hyperplanes():
    rows = np.random.default_rng(0).random((20, 6))
    method = LSH(16, seed=3).fit(Split(features=rows))
    normals = np.random.default_rng(3).standard_normal((6, 16))
    codes = method.encode(Split(features=rows))
    for i, row in enumerate(rows):
        for k in range(16):
            assert codes[i, k] == (1 if (row - rows.mean(axis=0)) @ normals[:, k] > 0 else -1)


def test_the_seed_decides_and_the_training_rows_give_only_the_mean():
    train, query = np.random.default_rng(0).random((2, 30, 6))
    codes = [LSH(32, seed=s).fit(Split(features=train)).encode(Split(features=query)) for s in (1, 1, 2)]
    np.testing.assert_array_equal(codes[0], codes[1])
    assert (codes[0] != codes[2]).any()


def test_retrieval_equals_faiss_within_seed_noise():
    faiss = pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((10, 32))
    rows = (centres[np.arange(600) % 10] + 1.5 * rng.standard_normal((600, 32))).astype(np.float32)
    same = np.arange(600)[:, None] % 10 == np.arange(600) % 10

    def ours(seed):
        return LSH(64, seed, scaling="none").fit(Split(features=rows)).encode(Split(features=rows))

    def theirs(seed):
        transform = faiss.RandomRotationMatrix(32, 64)
        transform.init(seed)
        return np.where(transform.apply(rows) > 0, 1, -1)

    def gap(codes):  # how much nearer same-class rows are, in bits
        distance = (64 - codes.astype(int) @ codes.T.astype(int)) / 2
        return distance[~same].mean() - distance[same].mean()

    us, them = [[gap(make(seed)) for seed in range(8)] for make in (ours, theirs)]
    assert abs(np.mean(us) - np.mean(them)) < 2 * (np.std(us) + np.std(them)) / np.sqrt(8) + 0.1
