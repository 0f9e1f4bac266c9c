"""DHN, Deep Hashing Network: pairwise cross-entropy on tanh codes, and a smooth penalty for leaving {-1, +1}."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import Codes, PairBlock, PairwiseMethod, cross_entropy, log_cosh, torch


@register_method("dhn", title="DHN", paper="Zhu et al., AAAI 2016", groups=("paper",))
class DHN(PairwiseMethod):
    """L = mean_ij [softplus(t_ij) - s_ij t_ij] + lambda mean_i sum_k log cosh(|h_ik| - 1), t_ij = <h_i, h_j>.

    h = tanh(u). The logit has no factor 10/K as later methods have: at 64 bits it saturates early, as in the original.
    Bits are summed, as in the gradient of the released code; only the loss that it prints is a mean over them.

    Differs: pairs are those of two streams, an image's pair with itself left out, where the released code pairs a batch
    with itself; that is how all pairwise methods here are trained. lambda is a tenth of the released one, by
    cross-validation.

    @inproceedings{zhu2016dhn, title={Deep Hashing Network for Efficient Similarity Retrieval}, author={Zhu, Han and
      Long, Mingsheng and Wang, Jianmin and Cao, Yue}, booktitle={AAAI Conference on Artificial Intelligence},
      year={2016}}
    """

    adam_decay = 4.0  # by cross-validation: a logit without 10/K saturates

    quantization: float = parameter(
        0.03, least=0, search=[0, 0.003, 0.03, 0.3], doc="lambda; 0.3 in the released code, a tenth by cross-validation"
    )

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        h = codes.tanh()
        likelihood = similarity.mean(cross_entropy(h.inner, similarity.similar))
        return likelihood + self.quantization * log_cosh(h.both.abs() - 1).sum(1).mean()
