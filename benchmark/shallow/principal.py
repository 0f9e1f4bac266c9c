"""Principal directions: exact where the eigenproblem is small, by a block Krylov space where it is not."""

from __future__ import annotations

import numpy as np

from benchmark.errors import UsageError

EXACT_DIMENSION = 2048  # above it a d x d eigenproblem costs more than a block Krylov space that is as good


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
