"""Rows by their nearest anchors: k-means to find anchors, and weights that tie a row to some of them."""

from __future__ import annotations

import numpy as np

from benchmark.shallow.projections import sample, squared_distances


def k_means(rows: np.ndarray, count: int, rng: np.random.Generator, rounds: int = 10) -> np.ndarray:
    """Centres of Lloyd's k-means from random rows; a centre without rows is left out."""
    centres = rows[sample(count, len(rows), rng)]
    for _ in range(rounds):
        nearest = squared_distances(rows, centres).argmin(axis=1)
        order = np.argsort(nearest, kind="stable")
        _, starts, sizes = np.unique(nearest[order], return_index=True, return_counts=True)
        centres = np.add.reduceat(rows[order], starts, axis=0) / sizes[:, None].astype(rows.dtype)
    return centres


def anchor_weights(distances: np.ndarray, nearest: int, width: float) -> np.ndarray:
    """Z: exp(-d^2 / sigma^2) to the s nearest anchors, each row summing to 1."""
    nearest = min(nearest, distances.shape[1])
    chosen = np.argpartition(distances, nearest - 1, axis=1)[:, :nearest]
    close = np.take_along_axis(distances, chosen, axis=1).astype(np.float64)
    close = np.exp(-(close - close.min(axis=1, keepdims=True)) / width)  # the same ratios, and never all zero
    weights = np.zeros(distances.shape)
    np.put_along_axis(weights, chosen, close / close.sum(axis=1, keepdims=True), axis=1)
    return weights
