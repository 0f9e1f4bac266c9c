"""SH, Spectral Hashing: the smoothest waves on a box around the data."""

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import ProjectionMethod, principal_directions


@register_method("sh", title="SH", paper="Weiss et al., NIPS 2008", groups=("paper",))
class SH(ProjectionMethod):
    """Bits are signs of the Laplacian's eigenfunctions on a box along the principal directions: cos(k pi (v_i - low_i)
    / range_i) for the K pairs of direction i and wave k of least k / range_i.

    There is nothing to tune and nothing random: `seed` has no effect. More bits than columns are no obstacle, as a
    direction may carry several waves.

    Differs: nothing that we know of but the scaling of rows, which all shallow methods share.

    @inproceedings{weiss2008sh, title={Spectral Hashing}, author={Weiss, Yair and Torralba, Antonio and Fergus, Rob},
      booktitle={Advances in Neural Information Processing Systems}, year={2008}}
    """

    def learn(self, rows: np.ndarray, train: Split) -> None:
        _, self.directions = principal_directions(rows, min(self.bits, rows.shape[1]))
        components = rows @ self.directions
        margin = np.finfo(np.float32).eps  # a direction without spread still has a box
        low, high = components.min(axis=0) - margin, components.max(axis=0) + margin
        chosen, waves = smoothest_waves(high - low, self.bits)
        self.directions, self.low = self.directions[:, chosen], low[chosen]
        self.frequencies = waves * np.pi / (high - low)[chosen]

    def project(self, rows: np.ndarray) -> np.ndarray:
        """The eigenfunctions cos(k pi (v - low) / range): outside the box they go on as waves."""
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
