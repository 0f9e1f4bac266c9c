"""IMH, Inductive Manifold Hashing: t-SNE of a few base points, carried over to every row by its nearest of them."""

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.shallow import ProjectionMethod, anchor_weights, k_means, squared_distances


@register_method("imh", title="IMH", paper="Shen et al., CVPR 2013")
class IMH(ProjectionMethod):
    """y(x) = sum_b w_b y_b over the nearest base points b, w_b ~ exp(-||x - b||^2 / sigma^2) summing to 1; bit k is the
    sign of y_k minus its mean over the training rows. Base points are centres of k-means, y_b their t-SNE into K
    dimensions.

    Differs: sigma^2 is the mean squared distance to those neighbours, where public code has 512 for features of its own
    scale. t-SNE is scikit-learn's, exact, from a random start, so more bits than columns are no obstacle. The paper's
    other embeddings (Laplacian eigenmaps) are left out.

    @inproceedings{shen2013imh, title={Inductive Hashing on Manifolds}, author={Shen, Fumin and Shen, Chunhua and Shi,
      Qinfeng and van den Hengel, Anton and Tang, Zhenmin}, booktitle={IEEE Conference on Computer Vision and Pattern
      Recognition}, year={2013}}
    """

    base: int = parameter(400, least=2, search=[200, 400, 800], doc="base points; 400 in public code")
    nearest: int = parameter(
        5, least=1, search=[2, 5, 10], doc="base points that a row is carried by; 5 in public code"
    )
    perplexity: float = parameter(30.0, least=1, search=[10, 30], doc="of t-SNE; scikit-learn's own")

    def learn(self, rows: np.ndarray, train: Split) -> None:
        self.base_rows = k_means(rows, self.base, np.random.default_rng(self.seed))
        distances = squared_distances(rows, self.base_rows)
        nearest = min(self.nearest, distances.shape[1])
        self.width = float(np.partition(distances, nearest - 1, axis=1)[:, :nearest].mean()) or 1.0
        self.embedding = embed(self.base_rows, self.bits, self.perplexity, self.seed)
        self.offset = (anchor_weights(distances, self.nearest, self.width) @ self.embedding).mean(axis=0)

    def project(self, rows: np.ndarray) -> np.ndarray:
        distances = squared_distances(rows, self.base_rows)
        return anchor_weights(distances, self.nearest, self.width) @ self.embedding - self.offset


def embed(points: np.ndarray, dimensions: int, perplexity: float, seed: int) -> np.ndarray:
    """t-SNE of these points; one point alone lies at 0. Perplexity must be below the number of points."""
    from sklearn.manifold import TSNE

    if len(points) < 2:
        return np.zeros((len(points), dimensions))
    perplexity = min(perplexity, (len(points) - 1) / 3 if len(points) > 4 else 1.0)
    made = TSNE(dimensions, perplexity=perplexity, method="exact", init="random", random_state=seed)
    return np.asarray(made.fit_transform(points), np.float64)
