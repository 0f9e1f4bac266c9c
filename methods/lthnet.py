"""LTHNet, hashing under a long tail: class-balanced cross-entropy, and a memory of what the classes look like.

`class-balanced` is the same without the memory: what LTHNet is to be compared with.
"""

from __future__ import annotations

from typing import Any, Self

from benchmark import Split, parameter, register_method
from benchmark.deep import PointwiseMethod, class_balanced_weights, class_cross_entropy, torch


@register_method("class-balanced", title="CB-CE", paper="Cui et al., CVPR 2019")
class ClassBalanced(PointwiseMethod):
    """Class-balanced cross-entropy: L = -mean_i w_y log softmax(W h_i + a)_y, h = tanh(u), w_c = (1 - beta) / (1 -
    beta^n_c) over the largest.

    n_c are the training rows of class c. Several labels have targets y / sum y, each with its weight.

    Differs: the original classifies images and is no hashing method: here it classifies tanh codes, as LTHNet does,
    which is to be compared with it. Weights are divided by the largest, where the paper makes their sum the number of
    classes.

    @inproceedings{cui2019balanced, title={Class-Balanced Loss Based on Effective Number of Samples}, author={Cui, Yin
      and Jia, Menglin and Lin, Tsung-Yi and Song, Yang and Belongie, Serge}, booktitle={IEEE/CVF Conference on Computer
      Vision and Pattern Recognition}, year={2019}}
    """

    beta: float = parameter(
        0.99,
        least=0,
        search=[0, 0.9, 0.99, 0.999],
        doc="0: plain cross-entropy; 0.99 in the help of LTHNet's code, which runs 0",
    )

    def make_centres(self, classes: int) -> torch.Tensor:
        """The weights of the classes, in the place of centres."""
        return class_balanced_weights(self.class_sizes, self.beta)

    def make_classifier(self, classes: int) -> torch.nn.Module:
        return torch.nn.Linear(self.bits, classes)

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        return class_cross_entropy(self.classifier(torch.tanh(outputs)), labels, self.centres).mean()


@register_method("lthnet", title="LTHNet", paper="Chen et al., SIGIR 2021")
class LTHNet(ClassBalanced):
    """The loss of class-balanced on features with a memory of the classes: u = V (x + tanh(W x) * softmax(W' x) M), M
    the mean features of the classes.

    Differs: M is renewed each epoch from the features of its batches, where the authors pass over all rows once more;
    in the first epoch it is zero. x are the framework's scaled features, without the released layer of 2,000 units. A
    class whose rows an epoch did not meet keeps its mean, where the released code divides by zero.

    @inproceedings{chen2021lthnet, title={Long-Tail Hashing}, author={Chen, Yong and Hou, Yuqing and Leng, Shu and
      Zhang, Qing and Lin, Zhouchen and Zhang, Dell}, booktitle={International ACM SIGIR Conference on Research and
      Development in Information Retrieval}, year={2021}}
    """

    memory: Any = None

    def fit(self, train: Split) -> Self:
        self.classes = train.required_labels().shape[1]
        return super().fit(train)

    def head(self, dimension: int) -> torch.nn.Module:
        from benchmark.deep.network import ClassMemory

        self.memory = ClassMemory(dimension, self.classes)
        return torch.nn.Sequential(self.memory, super().head(dimension))

    def objective(self, outputs: torch.Tensor, target: torch.Tensor, step: int) -> torch.Tensor:
        if self.memory is not None:
            self.memory.note(target, self.labelled_rows)
        return super().objective(outputs, target, step)
