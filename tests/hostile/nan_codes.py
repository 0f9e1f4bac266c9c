"""Returns NaN."""

from __future__ import annotations

import numpy as np

from benchmark import Split, register_method


@register_method("nan-codes", title="nan-codes", family="control")
class Hostile:
    def __init__(self, bits: int, seed: int = 0) -> None:
        self.bits, self.seed = bits, seed

    def fit(self, train: Split) -> Hostile:
        return self

    def encode(self, split: Split) -> np.ndarray:
        return np.full((len(split), self.bits), np.nan)
