"""PCA-RR: principal components, turned at random: what there is to have without training."""

import numpy as np

from benchmark import Split, register_method
from benchmark.shallow import ProjectionMethod, principal_directions, too_few_columns


@register_method("pca-rr", title="PCA-RR", family="control", paper="Gong & Lazebnik, CVPR 2011")
class PCARR(ProjectionMethod):
    """Bit = sign of (x - mean) P R, P the top principal directions, R a random rotation, which shares the variance
    among the bits. ITQ before its first iteration, and the baseline of its paper.

    Differs: rows are scaled to length 1 first, as for every shallow method; else nothing that we know of.

    @inproceedings{gong2011itq, title={Iterative Quantization: A Procrustean Approach to Learning Binary Codes},
      author={Gong, Yunchao and Lazebnik, Svetlana}, booktitle={IEEE Conference on Computer Vision and Pattern
      Recognition}, year={2011}}
    """

    unsupported = staticmethod(too_few_columns)

    def learn(self, rows: np.ndarray, train: Split) -> None:
        self.mean, directions = principal_directions(rows, self.bits)
        rotation = np.linalg.qr(np.random.default_rng(self.seed).standard_normal((self.bits, self.bits)))[0]
        self.directions = directions @ rotation

    def project(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) @ self.directions
