"""LSH, random hyperplanes: the shortest method here, and the one to copy when you add your own."""

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import ProjectionMethod


@register_method("lsh", title="LSH", family="data-independent", paper="Gionis et al., VLDB 1999", groups=("paper",))
class LSH(ProjectionMethod):
    """Bit = side of a random hyperplane, sign(<x, w>), w Gaussian: two rows agree in a bit with probability 1 - angle /
    pi.

    Differs: the paper that tables cite samples bits; random hyperplanes are Charikar's. Rows are centred by default, as
    for every shallow method: features that leave a ReLU lie within a right angle of each other, and uncentred codes
    crowd.

    @inproceedings{gionis1999lsh, title={Similarity Search in High Dimensions via Hashing}, author={Gionis, Aristides
      and Indyk, Piotr and Motwani, Rajeev}, booktitle={International Conference on Very Large Data Bases}, year={1999}}

    @inproceedings{charikar2002hyperplanes, title={Similarity Estimation Techniques from Rounding Algorithms},
      author={Charikar, Moses S.}, booktitle={ACM Symposium on Theory of Computing}, year={2002}}
    """

    def learn(self, rows: np.ndarray, train: Split) -> None:
        self.normals = np.random.default_rng(self.seed).standard_normal((rows.shape[1], self.bits))

    def project(self, rows: np.ndarray) -> np.ndarray:
        return rows @ self.normals
