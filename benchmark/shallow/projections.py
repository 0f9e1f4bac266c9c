"""What the shallow methods share: encoding by chunks, codes from signs, principal directions, distances.

Nothing here knows a method; objectives and their minimisation live in the plugin files of `methods/`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmark.contracts import Split
from benchmark.errors import UsageError
from benchmark.shallow.scaling import FeatureScaling

EXACT_DIMENSION = 2048  # above it a d x d eigenproblem costs more than a block Krylov space that is as good


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


def principal_directions(rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(mean, directions): the `count` directions of most variance as columns, falling, their signs fixed."""
    from scipy import linalg

    dimension = rows.shape[1]
    if count > dimension:
        raise UsageError(f"{count} principal directions wanted, but features have {dimension} columns: use fewer bits")
    mean = rows.mean(axis=0, dtype=np.float64)
    if dimension <= EXACT_DIMENSION:
        basis = np.eye(dimension)
        covariance = (rows.T @ rows).astype(np.float64) / len(rows) - np.outer(mean, mean)
    else:
        basis = _krylov_basis(rows, mean, count)
        projected = rows @ basis.astype(np.float32) - (mean @ basis).astype(np.float32)
        covariance = (projected.T @ projected).astype(np.float64) / len(rows)
    size = len(covariance)
    _, vectors = linalg.eigh(covariance, subset_by_index=[size - count, size - 1])
    return mean, fix_signs(basis @ vectors[:, ::-1])


def _krylov_basis(rows: np.ndarray, mean: np.ndarray, count: int, depth: int = 8) -> np.ndarray:
    """Basis of span{G, CG, .., C^depth G}, C the covariance (Musco & Musco, NeurIPS 2015, alg. 2).

    G is a fixed Gaussian block: the directions are a function of the data alone.
    """
    block = np.random.default_rng(0).standard_normal((rows.shape[1], count + 16))
    blocks = [np.linalg.qr(block)[0]]
    for _ in range(depth):
        image = rows @ blocks[-1].astype(np.float32) - (mean @ blocks[-1]).astype(np.float32)
        nxt = (rows.T @ image).astype(np.float64) - np.outer(mean, image.sum(axis=0, dtype=np.float64))
        blocks.append(np.linalg.qr(nxt)[0])
    width = min(rows.shape[1], (depth + 1) * (count + 16))
    return np.linalg.qr(np.hstack(blocks)[:, -width:])[0]


def fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Columns turned so that the entry of largest magnitude is positive: solvers leave the sign arbitrary."""
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1, 1)


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
