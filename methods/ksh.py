"""KSH, Supervised Hashing with Kernels: bits chosen greedily to explain pairs."""

from functools import partial

import numpy as np

from benchmark import Similarity, Split, UsageError, parameter, register_method
from benchmark.shallow import (
    ProjectionMethod,
    accelerated_descent,
    fix_signs,
    gaussian,
    sample,
    signs,
    squared_distances,
)

SETTLED = 0.01  # a change of the cost, per row, that ends the refinement of a bit; as in OptProjectionFast.m


@register_method("ksh", title="KSH", needs="similarity", paper="Liu et al., CVPR 2012", groups=("paper",))
class KSH(ProjectionMethod):
    """Minimises ||(1/K) sum_r y_r y_r^T - S||^2, y_r = sign(Kbar a_r), one bit after the other, Kbar the centred
    Gaussian kernel to some anchors: a bit starts at the top eigenvector of what is left to explain and is refined by
    descent on a smooth sign, tanh(z/2); the better of the two is kept.

    Differs: a ridge is added to Kbar^T Kbar, which else may be singular; pairs that are not known ask for nothing; the
    l x l residue is never formed. Else as in the authors' KSH_demo.m and OptProjectionFast.m.

    @inproceedings{liu2012ksh, title={Supervised Hashing with Kernels}, author={Liu, Wei and Wang, Jun and Ji, Rongrong
      and Jiang, Yu-Gang and Chang, Shih-Fu}, booktitle={IEEE Conference on Computer Vision and Pattern Recognition},
      year={2012}}
    """

    anchors: int = parameter(
        300,
        least=1,
        search=[300, 1000],
        doc="rows the kernel compares with; 300 in the paper and in the authors' KSH_demo.m",
    )
    pairs_among: int = parameter(
        2000,
        least=2,
        search=[1000, 2000],
        doc="rows l whose l x l pairs are learned from; the paper has 1,000 to 2,000",
    )
    width: float | None = parameter(
        None,
        least=1e-12,
        doc="tau of exp(-d^2 / (2 tau)); None: the mean squared distance to the anchors, as in KSH_demo.m",
    )

    def learn(self, rows: np.ndarray, train: Split) -> None:
        rng = np.random.default_rng(self.seed)
        self.anchor_rows = rows[sample(self.anchors, len(rows), rng)]
        distances = squared_distances(rows, self.anchor_rows)
        self.tau = self.width or float(distances.mean()) or 1.0
        kernel = gaussian(distances, 2 * self.tau)
        self.kernel_mean = kernel.mean(axis=0, dtype=np.float64)
        items, pairs = learned_pairs(train.required_similarity(), self.pairs_among, rng)
        self.projections = greedy_projections(kernel[items] - self.kernel_mean, pairs, self.bits)

    def project(self, rows: np.ndarray) -> np.ndarray:
        kernel = gaussian(squared_distances(rows, self.anchor_rows), 2 * self.tau)
        return (kernel - self.kernel_mean) @ self.projections


def learned_pairs(similarity: Similarity, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(items, S): `count` items of which some pair is known, and S = 1 similar, -1 dissimilar, 0 unknown."""
    known_items = np.flatnonzero(similarity.degrees().total)
    if not len(known_items):
        raise UsageError("ksh: the training split's pair list is empty, expected at least one pair")
    items = known_items[sample(count, len(known_items), rng)]
    similar, known = similarity.block(items, items)
    return items, np.where(known, np.where(similar, 1.0, -1.0), 0.0)


def greedy_projections(kernel: np.ndarray, pairs: np.ndarray, bits: int) -> np.ndarray:
    """The vectors a_1..a_K as columns: each bit takes what it can of the residue R = K S - sum y y^T."""
    from scipy import linalg

    anchors = kernel.shape[1]
    residue = Residue(pairs, bits)
    single = kernel.astype(np.float32)
    gram = kernel.T @ kernel
    gram += (1e-6 * np.trace(gram) / anchors + 1e-12) * np.eye(anchors)
    quadratic = bits * (kernel.T @ pairs @ kernel)
    projections = []
    for _ in range(bits):
        # Spectral start: the top generalised eigenvector, scaled so that ||Kbar a||^2 = l.
        _, top = linalg.eigh(quadratic, gram, subset_by_index=[anchors - 1, anchors - 1])
        start = fix_signs(top)[:, 0] * np.sqrt(len(kernel))
        refined = accelerated_descent(
            single, partial(relaxed, residue), start.astype(np.float32), settled=SETTLED * len(kernel)
        ).astype(np.float64)
        best = max(start, refined, key=lambda vector: explained(residue, signs(kernel @ vector)))
        code = signs(kernel @ best)
        residue.subtract(code)
        quadratic -= np.outer(kernel.T @ code, code @ kernel)
        projections.append(best)
    return np.stack(projections, axis=1)


class Residue:
    """R = K S - sum_r y_r y_r^T as something to multiply with; the l x l matrix itself is never formed.

    Items that see all others alike (in single-label data, a class) share one row and column of S, so a product
    costs the square of the distinct rows. All entries are small integers: exact in float32.
    """

    def __init__(self, pairs: np.ndarray, bits: int) -> None:
        _, first, self.kind = np.unique(pairs.astype(np.int8), axis=0, return_index=True, return_inverse=True)
        self.kinds = np.asfortranarray(bits * pairs[np.ix_(first, first)], np.float32)  # symmetric: one half is read
        self.codes = np.empty((len(pairs), bits), np.float32, order="F")
        self.taken = 0

    def subtract(self, code: np.ndarray) -> None:
        """R <- R - y y^T."""
        self.codes[:, self.taken] = code
        self.taken += 1

    def __matmul__(self, vector: np.ndarray) -> np.ndarray:
        from scipy.linalg import blas

        totals = np.bincount(self.kind, vector, len(self.kinds)).astype(np.float32)
        codes = self.codes[:, : self.taken]
        return blas.ssymv(1.0, self.kinds, totals)[self.kind] - codes @ (codes.T @ vector)


def explained(residue: Residue | np.ndarray, code: np.ndarray) -> float:
    """y^T R y: a bit lowers the objective exactly where this exceeds l^2 / 2."""
    return float(code @ (residue @ code.astype(np.float32)).astype(np.float64))


def relaxed(residue: Residue | np.ndarray, seen: np.ndarray) -> tuple[float, np.ndarray]:
    """-phi^T R phi for values z = `seen` and its slope in them, phi(z) = 2 / (1 + e^-z) - 1 = tanh(z / 2) for sign."""
    phi = np.tanh(seen / 2)
    image = residue @ phi
    return -float(phi @ image), -image * (1 - phi**2)
