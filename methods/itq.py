"""PCA-ITQ: rotate the principal components so that taking signs loses least."""

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.shallow import ProjectionMethod, principal_directions, signs, too_few_columns


@register_method("itq", title="ITQ", paper="Gong & Lazebnik, CVPR 2011", groups=("paper",))
class ITQ(ProjectionMethod):
    """Minimises ||B - V R||^2 over codes B and orthogonal R, V the top principal components of the scaled rows, by
    turns: B = sign(V R), then R = C A^T of the singular value decomposition B^T V = A S C^T.

    Differs: the mean is that of the training rows alone, where public ports centre training and test rows together, and
    rows are scaled to length 1 first, as for every shallow method.

    @inproceedings{gong2011itq, title={Iterative Quantization: A Procrustean Approach to Learning Binary Codes},
      author={Gong, Yunchao and Lazebnik, Svetlana}, booktitle={IEEE Conference on Computer Vision and Pattern
      Recognition}, year={2011}}
    """

    iterations: int = parameter(
        50,
        least=0,
        search=[10, 50, 100],
        doc="alternations of codes and rotation; 50 in the paper and in the authors' ITQ.m",
    )
    unsupported = staticmethod(too_few_columns)

    def learn(self, rows: np.ndarray, train: Split) -> None:
        mean, directions = principal_directions(rows, self.bits)
        components = rows @ directions - mean @ directions
        rotation = random_rotation(self.bits, self.seed)
        for _ in range(self.iterations):
            rotation = best_rotation(components, signs(components @ rotation))
        self.directions, self.offset = directions @ rotation, mean @ directions @ rotation

    def project(self, rows: np.ndarray) -> np.ndarray:
        return rows @ self.directions - self.offset


def random_rotation(bits: int, seed: int) -> np.ndarray:
    """The orthogonal factor of a Gaussian matrix (where the paper starts)."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((bits, bits)))[0]


def best_rotation(components: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Orthogonal Procrustes: with B^T V = A S C^T, ||B - V R|| is least at R = C A^T."""
    left, _, right = np.linalg.svd(codes.T.astype(np.float64) @ components)
    return right.T @ left.T
