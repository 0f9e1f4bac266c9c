"""CIBHash: two views of an image have the same code, other images have other codes; no labels."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import UnsupervisedMethod, binary, cosine, cross_entropy, straight_through, torch


@register_method("cibhash", title="CIBHash", paper="Qiu et al., IJCAI 2021")
class CIBHash(UnsupervisedMethod):
    """L = mean over views of -log [e^(cos(z, z+)/T) / sum_{z' != z} e^(cos(z, z')/T)] + beta mean KL(p || p+).

    p = sigmoid(u), z = sign(p - 1/2) forward and p - 1/2 backward, z+ and p+ the other view of the same row; KL is of
    Bernoulli bits, both ways halved, its second argument constant.

    Differs: views are made by dropout before the hash layer, since features that were computed once have no crops;
    where a profile augments images, their views differ in that too. The hash layer is linear as everywhere here; the
    authors' has 1,024 hidden units.

    @inproceedings{qiu2021cibhash, title={Unsupervised Hashing with Contrastive Information Bottleneck}, author={Qiu,
      Zexuan and Su, Qinliang and Ou, Zijing and Yu, Jianxing and Chen, Changyou}, booktitle={International Joint
      Conference on Artificial Intelligence}, year={2021}}
    """

    views = 2
    temperature: float = parameter(0.3, least=1e-3, search=[0.2, 0.3, 0.5], doc="T; 0.3 as released")
    beta: float = parameter(0.001, least=0, search=[0, 0.001, 0.01], doc="of KL; 0.001 as released")
    dropout: float = parameter(0.3, least=0, search=[0.1, 0.3, 0.5], doc="share of features a view lacks; own choice")

    def head(self, dimension: int) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Dropout(self.dropout), super().head(dimension))

    def loss(self, outputs: torch.Tensor, features: torch.Tensor, step: int) -> torch.Tensor:
        rows = torch.arange(len(outputs), device=outputs.device)
        p, other = torch.sigmoid(outputs), rows.roll(len(rows) // 2)
        z = straight_through(p - 0.5, binary(outputs))
        alike = (cosine(z, z) / self.temperature).masked_fill(rows[:, None] == rows, -torch.inf)
        kl = cross_entropy(outputs[other].detach(), p) - cross_entropy(outputs, p)
        return torch.nn.functional.cross_entropy(alike, other) + self.beta * kl.sum(1).mean()
