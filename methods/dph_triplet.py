"""DPH for relative similarity, the outlook of its paper: i is more like j than like k (see docs/dph-triplet.md)."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import Codes, TripletMethod, Triplets, cosine, cross_entropy, power, priority_quantization, torch


@register_method("dph-triplet", title="DPH-triplet", paper="after the outlook of Cao et al., ACM MM 2018")
class DPHTriplet(TripletMethod):
    """L = sum alpha_ijk (1 - q_ijk)^gamma softplus(t_ik - t_ij) / sum alpha_ijk + Q/epsilon, t_ij = beta <h_i, h_j>.

    alpha_ijk = alpha_ij alpha_ik, the paper's eq. 9 of a similar and a dissimilar pair; q_ijk = (q_ij + q_ik)/2, eq. 8;
    Q is eq. 14.

    Differs: not a published method, so there is no original; the paper's outlook names the task alone. gamma, beta and
    1/epsilon are taken over from DPH on pairs.

    @inproceedings{cao2018dph, title={Deep Priority Hashing}, author={Cao, Zhangjie and Sun, Ziping and Long, Mingsheng
      and Wang, Jianmin and Yu, Philip S.}, booktitle={ACM International Conference on Multimedia}, year={2018}}
    """

    gamma: float = parameter(0.1, least=0, search=[0, 0.1, 0.5, 1], doc="exponent of the priority; 0.1 as for pairs")
    logit_scale: float = parameter(1.0, least=0, search=[0.25, 0.5, 1, 2], doc="beta in units of 10/K, as for pairs")
    inv_epsilon: float = parameter(0.1, least=0, search=[0.01, 0.1, 1], doc="1/epsilon of the prior; as for pairs")

    def loss(self, codes: Codes, triplets: Triplets, step: int) -> torch.Tensor:
        h = codes.tanh()
        closer, further = triplets.of(self.logit_scale * self.logit_unit * h.inner)
        nll = cross_entropy(closer - further, torch.ones_like(closer))
        near, far = triplets.of(cosine(h.rows.detach(), h.columns.detach(), h.inner.detach()))
        priority = power((2 - near + far) / 4, self.gamma)  # of 1 - q_ijk
        relative = triplets.mean(nll, triplets.rarity(), priority)
        return relative + self.inv_epsilon * priority_quantization(h.both, self.gamma)
