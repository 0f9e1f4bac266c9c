"""What a shallow hashing method is: something learned from scaled rows, and a projection whose signs are the codes.

Subclass `ProjectionMethod` to add one: it supplies `learn(rows, train)` and `project(rows)`, and it is done.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from benchmark.contracts import Input, MethodInfo, Split, parameter
from benchmark.errors import InvalidCodes
from benchmark.parameters import with_constructor
from benchmark.shallow.projections import encode_rows
from benchmark.shallow.scaling import FeatureScaling, Mode


@with_constructor
class ProjectionMethod:
    """Scales features, learns from the training rows, and encodes by the signs of a projection, chunk by chunk."""

    info: ClassVar[MethodInfo]
    input: ClassVar[Input] = "features"
    bits: int
    seed: int

    scaling: Mode = parameter(
        "center-l2",
        search=["center-l2", "center"],
        doc="how features are scaled first; uncentred, features after a ReLU give crowded codes",
    )

    def learn(self, rows: np.ndarray, train: Split) -> None:
        """Learn from the scaled training rows, (n, d) float32, and from what `train` says of them."""
        raise NotImplementedError

    def project(self, rows: np.ndarray) -> np.ndarray:
        """Scaled rows to (n, bits) numbers; bit k is +1 where column k is positive. A row's depend on it alone."""
        raise NotImplementedError

    def fit(self, train: Split) -> Self:
        self.scaler = FeatureScaling.fit(train.features, self.scaling)
        self.learn(self.scaler.transform(train.features), train)
        return self

    def encode(self, split: Split) -> np.ndarray:
        return encode_rows(split, self.scaler, self._projected)

    def _projected(self, rows: np.ndarray) -> np.ndarray:
        values = self.project(rows)
        if np.shape(values) != (len(rows), self.bits):
            given = "None" if values is None else f"an array of shape {np.shape(values)}"
            raise InvalidCodes(f"{self.info.name}: project returned {given}, expected {(len(rows), self.bits)}")
        return values
