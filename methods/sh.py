"""SH, Spectral Hashing: the smoothest waves on a box around the data (Weiss et al., NIPS 2008)."""

from typing import Self

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import encode_rows, principal_directions
from benchmark.shallow.scaling import FeatureScaling


@register_method("sh", title="SH", family="unsupervised", paper="Weiss et al., NIPS 2008")
class SH:
    """Bits are signs of the Laplacian's eigenfunctions on a box along the principal directions.

    There is nothing to tune and nothing random: `seed` has no effect. More bits than columns are no obstacle,
    as a direction may carry several waves.

    Parameters
    ----------
    scaling : "center-l2", "center", "l2" or "none"
        How features are scaled first.
    """

    def __init__(self, bits: int, seed: int = 0, *, scaling: str = "center-l2") -> None:
        self.bits, self.seed, self.scaling = bits, seed, scaling
        self.scaler: FeatureScaling | None = None

    def fit(self, train: Split) -> Self:
        scaler = FeatureScaling.fit(train.features, self.scaling)
        rows = scaler.transform(train.features)
        _, self.directions = principal_directions(rows, min(self.bits, scaler.dimension))
        components = rows @ self.directions
        margin = np.finfo(np.float32).eps  # a direction without spread still has a box
        low, high = components.min(axis=0) - margin, components.max(axis=0) + margin
        chosen, waves = smoothest_waves(high - low, self.bits)
        self.directions, self.low = self.directions[:, chosen], low[chosen]
        self.frequencies = waves * np.pi / (high - low)[chosen]
        self.scaler = scaler
        return self

    def encode(self, split: Split) -> np.ndarray:
        return encode_rows(split, self.scaler, self.eigenfunctions)

    def eigenfunctions(self, rows: np.ndarray) -> np.ndarray:
        """cos(k pi (v - low) / range): outside the box they go on as waves."""
        return np.cos((rows @ self.directions - self.low) * self.frequencies)


def smoothest_waves(ranges: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """(direction, k) of the `bits` waves of least (k pi / range)^2; each varies along one direction only.

    A direction offers waves in proportion to its range; the longest alone offers enough for all bits.
    """
    offered = np.ceil((bits + 1) * ranges / ranges.max()).astype(int) - 1
    directions = np.repeat(np.arange(len(ranges)), offered)
    waves = np.concatenate([np.arange(1, number + 1) for number in offered])
    order = np.argsort(waves / ranges[directions], kind="stable")[:bits]
    return directions[order], waves[order]
