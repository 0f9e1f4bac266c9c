"""DPN, Deep Polarized Network: each output is pushed a margin beyond zero, to the side that its class says."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import CentredMethod, torch


@register_method("dpn", title="DPN", paper="Fan et al., IJCAI 2020")
class DPN(CentredMethod):
    """L = mean_i sum_c y_ic sum_k max(0, m - u_ik t_ck), t_c the fixed random code of class c; no tanh.

    A row with several labels is pushed by each of them. Sums over its labels are taken bit by bit: so many of them want
    +1, so many -1.

    Differs: the paper's ternary codes, and its renewal of targets by the majority of a class, are left out: codes here
    are binary, and targets are fixed.

    @inproceedings{fan2020dpn, title={Deep Polarized Network for Supervised Learning of Accurate Binary Hashing Codes},
      author={Fan, Lixin and Ng, Kam Woh and Ju, Ce and Zhang, Tianyu and Chan, Chee Seng}, booktitle={International
      Joint Conference on Artificial Intelligence}, year={2020}}
    """

    adam_decay = 0.2  # as for every loss without a tanh: outputs must themselves reach the margin

    margin: float = parameter(1.0, least=0, search=[0.5, 1, 2], doc="m; 1 in public code")

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        wanted, labels_of = labels @ self.centres, labels.sum(1, keepdim=True)
        plus, minus = (labels_of + wanted) / 2, (labels_of - wanted) / 2  # labels that want this bit +1, and -1
        hinge = plus * (self.margin - outputs).clamp_min(0) + minus * (self.margin + outputs).clamp_min(0)
        return hinge.sum(1).mean()
