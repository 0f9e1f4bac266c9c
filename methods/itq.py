"""PCA-ITQ: rotate the principal components so that taking signs loses least (Gong & Lazebnik, CVPR 2011)."""

from typing import Self

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import encode_rows, principal_directions, signs
from benchmark.shallow.scaling import FeatureScaling


@register_method("itq", title="ITQ", family="unsupervised", paper="Gong & Lazebnik, CVPR 2011")
class ITQ:
    """Minimises ||B - V R||^2 over codes B and orthogonal R, V the top principal components.

    Parameters
    ----------
    iterations : int
        Alternations of codes and rotation; 50 in the paper and in the authors' ITQ.m.
    scaling : "center-l2", "center", "l2" or "none"
        How features are scaled first; PCA then removes the mean of the scaled rows.
    """

    search_space = {"iterations": [10, 50, 100]}

    def __init__(self, bits: int, seed: int = 0, *, iterations: int = 50, scaling: str = "center-l2") -> None:
        self.bits, self.seed, self.iterations, self.scaling = bits, seed, iterations, scaling
        self.scaler: FeatureScaling | None = None

    @staticmethod
    def unsupported(train: Split, bits: int) -> str | None:
        dimension = None if train.features is None else train.features.shape[1]
        if dimension is None or bits <= dimension:
            return None
        return f"{bits} bits need {bits} principal directions, but the features have {dimension} columns"

    def fit(self, train: Split) -> Self:
        scaler = FeatureScaling.fit(train.features, self.scaling)
        rows = scaler.transform(train.features)
        mean, directions = principal_directions(rows, self.bits)
        components = rows @ directions - mean @ directions
        rotation = random_rotation(self.bits, self.seed)
        for _ in range(self.iterations):
            rotation = best_rotation(components, signs(components @ rotation))
        self.directions, self.offset = directions @ rotation, mean @ directions @ rotation
        self.scaler = scaler
        return self

    def encode(self, split: Split) -> np.ndarray:
        return encode_rows(split, self.scaler, lambda rows: rows @ self.directions - self.offset)


def random_rotation(bits: int, seed: int) -> np.ndarray:
    """The orthogonal factor of a Gaussian matrix (where the paper starts)."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((bits, bits)))[0]


def best_rotation(components: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Orthogonal Procrustes: with B^T V = A S C^T, ||B - V R|| is least at R = C A^T."""
    left, _, right = np.linalg.svd(codes.T.astype(np.float64) @ components)
    return right.T @ left.T
