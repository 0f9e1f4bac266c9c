"""PCAH: signs of the principal components; what ITQ is before its rotation (Wang et al., PAMI 2012)."""

from typing import Self

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import encode_rows, principal_directions
from benchmark.shallow.scaling import FeatureScaling


@register_method("pcah", title="PCAH", family="unsupervised", paper="Wang et al., PAMI 2012")
class PCAH:
    """code = sign((x - mean) P), P the top principal directions; nothing random, `seed` has no effect.

    Parameters
    ----------
    scaling : "center-l2", "center", "l2" or "none"
        How features are scaled first; PCA then removes the mean of the scaled rows.
    """

    def __init__(self, bits: int, seed: int = 0, *, scaling: str = "center-l2") -> None:
        self.bits, self.seed, self.scaling = bits, seed, scaling
        self.scaler: FeatureScaling | None = None

    @staticmethod
    def unsupported(train: Split, bits: int) -> str | None:
        dimension = bits if train.features is None else train.features.shape[1]
        if bits <= dimension:
            return None
        return f"{bits} bits need {bits} principal directions, but the features have {dimension} columns"

    def fit(self, train: Split) -> Self:
        scaler = FeatureScaling.fit(train.features, self.scaling)
        mean, self.directions = principal_directions(scaler.transform(train.features), self.bits)
        self.offset = mean @ self.directions
        self.scaler = scaler
        return self

    def encode(self, split: Split) -> np.ndarray:
        return encode_rows(split, self.scaler, lambda rows: rows @ self.directions - self.offset)
