"""GreedyHash: a classifier is trained on the codes themselves, and their gradient goes straight through the sign."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import PointwiseMethod, class_cross_entropy, cross_entropy, straight_through_sign, torch


@register_method("greedyhash", title="GreedyHash", paper="Su et al., NeurIPS 2018")
class GreedyHash(PointwiseMethod):
    """L = mean_i CE(W b_i, y_i) + k mean_ij | |u_ij| - 1 |^3, b = sign(u) with the gradient of b taken for that of u.

    W is a linear classifier without bias. The sign is never 0.

    Differs: the paper knows one label per row. Where rows have several, CE is the sum of binary cross-entropies over
    the classes, and W has a bias that starts at the log odds of the classes: without it the first thing learned is that
    most classes are rare, for which bits become constant.

    @inproceedings{su2018greedyhash, title={Greedy Hash: Towards Fast Optimization for Accurate Hash Coding in {CNN}},
      author={Su, Shupeng and Zhang, Chao and Han, Kai and Tian, Yonghong}, booktitle={Advances in Neural Information
      Processing Systems}, year={2018}}
    """

    penalty: float = parameter(0.1, least=0, search=[0, 0.1, 1, 3], doc="k; released: 0.1 for CIFAR-10, 1 for ImageNet")

    def make_classifier(self, classes: int) -> torch.nn.Module:
        classifier = torch.nn.Linear(self.bits, classes, bias=self.multi_label)
        if self.multi_label:
            share = (self.class_sizes + 1) / (self.labelled_rows + 2)  # never 0 or 1
            classifier.bias.data = torch.logit(share)
        return classifier

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        logits = self.classifier(straight_through_sign(outputs))
        entropy = cross_entropy(logits, labels).sum(1) if self.multi_label else class_cross_entropy(logits, labels)
        return entropy.mean() + self.penalty * (outputs.abs() - 1).abs().pow(3).mean()
