"""HyP2: learned proxies of the classes, and rows of several labels that have none in common held apart."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import PointwiseMethod, cosine, griesmer_distance, torch


@register_method("hyp2", title="HyP2", paper="Xu et al., ACM MM 2022")
class HyP2(PointwiseMethod):
    """L = mean of 1 - cos(u, P_c) over rows and their classes + mean of max(0, cos(u, P_c) - zeta) over rows and other
    classes + beta mean of max(0, cos(u, u') - zeta) over pairs of rows, both of several labels, that share none.

    zeta is a cosine that the codes of all classes cannot stay below: 1 - 2 d/K, d the largest distance that Griesmer's
    bound leaves to a linear code of as many words as there are classes (to the next power of two). More classes or
    fewer bits: larger zeta.

    Differs: the released code reads zeta from a table by bits and log2 of the classes, which is not among its files; by
    its shape it is that of the best linear codes, for which the bound stands here.

    @inproceedings{xu2022hyp2, title={{HyP$^2$} Loss: Beyond Hypersphere Metric Space for Multi-label Image Retrieval},
      author={Xu, Chengyin and Chai, Zenghao and Xu, Zhengzhuo and Yuan, Chun and Fan, Yanbo and Wang, Jue},
      booktitle={ACM International Conference on Multimedia}, year={2022}}
    """

    beta: float = parameter(0.5, least=0, search=[0, 0.25, 0.5, 1], doc="of the term on pairs; 0.5 as released")
    zeta: float | None = parameter(None, least=-1, doc="None: derived from bits and classes")

    def make_classifier(self, classes: int) -> torch.nn.Module:
        """Proxies: the rows of its weight."""
        bound = 1 - 2 * griesmer_distance(classes, self.bits) / self.bits
        self.limit = bound if self.zeta is None else self.zeta
        return torch.nn.Linear(self.bits, classes, bias=False)

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        close, several = cosine(outputs, self.classifier.weight), labels.sum(1) > 1
        apart = (labels @ labels.T == 0) & several & several[:, None]
        terms = ((1 - close, labels), (close - self.limit, 1 - labels), (cosine(outputs, outputs) - self.limit, apart))
        means = [(value.clamp_min(0) * chosen).sum() / chosen.sum().clamp_min(1) for value, chosen in terms]
        return means[0] + means[1] + self.beta * means[2]
