"""GreedyHash without labels: codes whose cosines are those of the features, learned straight through the sign."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import UnsupervisedMethod, cosine_mismatch, straight_through_sign, torch


@register_method("greedyhash-u", title="GreedyHash (unsupervised)", paper="Su et al., NeurIPS 2018")
class GreedyHashU(UnsupervisedMethod):
    """L = mean (cos(b, b') - cos(x, x'))^2 + k mean | |u| - 1 |^3, b = sign(u) forward and the identity backward.

    Pairs are those of the first half of a batch with its second half, one to one.

    Differs: x are the scaled features that the hash layer sees, centred by default as for every method; the released
    code takes them as they leave a ReLU, with cosines above 0 only.

    @inproceedings{su2018greedyhash, title={Greedy Hash: Towards Fast Optimization for Accurate Hash Coding in {CNN}},
      author={Su, Shupeng and Zhang, Chao and Han, Kai and Tian, Yonghong}, booktitle={Advances in Neural Information
      Processing Systems}, year={2018}}
    """

    penalty: float = parameter(0.1, least=0, search=[0, 0.01, 0.1, 1], doc="k; 0.1 as released")

    def loss(self, outputs: torch.Tensor, features: torch.Tensor, step: int) -> torch.Tensor:
        off = (outputs.abs() - 1).abs().pow(3).mean()
        return cosine_mismatch(straight_through_sign(outputs), features) + self.penalty * off
