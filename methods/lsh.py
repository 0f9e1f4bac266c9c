"""LSH, random hyperplanes: the shortest method here, and the one to copy when you add your own."""

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import ProjectionMethod


@register_method("lsh", title="LSH", family="data-independent", paper="Gionis et al., VLDB 1999", groups=("paper",))
class LSH(ProjectionMethod):
    """Bit = side of a random hyperplane: two rows agree in a bit with probability 1 - angle / pi."""

    def learn(self, rows: np.ndarray, train: Split) -> None:
        self.normals = np.random.default_rng(self.seed).standard_normal((rows.shape[1], self.bits))

    def project(self, rows: np.ndarray) -> np.ndarray:
        return rows @ self.normals
