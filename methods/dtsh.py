"""DTSH, Deep supervised hashing with Triplet labels: the likelihood of triplets at a margin, no tanh."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import Codes, TripletMethod, Triplets, binary, cross_entropy, torch


@register_method("dtsh", title="DTSH", paper="Wang et al., ACCV 2016")
class DTSH(TripletMethod):
    """L = mean over triplets of softplus(a - theta_ij + theta_ik) + lambda mean_i ||u_i - sign(u_i)||^2.

    theta = <u, u'>/2, a = K/2, i more like j than like k.

    Differs: triplets are drawn inside the batch from similar and dissimilar pairs, which needs no labels; the released
    code draws 50 x 50 for every class from stored outputs, by labels. Its lambda 100 stands against a sum over an
    image's 22,500 triplets: 0.0044 against their mean.

    @inproceedings{wang2016dtsh, title={Deep Supervised Hashing with Triplet Labels}, author={Wang, Xiaofang and Shi, Yi
      and Kitani, Kris M.}, booktitle={Asian Conference on Computer Vision}, year={2016}}
    """

    margin: float = parameter(0.5, least=0, search=[0.1, 0.25, 0.5], doc="a / K; 1/2 as released")
    quantization: float = parameter(
        0.0044, least=0, search=[0.001, 0.0044, 0.02, 0.1], doc="lambda; 0.0044 as released, against a mean"
    )

    def loss(self, codes: Codes, triplets: Triplets, step: int) -> torch.Tensor:
        closer, further = triplets.of(codes.inner / 2)
        ahead = closer - further - self.margin * self.bits
        off = (codes.both - binary(codes.both.detach())).square().sum(1).mean()
        return triplets.mean(cross_entropy(ahead, torch.ones_like(ahead))) + self.quantization * off
