"""The rows of a split as network inputs: given features, or images decoded when asked for."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from benchmark.deep.lazy import torch
from benchmark.scaling import FeatureScaling


class Rows(Protocol):
    """Network inputs by row number."""

    def __len__(self) -> int: ...

    def take(self, items: np.ndarray, random: np.random.Generator | None = None) -> torch.Tensor:
        """The inputs of these rows; augmented where a random generator is given."""
        ...


class FeatureRows:
    """Features, scaled on the way out where a scaling is given."""

    def __init__(self, features: np.ndarray, scaling: FeatureScaling | None) -> None:
        self._features, self._scaling = features, scaling

    def __len__(self) -> int:
        return len(self._features)

    def take(self, items: np.ndarray, random: np.random.Generator | None = None) -> torch.Tensor:
        features = self._features[items]
        if self._scaling is not None:
            features = self._scaling.transform(features)
        return torch.from_numpy(np.asarray(features, np.float32))
