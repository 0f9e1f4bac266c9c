"""JMLH, just maximise the likelihood: a classifier on random codes whose probabilities the network gives."""

from __future__ import annotations

from math import log

from benchmark import parameter, register_method
from benchmark.deep import PointwiseMethod, class_cross_entropy, straight_through_sign, torch


@register_method("jmlh", title="JMLH", paper="Shen et al., ICCV Workshops 2019")
class JMLH(PointwiseMethod):
    """L = mean_i CE(W b_i + a, y_i) + lambda mean_i sum_k KL(q_ik || 1/2), q = sigmoid(u), b = +1 with probability q.

    The gradient of b is taken for that of its mean, 2q - 1 = tanh(u/2). A code is the likelier sign. KL is log 2 less
    the entropy of q, written so that no u overflows.

    Differs: several labels have targets y / sum y, a choice of ours; else nothing that we know of.

    @inproceedings{shen2019jmlh, title={Embarrassingly Simple Binary Representation Learning}, author={Shen, Yuming and
      Qin, Jie and Chen, Jiaxin and Liu, Li and Zhu, Fan and Shen, Ziyi}, booktitle={IEEE/CVF International Conference
      on Computer Vision Workshops}, year={2019}}
    """

    adam_decay = 0.05  # by one fold of each miniature: a bit that is to be sure needs an output far from 0

    prior: float = parameter(0.1, least=0, search=[0, 0.01, 0.1, 1], doc="lambda; 0.1 in public code")

    def make_classifier(self, classes: int) -> torch.nn.Module:
        return torch.nn.Linear(self.bits, classes)

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        drawn = straight_through_sign(torch.tanh(outputs / 2) + 2 * torch.rand_like(outputs) - 1)
        softplus, q = torch.nn.functional.softplus, torch.sigmoid(outputs)
        entropy = q * softplus(-outputs) + (1 - q) * softplus(outputs)
        likelihood = class_cross_entropy(self.classifier(drawn), labels).mean()
        return likelihood + self.prior * (log(2) - entropy).sum(1).mean()
