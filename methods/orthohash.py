"""OrthoHash: one loss, the cosine to the fixed code of the class, classified with a margin."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import CentredMethod, class_cross_entropy, cosine, torch


@register_method("orthohash", title="OrthoHash", paper="Hoe et al., NeurIPS 2021")
class OrthoHash(CentredMethod):
    """L = mean_i CE(s (cos(v_i, o_c) - m y_ic)_c, y_i), v = BatchNorm(W x), o_c the fixed random code of class c.

    The margin m is taken off the cosine with each of a row's own classes, whose targets are y / sum y. Batch
    normalisation balances the bits; encoding uses its running statistics.

    Differs: random codes are drawn until all differ, as short ones else may coincide; else nothing that we know of in
    the loss.

    @inproceedings{hoe2021orthohash, title={One Loss for All: Deep Hashing with a Single Cosine Similarity Based
      Learning Objective}, author={Hoe, Jiun Tian and Ng, Kam Woh and Zhang, Tianyu and Chan, Chee Seng and Song, Yi-Zhe
      and Xiang, Tao}, booktitle={Advances in Neural Information Processing Systems}, year={2021}}
    """

    scale: float = parameter(8.0, least=0, search=[4, 8, 16, 32], doc="s; 8 as released")
    margin: float = parameter(0.2, least=0, search=[0, 0.1, 0.2, 0.3], doc="m; 0.2 as released, 0.3 for CIFAR-10")

    def head(self, dimension: int) -> torch.nn.Module:
        layer = torch.nn.Linear(dimension, self.bits, bias=False)
        return torch.nn.Sequential(layer, torch.nn.BatchNorm1d(self.bits))

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        cosines = cosine(outputs, self.centres) - self.margin * labels
        return class_cross_entropy(self.scale * cosines, labels).mean()
