"""Deletes the arrays it was given."""

from __future__ import annotations

import numpy as np

from benchmark import Split, register_method


@register_method("deletes-input", title="deletes-input", family="control")
class Hostile:
    def __init__(self, bits: int, seed: int = 0) -> None:
        self.bits, self.seed = bits, seed

    def fit(self, train: Split) -> Hostile:
        object.__setattr__(train, "features", None)
        return self

    def encode(self, split: Split) -> np.ndarray:
        codes = np.where(split.features[:, [0] * self.bits] >= 0, 1, -1).astype(np.int8)  # type: ignore[index]
        object.__setattr__(split, "features", None)
        return codes
