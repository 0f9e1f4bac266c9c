"""IDHN, Improved Deep Hashing Network: images that share some labels, but not all, are similar to a degree."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import Codes, PairBlock, PairwiseMethod, cross_entropy, torch


@register_method("idhn", title="IDHN", needs="labels", paper="Zhang et al., TMM 2020")
class IDHN(PairwiseMethod):
    """L = mean_ij l_ij + lambda mean | |h| - 1 |, h = u / (1 + |u|), s_ij the cosine of the label vectors: l =
    softplus(t) - s t, t = (5/K) <h_i, h_j>, where s is 0 or 1; else gamma K ((<h_i, h_j>/K + 1)/2 - s)^2.

    <h_i, h_j> runs from -K to K, so the target of a soft pair is K (2 s - 1), as in the authors' code. Hard pairs are
    all that single-label data have.

    Differs: from a public port, which halves the product but not the target, which no code can then reach; from the
    authors' code in the two streams that pairs come from, as for all pairwise methods here.

    @article{zhang2020idhn, title={Improved Deep Hashing with Soft Pairwise Similarity for Multi-label Image Retrieval},
      author={Zhang, Zheng and Zou, Qin and Lin, Yuewei and Chen, Long and Wang, Song}, journal={IEEE Transactions on
      Multimedia}, volume={22}, number={2}, year={2020}}
    """

    graded = True
    gamma: float = parameter(0.1, least=0, search=[0.01, 0.1, 1], doc="of soft pairs; 0.1 as released")
    logit_scale: float = parameter(5.0, least=0, search=[2.5, 5, 10], doc="K times the factor of t; 5 as released")
    quantization: float = parameter(0.1, least=0, search=[0, 0.01, 0.1, 1], doc="lambda; 0.1 as released")

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        h, s = Codes(torch.nn.functional.softsign(codes.both), codes.size), similarity.similar
        hard = cross_entropy(self.logit_scale / self.bits * h.inner, s)
        soft = self.gamma * self.bits * ((h.inner / self.bits + 1) / 2 - s).square()
        pairs = similarity.mean(torch.where((s == 0) | (s == 1), hard, soft))
        return pairs + self.quantization * (h.both.abs() - 1).abs().mean()
