"""DSH, Deep Supervised Hashing: similar codes together, dissimilar ones at least a margin apart, no tanh."""

from __future__ import annotations

from benchmark import register_method
from benchmark.deep import Codes, PairBlock, PairwiseMethod, Training, torch


@register_method("dsh", title="DSH", family="deep", input="images", needs="similarity", paper="Liu et al., CVPR 2016")
class DSH(PairwiseMethod):
    """L = mean_ij [s D/2 + (1 - s) max(m - D, 0)/2] + a mean_i || |u_i| - 1 ||_1, D = ||u_i - u_j||^2, m = 2K.

    The margin is on the squared distance: for codes of +-1 it asks for a Hamming distance of K/2. Pairs are those of
    two streams, where the paper pairs one batch with itself.
    """

    rate = 0.3  # by cross-validation: at the profile's rate it diverged on COCO

    def __init__(
        self,
        bits: int,
        seed: int = 0,
        *,
        margin: float = 2.0,  # m / K
        quantization: float = 0.01,  # a
        scaling: str = "center-l2",
        training: Training | None = None,
    ) -> None:
        super().__init__(bits, seed, scaling=scaling, training=training)
        self.margin, self.quantization = margin, quantization

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        distance, similar = codes.squared_distance(), similarity.similar
        apart = (self.margin * self.bits - distance).clamp_min(0)
        pairs = similarity.mean(torch.where(similar > 0, distance, apart)) / 2
        return pairs + self.quantization * (codes.both.abs() - 1).abs().sum(1).mean()
