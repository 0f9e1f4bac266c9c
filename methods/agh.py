"""AGH, Anchor Graph Hashing: eigenvectors of a graph that runs through anchors."""

from typing import Literal

import numpy as np

from benchmark import Split, UsageError, parameter, register_method
from benchmark.shallow import ProjectionMethod, anchor_weights, fix_signs, k_means, squared_distances

TRIVIAL = 1 - 1e-3  # eigenvalues from here to 1 belong to (nearly) constant vectors, as in the authors' code
VANISHING = 1e-10  # and those below it to nothing


@register_method("agh", title="AGH", paper="Liu et al., ICML 2011")
class AGH(ProjectionMethod):
    """Bits are signs of the smoothest eigenvectors of Z Lambda^-1 Z^T, Z the weights of the nearest anchors, rows
    summing to 1, Lambda the sums of its columns: code = sign(Z W), W = Lambda^-1/2 V Sigma^-1/2 of the anchors' small
    graph.

    Differs: anchors come of ten rounds of k-means from random rows, scaled as for every shallow method; an anchor
    without rows is left out, as it would make Lambda singular. Else nothing that we know of.

    @inproceedings{liu2011agh, title={Hashing with Graphs}, author={Liu, Wei and Wang, Jun and Kumar, Sanjiv and Chang,
      Shih-Fu}, booktitle={International Conference on Machine Learning}, year={2011}}
    """

    anchors: int = parameter(300, least=2, doc="centres of k-means; 300 in the paper and in the authors' code")
    nearest: int = parameter(
        2,
        least=1,
        search=[2, 3, 5, 10, 30],
        doc="s, the anchors a row is tied to; the authors tune 2 to a tenth of the anchors",
    )
    layers: Literal[1, 2] = parameter(
        1, search=[1, 2], doc="with 2, half as many eigenvectors, and a second bit of each that splits its sides again"
    )

    def learn(self, rows: np.ndarray, train: Split) -> None:
        self.anchor_rows = k_means(rows, self.anchors, np.random.default_rng(self.seed))
        distances = squared_distances(rows, self.anchor_rows)
        self.width = mean_width(distances, self.nearest)
        weights = anchor_weights(distances, self.nearest, self.width)
        wanted = -(-self.bits // self.layers)
        self.vectors = smooth_vectors(weights, wanted)
        if self.vectors.shape[1] < wanted:
            raise UsageError(
                f"agh: {wanted} eigenvectors wanted but the graph of {len(self.anchor_rows)} anchors has "
                f"{self.vectors.shape[1]}: use fewer bits, more anchors or a larger nearest"
            )
        if self.layers == 2:
            self.thresholds = second_thresholds(weights, weights @ self.vectors)

    def project(self, rows: np.ndarray) -> np.ndarray:
        distances = squared_distances(rows, self.anchor_rows)
        values = anchor_weights(distances, self.nearest, self.width) @ self.vectors
        if self.layers == 1:
            return values
        above, below = self.thresholds
        again = np.where(values > 0, values - above, below - values)
        return np.hstack([values, again])[:, : self.bits]


def mean_width(distances: np.ndarray, nearest: int) -> float:
    """sigma^2, sigma the mean distance to the s-th nearest anchor."""
    last = min(nearest, distances.shape[1]) - 1
    return float(np.sqrt(np.partition(distances, last, axis=1)[:, last]).mean()) ** 2 or 1.0


def smooth_vectors(weights: np.ndarray, count: int) -> np.ndarray:
    """W = sqrt(n) Lambda^-1/2 V Sigma^-1/2, so that Z W holds graph eigenvectors of unit variance."""
    root = np.sqrt(np.maximum(weights.sum(axis=0), VANISHING))
    scaled = weights / root
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    kept = np.flatnonzero((values < TRIVIAL) & (values > VANISHING))[::-1][:count]
    return np.sqrt(len(weights)) * fix_signs(vectors[:, kept]) / root[:, None] / np.sqrt(values[kept])


def second_thresholds(weights: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(b+, b-) of each eigenvector: v - b+ on its positive side and b- - v on the other are the second bit.

    With g = |v|, p = [v > 0] and L the graph's Laplacian, y = g - b+ p + b- (1 - p) has least y^T L y with zero
    sum. Since L 1 = 0, that is b+ + b- = p^T L g / p^T L p; the zero sum then gives each of the two.
    """
    positive, size = (values > 0).astype(np.float64), np.abs(values)
    laplacian = positive - weights @ ((weights.T @ positive) / np.maximum(weights.sum(axis=0), VANISHING)[:, None])
    both = (laplacian * size).sum(axis=0) / np.maximum((laplacian * positive).sum(axis=0), VANISHING)
    above = (size.sum(axis=0) + (1 - positive).sum(axis=0) * both) / len(values)
    return above, both - above
