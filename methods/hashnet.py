"""HashNet: weighted pairwise cross-entropy, and a tanh that sharpens into the sign function during training."""

from __future__ import annotations

import math

from benchmark import register_method
from benchmark.deep import Codes, PairBlock, PairwiseMethod, Training, cross_entropy, torch

ITERATIONS = 10_000  # of the published schedule, to which a shorter training's steps are stretched
STAGE = 200  # iterations between two values of beta


@register_method(
    "hashnet",
    title="HashNet",
    family="deep",
    input="images",
    needs="similarity",
    paper="Cao et al., ICCV 2017",
)
class HashNet(PairwiseMethod):
    """L = sum w_ij [softplus(t_ij) - s_ij t_ij] / sum w_ij, t_ij = (10/K) <h_i, h_j>, h = tanh(beta_t u).

    w_ij = |S|/|S_1| for similar and |S|/|S_0| for dissimilar pairs over the whole training set; beta_t =
    sqrt(1 + growth t) in stages. The paper's factor for the share of common labels needs labels, which a pairwise
    method is not shown.
    """

    rate = 3.0  # by cross-validation at 16 and 64 bits; perhaps since a sharper tanh passes less gradient

    def __init__(
        self,
        bits: int,
        seed: int = 0,
        *,
        growth: float = 0.005,  # of beta_t squared per iteration: 1 at the start, 7.14 at the end
        scaling: str = "center-l2",
        training: Training | None = None,
    ) -> None:
        super().__init__(bits, seed, scaling=scaling, training=training)
        self.growth = growth

    def beta(self, step: int) -> float:
        """The sharpness of tanh at this step, the published schedule stretched over this training."""
        iteration = step * ITERATIONS / self.training.steps
        return math.sqrt(1 + self.growth * STAGE * (iteration // STAGE))

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        h = codes.tanh(self.beta(step))
        total, similar, dissimilar = similarity.whole.floored()
        weights = torch.where(similarity.similar > 0, total / similar, total / dissimilar)
        return similarity.mean(cross_entropy(10 / self.bits * h.inner, similarity.similar), weights)
