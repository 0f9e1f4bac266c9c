"""KSH: the residue's exact identity, the gradient, the greedy choice, and learning from pairs alone."""

import sys
from functools import partial

import numpy as np
import pytest

from benchmark import PairSimilarity, Split, UsageError, get_method
from benchmark.shallow import accelerated_descent, signs

KSH = get_method("ksh")
ksh = sys.modules[KSH.__module__]


def classes(items=120, dimension=6, count=3, seed=0):
    rng = np.random.default_rng(seed)
    label = np.arange(items) % count
    return rng.standard_normal((count, dimension))[label] * 2 + rng.standard_normal((items, dimension)), label


def problem(items=80, anchors=12, seed=0):
    """A centred kernel and its pairs."""
    rows, label = classes(items, seed=seed)
    squares = ((rows[:, None] - rows[None, :anchors]) ** 2).sum(axis=2)
    kernel = np.exp(-squares / (2 * squares.mean()))
    return kernel - kernel.mean(axis=0), np.where(label[:, None] == label, 1.0, -1.0)


def smooth(kernel, residue, vector):
    """The cost of a vector, and its gradient."""
    cost, slope = ksh.relaxed(residue, kernel @ vector)
    return cost, kernel.T @ slope


def plain_objective(codes, pairs):
    """||Y Y^T / K - S||^2 entry by entry."""
    total = 0.0
    for i in range(len(codes)):
        for j in range(len(codes)):
            total += (codes[i] @ codes[j] / codes.shape[1] - pairs[i, j]) ** 2
    return total


def test_the_gradient_is_that_of_finite_differences():
    kernel, pairs = problem()
    rng = np.random.default_rng(1)
    vector = rng.standard_normal(12)
    _, gradient = smooth(kernel, 8 * pairs, vector)
    for k in range(12):
        step = np.zeros(12)
        step[k] = 1e-6
        rise = smooth(kernel, 8 * pairs, vector + step)[0] - smooth(kernel, 8 * pairs, vector - step)[0]
        assert gradient[k] == pytest.approx(rise / 2e-6, rel=1e-4, abs=1e-3)


def test_residue_norm_falls_by_the_exact_identity_bit_by_bit():
    kernel, pairs = problem()
    bits, items = 8, len(pairs)
    codes = signs(kernel @ ksh.greedy_projections(kernel, pairs, bits)).astype(float)
    residue = bits * pairs
    for y in codes.T:
        after = residue - np.outer(y, y)
        expected = (residue**2).sum() - 2 * y @ residue @ y + items**2
        assert (after**2).sum() == pytest.approx(expected)
        residue = after
    assert (residue**2).sum() / bits**2 == pytest.approx(plain_objective(codes, pairs))


@pytest.mark.parametrize("known", [1.0, 0.3])
def test_the_residue_multiplies_as_the_dense_matrix_would(known):
    _, pairs = problem()
    rng = np.random.default_rng(0)
    mask = np.triu(rng.random(pairs.shape) < known)
    pairs = pairs * (mask | mask.T)
    codes = signs(rng.standard_normal((len(pairs), 3)))
    residue, dense = ksh.Residue(pairs, 8), 8 * pairs
    for code in codes.T:
        residue.subtract(code)
        dense = dense - np.outer(code, code)
        vector = rng.standard_normal(len(pairs)).astype(np.float32)
        np.testing.assert_allclose(residue @ vector, dense @ vector, rtol=1e-3, atol=1e-2)
        assert ksh.explained(residue, code) == code @ dense @ code  # whole numbers, exactly


def test_every_kept_bit_explains_at_least_what_its_spectral_start_does():
    from scipy import linalg

    kernel, pairs = problem()
    bits = 6
    codes = signs(kernel @ ksh.greedy_projections(kernel, pairs, bits)).astype(float)
    residue = bits * pairs
    gram = kernel.T @ kernel
    gram += 1e-6 * np.trace(gram) / len(gram) * np.eye(len(gram))
    for y in codes.T:
        start = linalg.eigh(kernel.T @ residue @ kernel, gram)[1][:, -1]
        spectral = signs(kernel @ start).astype(float)
        assert y @ residue @ y >= spectral @ residue @ spectral - 1e-6
        residue = residue - np.outer(y, y)


