"""Feature scaling, in one place for every method: centre with the training mean, give rows a common length.

On request features are first turned onto the leading principal directions of the training rows: a layer that sees
more columns than there are rows learns the rows by heart. Features after a ReLU are non-negative, so without centring
all angles are below 90 degrees and codes crowd together; networks moreover need inputs of unit size, which
`gain="sqrt"` gives. What a method then does with the scaled rows does not live here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from benchmark.errors import UsageError
from benchmark.shallow.principal import principal_directions

Mode = Literal["center-l2", "center", "l2", "none"]
MODES: tuple[Mode, ...] = get_args(Mode)
CHUNK_BYTES = 1 << 25  # of float32 rows at a time: bounds the memory of transform, whatever the split's size
EVEN = 256  # the width at which gains "sqrt" and "even" are the same
ROUNDING = 1e-6  # a row this much shorter than the mean is the mean, up to float32 rounding


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """Scaling learned on the training rows: `FeatureScaling.fit(train.features).transform(query.features)`.

    Modes: "center" subtracts the training mean, "l2" divides each row by its length, "center-l2" does both in
    that order, "none" neither. A row of length zero stays zero. Then everything is multiplied by `gain`. Where there
    are `directions`, rows are turned onto them after centring.
    """

    mode: str
    gain: float
    mean: np.ndarray  # (d,) float32; zero where the mode does not centre
    directions: np.ndarray | None = None  # (d, width) float32, orthonormal columns

    @classmethod
    def fit(
        cls,
        train_features: np.ndarray | None,
        mode: str = "center-l2",
        gain: float | Literal["sqrt", "even"] = 1.0,
        components: int = 0,
    ) -> FeatureScaling:
        """Learn from the training rows. `gain="sqrt"` is the square root of the width of what comes out, for rows of
        unit numbers; "even" is EVEN over that root, for rows whose numbers sum up to as much at any width. `components`
        is the most principal directions to keep, 0 for all columns as they are."""
        if mode not in MODES:
            raise UsageError(f"scaling '{mode}' is unknown, expected one of {', '.join(MODES)}")
        features = _checked(train_features)
        if not len(features):
            raise UsageError("features: no training rows, expected at least one")
        dimension = features.shape[1]
        with np.errstate(invalid="ignore"):  # infinities of both signs: reported below, by row
            mean = features.mean(axis=0, dtype=np.float64)
        if not np.isfinite(mean).all():
            _reject_non_finite(features, 0)
        kept = mean if "center" in mode else np.zeros(dimension)
        directions = _directions(features, components) if 0 < components < dimension else None
        width = dimension if directions is None else directions.shape[1]
        gains = {"sqrt": np.sqrt(width), "even": EVEN / np.sqrt(width)}
        return cls(mode, float(gains.get(gain, gain)), kept.astype(np.float32), directions)  # type: ignore[arg-type]

    @property
    def dimension(self) -> int:
        """Columns of what is scaled."""
        return len(self.mean)

    @property
    def width(self) -> int:
        """Columns of what comes out."""
        return self.dimension if self.directions is None else self.directions.shape[1]

    def transform(self, features: np.ndarray | None) -> np.ndarray:
        """The scaled rows, (n, d) float32, in a new array."""
        out = np.empty((len(_checked(features)), self.width), np.float32)
        start = 0
        for rows in self.chunks(features):
            out[start : start + len(rows)] = rows
            start += len(rows)
        return out

    def chunks(self, features: np.ndarray | None) -> Iterator[np.ndarray]:
        """The scaled rows in order, a bounded number at a time."""
        features = _checked(features)
        if features.shape[1] != self.dimension:
            raise UsageError(f"features: {features.shape[1]} columns, expected the training set's {self.dimension}")
        size = max(1, CHUNK_BYTES // (4 * self.dimension))
        for start in range(0, len(features), size):
            rows = np.array(features[start : start + size], dtype=np.float32)  # a copy: input is never modified
            _reject_non_finite(rows, start)
            yield self._scaled(rows)

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        if "center" in self.mode:
            rows -= self.mean
        if self.directions is not None:
            rows = rows @ self.directions
        factor = np.full((len(rows), 1), self.gain, np.float32)
        if "l2" in self.mode:
            length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
            zero = length <= ROUNDING * np.linalg.norm(self.mean)
            factor = np.where(zero, 0, self.gain / np.where(zero, 1, length)).astype(np.float32)
        rows *= factor
        return rows


def _directions(features: np.ndarray, components: int) -> np.ndarray:
    """As many leading principal directions of these rows as the rows can tell."""
    rows = np.asarray(features, np.float32)
    _, directions = principal_directions(rows, min(components, max(1, len(rows) - 1)))
    return directions.astype(np.float32)


def _checked(features: np.ndarray | None) -> np.ndarray:
    if features is None:
        raise UsageError("features: this split has none, expected (n, d); give images a backbone to extract them")
    if np.ndim(features) != 2 or np.shape(features)[1] == 0:
        raise UsageError(f"features: shape {np.shape(features)}, expected (n, d) with d > 0")
    return np.asarray(features)


def _reject_non_finite(rows: np.ndarray, start: int) -> None:
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise UsageError(
            f"features: not finite (as float32) in {bad.sum()} rows, first is row {start + bad.argmax()}; "
            "expected numbers only: extract them again or drop these rows"
        )
