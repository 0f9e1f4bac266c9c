"""DCH, Deep Cauchy Hashing: similarity falls off like a Cauchy density, which gathers similar codes in a small ball."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import Codes, PairBlock, PairwiseMethod, cosine, torch


@register_method("dch", title="DCH", paper="Cao et al., CVPR 2018")
class DCH(PairwiseMethod):
    """L = sum w_ij [s_ij log(d_ij/gamma) + log(1 + gamma/d_ij)] / sum w_ij + lambda mean_i log(1 + d(|h_i|, 1)/gamma).

    d = K/2 (1 - cos) is the Hamming distance of codes, h = tanh(u); p(similar) = gamma / (gamma + d). w_ij = |S|/|S_1|
    for similar and |S|/|S_0| for dissimilar pairs of the training set.

    Differs: this is the paper's text; the released code takes ||h_i - h_j||^2 for d, weighs similar pairs alone, and
    has (|h| - 1)^2 at weight 0 for the second term. The sum is divided by that of the weights, so that rates do not
    depend on them.

    @inproceedings{cao2018dch, title={Deep {Cauchy} Hashing for {Hamming} Space Retrieval}, author={Cao, Yue and Long,
      Mingsheng and Liu, Bin and Wang, Jianmin}, booktitle={IEEE Conference on Computer Vision and Pattern Recognition},
      year={2018}}
    """

    gamma: float = parameter(
        5.0, least=1e-3, search=[2, 5, 10, 20], doc="in bits; 20 as released, of ||h_i - h_j||^2, 4 times as large"
    )
    quantization: float = parameter(
        0.1, least=0, search=[0, 0.01, 0.1, 1], doc="lambda; 0 as released, cross-validated in the paper"
    )

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        h, (total, similar, dissimilar) = codes.tanh(), similarity.whole.floored()
        odds = self.bits / (2 * self.gamma) * (1 - cosine(h.rows, h.columns, h.inner))  # d / gamma, never 0
        apart = torch.log1p(1 / odds)  # -log p(dissimilar); that of similar has log odds more
        weights = torch.where(similarity.similar > 0, total / similar, total / dissimilar)
        pairs = similarity.mean(apart + similarity.similar * odds.log(), weights)
        off = self.bits / (2 * self.gamma) * (1 - cosine(h.both.abs(), torch.ones_like(h.both[:1])))
        return pairs + self.quantization * torch.log1p(off).mean()
