"""SDH, Supervised Discrete Hashing: codes a linear classifier likes, learned bit by bit."""

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.shallow import (
    ProjectionMethod,
    best_classifier,
    best_codes,
    gaussian,
    sample,
    signs,
    squared_distances,
)


@register_method("sdh", title="SDH", needs="labels", paper="Shen et al., CVPR 2015", groups=("paper",))
class SDH(ProjectionMethod):
    """Minimises ||Y - B W||^2 + lambda ||W||^2 + nu ||B - Phi P||^2 over codes B, W and P, Phi the Gaussian kernel to
    some anchors and a column of ones.

    W classifies the codes, P predicts them from the kernel.

    Differs: the kernel's width is the mean distance to the nearest anchor, where the demo's 0.4 belongs to features of
    another scale and would leave the kernel empty. Rows without a label say nothing about classes and are left out of
    training. The database is encoded by P as queries are. Only the L2 loss, not the hinge.

    @inproceedings{shen2015sdh, title={Supervised Discrete Hashing}, author={Shen, Fumin and Shen, Chunhua and Liu, Wei
      and Shen, Heng Tao}, booktitle={IEEE Conference on Computer Vision and Pattern Recognition}, year={2015}}
    """

    anchors: int = parameter(
        1000, least=1, doc="training rows the Gaussian kernel compares with; 1,000 in the paper and in demo_SDH.m"
    )
    iterations: int = parameter(5, least=1, doc="rounds of codes, classifier, projection; 5 in demo_SDH.m")
    classifier_weight: float = parameter(
        1.0, least=0, search=[0.1, 1.0, 10.0], doc="lambda; 1 in the paper and in demo_SDH.m"
    )
    projection_weight: float = parameter(
        1e-5, least=0, search=[1e-5, 1e-3, 1e-1], doc="nu; 1e-5 in the paper and in demo_SDH.m"
    )
    ridge: float = parameter(0.01, least=0, doc="added to Phi^T Phi; 0.01 in the authors' RRC.m")
    sigma: float | None = parameter(
        None,
        least=1e-12,
        doc="of exp(-d^2 / (2 sigma^2)); 0.4 in demo_SDH.m, for other features; None: the mean distance of a training "
        "row to its nearest anchor other than itself",
    )

    def learn(self, rows: np.ndarray, train: Split) -> None:
        labels = train.required_labels()
        labelled = labels.any(axis=1)
        rows, rng = rows[labelled], np.random.default_rng(self.seed)
        chosen = sample(self.anchors, len(rows), rng)
        self.anchor_rows = rows[chosen]
        distances = squared_distances(rows, self.anchor_rows)
        self.width = 2 * (self.sigma or nearest_anchor(distances, chosen)) ** 2
        phi = with_bias(gaussian(distances, self.width))
        codes = signs(rng.standard_normal((len(rows), self.bits)))
        self.projection = self.alternate(phi, labels[labelled].astype(np.float64), codes)

    def alternate(self, phi: np.ndarray, targets: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Classifier, codes and projection in turn (G-, B- and F-step), round by round; returns the projection P."""
        from scipy import linalg

        factor = linalg.cho_factor(phi.T @ phi + self.ridge * np.eye(phi.shape[1]))
        projection = linalg.cho_solve(factor, phi.T @ codes.astype(np.float64))
        for _ in range(self.iterations):
            classifier = best_classifier(codes, targets, self.classifier_weight)
            pull = targets @ classifier.T + self.projection_weight * (phi @ projection)  # Q
            codes = best_codes(codes, classifier @ classifier.T, pull)
            projection = linalg.cho_solve(factor, phi.T @ codes.astype(np.float64))
        return projection

    def project(self, rows: np.ndarray) -> np.ndarray:
        return with_bias(gaussian(squared_distances(rows, self.anchor_rows), self.width)) @ self.projection


def nearest_anchor(distances: np.ndarray, chosen: np.ndarray) -> float:
    """Mean distance of a row to its nearest anchor other than itself; 1 where all rows are the same."""
    distances = distances.copy()
    distances[chosen, np.arange(len(chosen))] = np.inf
    nearest = np.sqrt(distances.min(axis=1))
    nearest = nearest[np.isfinite(nearest)]
    return float(nearest.mean()) or 1.0 if len(nearest) else 1.0


def with_bias(kernel: np.ndarray) -> np.ndarray:
    """Phi: the kernel columns and a column of ones, in float64."""
    return np.hstack([kernel, np.ones((len(kernel), 1))])
