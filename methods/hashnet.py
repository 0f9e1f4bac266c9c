"""HashNet: weighted pairwise cross-entropy, and a tanh that sharpens into the sign function during training."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import Codes, PairBlock, PairwiseMethod, cross_entropy, torch


@register_method("hashnet", title="HashNet", paper="Cao et al., ICCV 2017", groups=("paper",))
class HashNet(PairwiseMethod):
    """L = sum w_ij [softplus(t_ij) - s_ij t_ij] / sum w_ij, t_ij = c <h_i, h_j>, h = tanh(beta_t u).

    w_ij = |S|/|S_1| for similar and |S|/|S_0| for dissimilar pairs over the whole training set; beta_t = sqrt(1 +
    growth t) in stages.

    Differs: the paper's factor for the share of common labels needs labels, which a pairwise method is not shown. The
    50 stages of 200 iterations are stretched over the training at hand, and the logit is half the released one, by
    cross-validation.

    @inproceedings{cao2017hashnet, title={{HashNet}: Deep Learning to Hash by Continuation}, author={Cao, Zhangjie and
      Long, Mingsheng and Wang, Jianmin and Yu, Philip S.}, booktitle={IEEE International Conference on Computer
      Vision}, year={2017}}
    """

    adam_decay = 2.5  # by cross-validation: what is sharpened should be small

    growth: float = parameter(0.005, least=0, search=[0, 0.001, 0.005, 0.02], doc="of beta_t^2 a step, as released")
    logit_scale: float = parameter(
        0.5, least=0, search=[0.25, 0.5, 1, 2], doc="c against 10/K, or 10/sqrt(64 K) in Adam; 1 as released"
    )

    def beta(self, step: int) -> float:
        """The sharpness of tanh: the published 50 stages of 200 iterations, stretched over this training."""
        return float(1 + self.growth * 200 * (step * 50 // self.steps)) ** 0.5

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        total, similar, dissimilar = similarity.whole.floored()
        weights = torch.where(similarity.similar > 0, total / similar, total / dissimilar)
        logit = self.logit_scale * self.logit_unit * codes.tanh(self.beta(step)).inner
        return similarity.mean(cross_entropy(logit, similarity.similar), weights)
