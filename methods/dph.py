"""DPH, Deep Priority Hashing, the method the benchmark reproduces, and the three variants of its ablation.

Equation numbers are the paper's. `mode="paper"` follows its text; `mode="authors"` does what the released code does,
which differs in more than constants (weights in the gradient only, similar pairs only, another quantisation term).
"""

from __future__ import annotations

from typing import Literal

from benchmark import parameter, register_method
from benchmark.deep import (
    COSINE_EDGE,
    Codes,
    PairBlock,
    PairwiseMethod,
    cosine,
    cross_entropy,
    log_cosh,
    power,
    priority_quantization,
    torch,
)


@register_method("dph", title="DPH", paper="Cao et al., ACM MM 2018", groups=("paper",))
class DPH(PairwiseMethod):
    """Minimise L + Q (eq. 15): priority cross-entropy over pairs, priority quantisation over images. L = -sum_ij
    alpha_ij (1 - q_ij)^gamma log p_ij, Q = (1/epsilon) sum_i (1 - q_i)^gamma || |h_i| - 1 ||_1.

    h = tanh(u), p_ij = sigma(beta <h_i, h_j>) and q_ij = (1 + cos(h_i, h_j))/2 of a similar pair, 1 less these of a
    dissimilar one, q_i = (1 + cos(|h_i|, 1))/2, alpha_ij = |S_i||S_j| / sqrt(|S_i^1||S_j^1|), with S^0 for dissimilar
    pairs. Both priorities are constants of the gradient, as in the weighted-likelihood reading of eq. 5.

    Differs: L is divided by the sum of alpha and Q by images times bits, so that rates do not depend on n, batch or
    bits. The paper leaves gamma and beta open: 0.1 and 10/K are the released code's. That code differs from the paper
    in more than constants, and is `mode=authors`.

    @inproceedings{cao2018dph, title={Deep Priority Hashing}, author={Cao, Zhangjie and Sun, Ziping and Long, Mingsheng
      and Wang, Jianmin and Yu, Philip S.}, booktitle={ACM International Conference on Multimedia}, year={2018}}
    """

    focal = False  # q_ij := p_ij, the focal loss's own measure of difficulty
    weighted = True  # w_ij = alpha_ij (1 - q_ij)^gamma; else 1

    gamma: float = parameter(
        0.1, least=0, search=[0, 0.1, 0.5, 1], doc="exponent of the priority, eq. 7 and 12; 0.1 in the released code"
    )
    logit_scale: float = parameter(
        1.0, least=0, search=[0.25, 0.5, 1, 2], doc="beta of eq. 6 against the released 10/K, or 10/sqrt(64 K) in Adam"
    )
    inv_epsilon: float = parameter(
        0.1,
        least=0,
        search=[0.01, 0.1, 1],
        doc="1/epsilon of the prior, eq. 11; mode authors: weight of its quantisation, as released 0.15 for ImageNet "
        "with AlexNet and 0.1 elsewhere",
    )
    alpha_scope: Literal["dataset", "batch"] = parameter("dataset", doc="where |S_i| of eq. 9 is counted")
    mode: Literal["paper", "authors"] = parameter("paper", doc="the paper's text, or the released code")
    beta_bug: bool = parameter(True, doc="mode authors: beta in the gradient of a few rows only, as released")

    @property
    def beta(self) -> float:
        """The released models have 10/K, to three digits, as they are of 48 bits."""
        unit = 10 / self.bits if self.mode == "authors" else self.logit_unit
        return self.logit_scale * (0.208 if self.mode == "authors" and self.bits == 48 else unit)

    @property
    def sgd_rate(self) -> float:
        """The released rate, 5e-5, belongs to a gradient without beta: a tenth of the rate of the profile `paper`."""
        return 0.1 if self.mode == "authors" and self.beta_bug else 1.0

    @property
    def self_pairs(self) -> bool:
        return super().self_pairs or self.mode == "authors"

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        h, released = codes.tanh(), self.mode == "authors"
        paired = self.without_beta(h) if released and self.beta_bug else h
        nll = cross_entropy(self.beta * paired.inner, similarity.similar)  # -log p_ij, eq. 6
        pairwise = self.authors_cross_entropy if released else self.priority_cross_entropy
        loss = pairwise(nll, h, similarity)
        if not self.inv_epsilon:
            return loss
        if released:  # summed over bits, without priority
            return loss + self.inv_epsilon * log_cosh(h.both.abs() - 1).sum(1).mean()
        return loss + self.inv_epsilon * priority_quantization(h.both, self.gamma)  # Q of eq. 14 without its constant

    def priority_cross_entropy(self, nll: torch.Tensor, h: Codes, similarity: PairBlock) -> torch.Tensor:
        """L of eq. 10: -sum alpha_ij (1 - q_ij)^gamma log p_ij, over sum alpha_ij."""
        if not self.weighted:
            return similarity.mean(nll)
        modulation = power(self.difficulty(nll, h, similarity), self.gamma)
        return similarity.mean(nll, self.alpha(similarity), modulation)

    def difficulty(self, nll: torch.Tensor, h: Codes, similarity: PairBlock) -> torch.Tensor:
        """1 - q_ij of eq. 8: (1 - cos)/2 for similar and (1 + cos)/2 for dissimilar pairs; 1 - p_ij in DPH-F."""
        if self.focal:
            return -torch.expm1(-nll.detach())
        cos = cosine(h.rows.detach(), h.columns.detach(), h.inner.detach())
        if self.mode == "authors":  # whose code is no clamp: 0.995 stays, 1 becomes 0.99
            cos = torch.where(cos.abs() >= 1 - COSINE_EDGE, 0.99 * cos.sign(), cos)
        return (0.5 - similarity.similar) * cos + 0.5

    def alpha(self, similarity: PairBlock) -> torch.Tensor:
        """eq. 9: |S_i||S_j| / sqrt(|S_i^1||S_j^1|) for similar pairs, with S^0 for dissimilar ones."""
        whole = (similarity.rows, similarity.columns)
        rows, columns = whole if self.alpha_scope == "dataset" else similarity.counted()
        similar, dissimilar = zip(rows.roots(), columns.roots(), strict=True)
        return torch.outer(*dissimilar).lerp(torch.outer(*similar), similarity.similar)

    def authors_cross_entropy(self, nll: torch.Tensor, h: Codes, similarity: PairBlock) -> torch.Tensor:
        """A loss whose gradient is the released code's: (2/C) sum a_ij (f_ij / mean f) nll_ij, C = sum a_ij."""
        a, f = torch.ones_like(nll), torch.ones_like(nll)
        if self.weighted:
            (total, row, _), (other, column, _) = (counts.floored() for counts in similarity.counted())
            a = torch.where(similarity.similar > 0, torch.outer((total / row).sqrt(), (other / column).sqrt()), 1.0)
            f = power(self.difficulty(nll, h, similarity), self.gamma)
        return 2 * similarity.mean(nll, a, f / similarity.mean(f).clamp_min(1e-8))

    def without_beta(self, h: Codes) -> Codes:
        """The same codes, whose gradient lacks the factor beta as the released code's does: its scaling by 10/K
        reaches the first B numbers of each stream of B codes, that is B/K of them, and no others."""
        scale = h.both.new_full(h.both.shape, 1 / self.beta)
        for stream in scale.split((len(h.rows), len(h.columns))):
            stream.view(-1)[: len(stream)] = 1
        return Codes(h.both + (scale - 1) * (h.both - h.both.detach()), h.size)


@register_method("dph-f", title="DPH-F")
class DPHF(DPH):
    """DPH with the focal loss's difficulty, q_ij = p_ij.

    Differs: as DPH does. q_i of the quantisation stays, as p_i is a density and may exceed 1.
    """

    focal = True


@register_method("dph-w", title="DPH-W")
class DPHW(DPH):
    """DPH without pair weights, w_ij = 1.

    Differs: as DPH does. The quantisation keeps its priority.
    """

    weighted = False


@register_method("dph-q", title="DPH-Q")
class DPHQ(DPH):
    """DPH without the quantisation term, 1/epsilon = 0.

    Differs: as DPH does.
    """

    inv_epsilon: float = parameter(0.0, least=0, doc="1/epsilon of the prior; 0: it is flat, and there is no such term")
