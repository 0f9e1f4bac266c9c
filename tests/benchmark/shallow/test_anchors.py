"""Anchors are where rows are, and a row is tied to the nearest of them."""

import numpy as np

from benchmark.shallow import anchor_weights, k_means, squared_distances


def features(items, dimension=5, seed=0):
    return np.random.default_rng(seed).standard_normal((items, dimension)).astype(np.float32)


def test_centres_are_means_of_the_rows_nearest_to_them_and_none_is_empty():
    rows = np.repeat(features(6), 10, axis=0) + 0.001 * features(60)
    centres = k_means(rows, 6, np.random.default_rng(0))
    nearest = squared_distances(rows, centres).argmin(axis=1)
    assert set(nearest) == set(range(len(centres)))
    for j in range(len(centres)):
        np.testing.assert_allclose(centres[j], rows[nearest == j].mean(axis=0), atol=1e-4)


def test_weights_fall_with_the_distance_and_sum_to_one():
    distances = squared_distances(features(20), features(7, seed=1))
    weights = anchor_weights(distances, 3, 2.5)
    for row, got in zip(distances, weights, strict=True):
        expected = [np.exp(-d / 2.5) if d <= np.sort(row)[2] else 0 for d in row]
        np.testing.assert_allclose(got, np.array(expected) / sum(expected), atol=1e-6)


def test_far_away_rows_have_weights_too():
    weights = anchor_weights(np.array([[1e9, 2e9, 3e9]]), 9, 1.0)  # exp(-1e9) is 0
    np.testing.assert_allclose(weights, [[1, 0, 0]])
