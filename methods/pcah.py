"""PCAH: signs of the principal components; what ITQ is before its rotation (Wang et al., PAMI 2012)."""

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import ProjectionMethod, principal_directions, too_few_columns


@register_method("pcah", title="PCAH", paper="Wang et al., PAMI 2012")
class PCAH(ProjectionMethod):
    """code = sign((x - mean) P), P the top principal directions; nothing random, `seed` has no effect.

    PCA removes the mean of the scaled rows.
    """

    unsupported = staticmethod(too_few_columns)

    def learn(self, rows: np.ndarray, train: Split) -> None:
        mean, self.directions = principal_directions(rows, self.bits)
        self.offset = mean @ self.directions

    def project(self, rows: np.ndarray) -> np.ndarray:
        return rows @ self.directions - self.offset