def test_the_exact_score_of_a_code():
    _, pairs = problem()
    y = signs(np.random.default_rng(0).standard_normal(len(pairs)))
    expected = sum(int(y[i]) * pairs[i, j] * int(y[j]) for i in range(len(y)) for j in range(len(y)))
    assert ksh.explained(pairs.astype(np.float32), y) == expected


def test_the_relaxed_cost_is_the_plain_sum():
    kernel, pairs = problem(items=15, anchors=4)
    vector = np.random.default_rng(0).standard_normal(4)
    phi = [2 / (1 + np.exp(-sum(row * vector))) - 1 for row in kernel]
    expected = -sum(phi[i] * 4 * pairs[i, j] * phi[j] for i in range(15) for j in range(15))
    assert smooth(kernel, 4 * pairs, vector)[0] == pytest.approx(expected)


def test_refining_lowers_the_relaxed_cost():
    kernel, pairs = problem(seed=3)
    for seed in range(5):
        start = np.random.default_rng(seed).standard_normal(12)
        end = accelerated_descent(kernel, partial(ksh.relaxed, 8 * pairs), start, settled=ksh.SETTLED * len(kernel))
        assert smooth(kernel, 8 * pairs, end)[0] <= smooth(kernel, 8 * pairs, start)[0]


def test_classes_come_apart_out_of_sample():
    rows, label = classes(400)
    train, query = Split(features=rows[:300], labels=label[:300]), rows[300:]
    codes = KSH(16).fit(train).encode(Split(features=query)).astype(int)
    near = (codes @ codes.T)[label[300:, None] == label[300:]].mean()
    far = (codes @ codes.T)[label[300:, None] != label[300:]].mean()
    assert near > far + 8


def test_a_pair_list_is_enough_and_a_full_one_equals_labels():
    rows, label = classes(60)
    everything = np.stack(np.triu_indices(60), axis=1)
    similar = label[everything[:, 0]] == label[everything[:, 1]]
    by_pairs = Split(features=rows, similarity=PairSimilarity(60, everything, similar))
    by_labels = Split(features=rows, labels=label)
    codes = [KSH(8).fit(train).encode(by_labels) for train in (by_pairs, by_labels)]
    np.testing.assert_array_equal(*codes)


def test_unknown_pairs_ask_for_nothing():
    some = PairSimilarity(6, np.array([[0, 1], [1, 2]]), np.array([True, False]))
    items, pairs = ksh.learned_pairs(some, 10, np.random.default_rng(0))
    assert sorted(items) == [0, 1, 2]
    place = {item: position for position, item in enumerate(items)}
    expected = np.zeros((3, 3))
    expected[place[0], place[1]] = expected[place[1], place[0]] = 1
    expected[place[1], place[2]] = expected[place[2], place[1]] = -1
    np.testing.assert_array_equal(pairs, expected)


def test_without_pairs_it_says_what_is_missing():
    with pytest.raises(UsageError, match="no similarity"):
        KSH(8).fit(Split(features=np.ones((4, 3))))
    empty = PairSimilarity(4, np.empty((0, 2)), np.empty(0))
    with pytest.raises(UsageError, match="at least one pair"):
        KSH(8).fit(Split(features=np.ones((4, 3)), similarity=empty))


def test_few_rows_and_equal_rows_do_no_harm():
    rows = np.ones((5, 3))
    codes = KSH(8).fit(Split(features=rows, labels=np.array([0, 0, 1, 1, -1]))).encode(Split(features=rows))
    assert set(np.unique(codes)) <= {-1, 1}
