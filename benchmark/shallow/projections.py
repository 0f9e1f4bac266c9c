"""What the shallow methods share: encoding by chunks, codes from signs, distances.

Nothing here knows a method; objectives and their minimisation live in the plugin files of `methods/`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmark.contracts import Split
from benchmark.shallow.scaling import FeatureScaling


def encode_rows(split: Split, scaler: FeatureScaling, project: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Codes of a split: +1 where `project(scaled rows)` is positive; memory does not grow with the split."""
    blocks = [signs(project(rows)) for rows in scaler.chunks(split.features)]
    return np.concatenate(blocks) if blocks else signs(project(np.empty((0, scaler.dimension), np.float32)))


def too_few_columns(train: Split, bits: int) -> str | None:
    """For `unsupported` of methods that take a principal direction for each bit."""
    if train.features is None or bits <= train.features.shape[1]:
        return None
    columns = train.features.shape[1]
    return f"{bits} bits need {bits} principal directions, but the features have {columns} columns: use fewer bits"


def signs(values: np.ndarray) -> np.ndarray:
    """+1 where positive, else -1, as int8: unlike `np.sign`, a zero never leaves Hamming space."""
    return np.where(values > 0, 1, -1).astype(np.int8)


def squared_distances(rows: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """||x - a||^2 of each row to each anchor, (n, m)."""
    out = rows @ anchors.T
    out *= -2
    out += np.einsum("ij,ij->i", rows, rows)[:, None]
    out += np.einsum("ij,ij->i", anchors, anchors)
    return np.maximum(out, 0, out=out)


def gaussian(distances: np.ndarray, width: float) -> np.ndarray:
    """exp(-d^2 / width) of squared distances, computed in their place."""
    distances *= -1 / width
    return np.exp(distances, out=distances)


def sample(count: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """`count` of `size` positions in random order, or all of them where there are fewer."""
    return rng.permutation(size)[:count]
