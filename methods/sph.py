"""SpH, Spherical Hashing: bits are balls, balanced and pairwise independent (Heo et al., CVPR 2012)."""

from typing import Self

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import encode_rows, sample, squared_distances
from benchmark.shallow.scaling import FeatureScaling


@register_method("sph", title="SpH", family="unsupervised", paper="Heo et al., CVPR 2012")
class SpH:
    """Bit = inside a ball that holds half of the training rows, any two balls sharing a quarter of them.

    Ranked by the plain Hamming distance like every method here; the paper also proposes a spherical one.

    Parameters
    ----------
    rounds : int
        Most moves of the centres; the paper moves until the tolerances hold, which on some data is never.
    mean_tolerance, deviation_tolerance : float
        Of the shared quarters, as parts of n / 4: 0.1 and 0.15 in the paper.
    scaling : "center-l2", "center", "l2" or "none"
        How features are scaled first.
    """

    def __init__(
        self,
        bits: int,
        seed: int = 0,
        *,
        rounds: int = 100,
        mean_tolerance: float = 0.1,
        deviation_tolerance: float = 0.15,
        scaling: str = "center-l2",
    ) -> None:
        self.bits, self.seed, self.rounds, self.scaling = bits, seed, rounds, scaling
        self.mean_tolerance, self.deviation_tolerance = mean_tolerance, deviation_tolerance
        self.scaler: FeatureScaling | None = None

    def fit(self, train: Split) -> Self:
        rng = np.random.default_rng(self.seed)
        scaler = FeatureScaling.fit(train.features, self.scaling)
        rows = scaler.transform(train.features)
        centres = np.stack([rows[sample(5, len(rows), rng)].mean(axis=0) for _ in range(self.bits)])
        for _ in range(self.rounds):
            distances = squared_distances(rows, centres)
            shared = overlaps(distances <= np.median(distances, axis=0))
            if self.balanced(shared):
                break
            centres = centres + repulsion(centres, shared)
        self.centres = centres
        self.radii = np.median(squared_distances(rows, centres), axis=0)
        self.scaler = scaler
        return self

    def balanced(self, shared: np.ndarray) -> bool:
        """Whether the pairs of balls share a quarter, within the tolerances."""
        pairs = shared[~np.eye(len(shared), dtype=bool)]
        if not len(pairs):
            return True
        return bool(np.abs(pairs).mean() <= self.mean_tolerance and pairs.std() <= self.deviation_tolerance)

    def encode(self, split: Split) -> np.ndarray:
        return encode_rows(split, self.scaler, lambda rows: self.radii - squared_distances(rows, self.centres))


def overlaps(inside: np.ndarray) -> np.ndarray:
    """(o_ij - n/4) / (n/4), o_ij the rows in both balls i and j."""
    member = inside.astype(np.float32)
    return (member.T @ member) * 4 / len(inside) - 1


def repulsion(centres: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Mean force on each centre: f_ij = 1/2 (o_ij - n/4) / (n/4) (c_i - c_j)."""
    pull = shared / (2 * len(centres))
    return (pull.sum(axis=1, keepdims=True) * centres - pull @ centres).astype(centres.dtype)
