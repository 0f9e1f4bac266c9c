"""LSH, random hyperplanes: the shortest method here, and the one to copy when you add your own."""

from typing import Self

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import encode_rows
from benchmark.shallow.scaling import FeatureScaling


@register_method("lsh", title="LSH", family="data-independent", paper="Gionis et al., VLDB 1999")
class LSH:
    """Bit = side of a random hyperplane: two rows agree in a bit with probability 1 - angle / pi.

    Parameters
    ----------
    scaling : "center-l2", "center", "l2" or "none"
        How features are scaled first. Uncentred, features after a ReLU give crowded codes.
    """

    def __init__(self, bits: int, seed: int = 0, *, scaling: str = "center-l2") -> None:
        self.bits, self.seed, self.scaling = bits, seed, scaling
        self.scaler: FeatureScaling | None = None

    def fit(self, train: Split) -> Self:
        self.scaler = FeatureScaling.fit(train.features, self.scaling)
        self.normals = np.random.default_rng(self.seed).standard_normal((self.scaler.dimension, self.bits))
        return self

    def encode(self, split: Split) -> np.ndarray:
        return encode_rows(split, self.scaler, lambda rows: rows @ self.normals)
