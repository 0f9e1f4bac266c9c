"""PCAH: signs of the principal components; what ITQ is before its rotation."""

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import ProjectionMethod, principal_directions, too_few_columns


@register_method("pcah", title="PCAH", paper="Wang et al., PAMI 2012")
class PCAH(ProjectionMethod):
    """code = sign((x - mean) P), P the top principal directions; nothing random, `seed` has no effect.

    PCA removes the mean of the scaled rows.

    Differs: rows are scaled to length 1 first, as for every shallow method. The paper cited has it as the case without
    labels of its semi-supervised hashing; else nothing that we know of.

    @article{wang2012ssh, title={Semi-Supervised Hashing for Large-Scale Search}, author={Wang, Jun and Kumar, Sanjiv
      and Chang, Shih-Fu}, journal={IEEE Transactions on Pattern Analysis and Machine Intelligence}, year={2012}}
    """

    unsupported = staticmethod(too_few_columns)

    def learn(self, rows: np.ndarray, train: Split) -> None:
        mean, self.directions = principal_directions(rows, self.bits)
        self.offset = mean @ self.directions

    def project(self, rows: np.ndarray) -> np.ndarray:
        return rows @ self.directions - self.offset
