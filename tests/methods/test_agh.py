"""AGH: the anchor graph's weights, its eigenvectors, and the second layer's thresholds."""

import sys

import numpy as np
import pytest

from benchmark import Split, UsageError, get_method
from benchmark.shallow.projections import squared_distances

AGH = get_method("agh")
agh = sys.modules[AGH.__module__]


def features(items=300, dimension=5, seed=0):
    return np.random.default_rng(seed).standard_normal((items, dimension)).astype(np.float32)


def graph(nearest=3, anchors=30):
    rows = features()
    distances = squared_distances(rows, agh.k_means(rows, anchors, np.random.default_rng(0)))
    return distances, agh.anchor_weights(distances, nearest, agh.mean_width(distances, nearest))


def laplacian(weights):
    return np.eye(len(weights)) - weights @ np.diag(1 / weights.sum(axis=0)) @ weights.T


def test_each_row_is_tied_to_its_nearest_anchors_with_weights_that_sum_to_one():
    distances, weights = graph()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    sigma = np.mean([np.sqrt(np.sort(row)[2]) for row in distances])
    for row, got in zip(distances, weights, strict=True):
        expected = np.zeros(len(row))
        for j in np.argsort(row)[:3]:
            expected[j] = np.exp(-row[j] / sigma**2)
        np.testing.assert_allclose(got, expected / expected.sum(), atol=1e-5)


def test_columns_are_eigenvectors_of_the_graph_orthogonal_to_the_constant():
    _, weights = graph()
    vectors = weights @ agh.smooth_vectors(weights, 8)
    np.testing.assert_allclose(vectors.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors / len(vectors), np.eye(8), atol=1e-8)
    image = laplacian(weights) @ vectors
    eigenvalues = (image * vectors).sum(axis=0) / len(vectors)
    np.testing.assert_allclose(image, vectors * eigenvalues, atol=1e-8)
    assert np.all(np.diff(eigenvalues) >= -1e-9)  # smoothest first


def test_second_thresholds_are_the_best_that_keep_the_sum_zero():
    _, weights = graph()
    values = weights @ agh.smooth_vectors(weights, 4)
    above, below = agh.second_thresholds(weights, values)
    for k in range(4):
        v, n_above = values[:, k], (values[:, k] > 0).sum()
        n_below = len(v) - n_above

        def cost(shift, v=v, k=k, ratio=n_above / n_below):
            # Moving b+ by `shift` and b- by `ratio` times it leaves the sum of y as it is.
            y = np.where(v > 0, v - above[k] - shift, below[k] + ratio * shift - v)
            assert abs(y.sum()) < 1e-6
            return y @ laplacian(weights) @ y

        assert cost(0) < min(cost(0.01), cost(-0.01))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bits", [1, 7, 16])
def test_codes_of_either_depth(layers, bits):
    split = Split(features=features())
    codes = AGH(bits, layers=layers, anchors=50).fit(split).encode(split)
    assert codes.shape == (300, bits)
    assert set(np.unique(codes)) == {-1, 1}


def test_too_few_anchors_and_unknown_depths_are_named():
    with pytest.raises(UsageError, match="more anchors"):
        AGH(32, anchors=16).fit(Split(features=features()))
    with pytest.raises(UsageError, match="expected 1 or 2"):
        AGH(32, layers=3)
