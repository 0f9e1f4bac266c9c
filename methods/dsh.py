"""DSH, Deep Supervised Hashing: similar codes together, dissimilar ones at least a margin apart, no tanh."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import Codes, PairBlock, PairwiseMethod, torch


@register_method("dsh", title="DSH", paper="Liu et al., CVPR 2016", groups=("paper",))
class DSH(PairwiseMethod):
    """L = 1/2 mean_ij [s D/2 + (1 - s) max(m - D, 0)/2] + a mean_i || |u_i| - 1 ||_1, D = ||u_i - u_j||^2, m = 2K.

    The margin is on the squared distance: for codes of +-1 it asks for a Hamming distance of K/2. The half in front is
    the released code's, which sums each pair once and divides by B (B - 1).

    Differs: pairs are those of two streams, as for all pairwise methods here, where the paper pairs one batch with
    itself; and batches are of all classes, where the authors draw them from a few.

    @inproceedings{liu2016dsh, title={Deep Supervised Hashing for Fast Image Retrieval}, author={Liu, Haomiao and Wang,
      Ruiping and Shan, Shiguang and Chen, Xilin}, booktitle={IEEE Conference on Computer Vision and Pattern
      Recognition}, year={2016}}
    """

    adam_decay, adam_rate = 0.35, 18.0  # by cross-validation: without a tanh, outputs must themselves reach 1

    margin: float = parameter(2.0, least=0, doc="m / K, of the squared distance; 2 in the paper")
    quantization: float = parameter(0.01, least=0, search=[0, 0.001, 0.01, 0.1], doc="a; 0.01 in the paper")

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        distance, similar = codes.squared_distance(), similarity.similar
        apart = (self.margin * self.bits - distance).clamp_min(0)
        pairs = similarity.mean(torch.where(similar > 0, distance, apart)) / 4
        return pairs + self.quantization * (codes.both.abs() - 1).abs().sum(1).mean()
