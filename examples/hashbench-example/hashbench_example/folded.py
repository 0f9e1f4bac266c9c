"""Random projections that are folded before they are cut, so that one bit can tell rings apart."""

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.shallow import ProjectionMethod

from .folding import fold


@register_method("folded", title="Folded", paper="An example")
class Folded(ProjectionMethod):
    """bit_k(x) = [fold(w_k . x / width) > its median], w_k a random direction."""

    width: float = parameter(2.0, search=[1.0, 2.0, 4.0], doc="of a fold, in standard deviations of a projection")
    scaling: str = parameter(
        "center", search=["center", "center-l2"], doc="rows keep their length: it is what rings are"
    )

    def learn(self, rows: np.ndarray, train: Split) -> None:
        self.planes = np.random.default_rng(self.seed).standard_normal((rows.shape[1], self.bits))
        self.spread = (rows @ self.planes).std(axis=0) + 1e-12
        self.middle = np.median(self._folded(rows), axis=0)

    def project(self, rows: np.ndarray) -> np.ndarray:
        return self._folded(rows) - self.middle

    def _folded(self, rows: np.ndarray) -> np.ndarray:
        return fold(rows @ self.planes / self.spread, self.width)
