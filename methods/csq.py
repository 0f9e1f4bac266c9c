"""CSQ, Central Similarity Quantization: each class has a code of its own, and bits are classified to match it."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import CENTRE_KINDS, CentredMethod, CentreKind, binary, cross_entropy, torch


@register_method("csq", title="CSQ", paper="Yuan et al., CVPR 2020")
class CSQ(CentredMethod):
    """L = mean_ik BCE((1 + h_ik)/2, (1 + c_ik)/2) + lambda mean_ik (|h_ik| - 1)^2, h = tanh(u).

    c_i is the centre of the row's class: a Hadamard row or its negative, half the bits or all of them from any other. A
    row with several labels takes the majority vote of its centres, and one fixed random vector breaks ties. (1 + h)/2
    is sigmoid(2u), so the first term is stable at any u.

    Differs: the paper draws balanced coins where the number of bits is no power of two or below half the number of
    classes; here 48 bits have their Hadamard matrix too, and beyond it words are drawn at the distance of Gilbert and
    Varshamov (as Center-Hashing does), since coins may fall close together.

    @inproceedings{yuan2020csq, title={Central Similarity Quantization for Efficient Image and Video Retrieval},
      author={Yuan, Li and Wang, Tao and Zhang, Xiaopeng and Tay, Francis E. H. and Jie, Zequn and Liu, Wei and Feng,
      Jiashi}, booktitle={IEEE/CVF Conference on Computer Vision and Pattern Recognition}, year={2020}}
    """

    centre_kind: CentreKind = parameter("hadamard", search=CENTRE_KINDS, doc="of class codes; Hadamard in the paper")
    quantization: float = parameter(0.001, least=0, search=[0, 1e-4, 1e-3, 0.1], doc="lambda; 1e-4 for 64 bits there")

    def make_centres(self, classes: int) -> torch.Tensor:
        """The vector that breaks ties, then a centre for each class."""
        return torch.cat([binary(torch.randn(1, self.bits)), super().make_centres(classes)])

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        votes = labels @ self.centres[1:] + 0.5 * self.centres[0]  # votes are whole: half of one decides ties only
        central = cross_entropy(2 * outputs, (votes > 0).float()).mean()
        return central + self.quantization * (torch.tanh(outputs).abs() - 1).square().mean()
