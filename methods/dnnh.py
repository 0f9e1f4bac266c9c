"""DNNH, the simultaneous feature learning and hashing network: triplets, and a divide-and-encode head."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import Codes, TripletMethod, Triplets, straight_through, torch


@register_method("dnnh", title="DNNH", paper="Lai et al., CVPR 2015", groups=("paper",))
class DNNH(TripletMethod):
    """L = mean over triplets of max(0, 1 + ||F - F+||^2 - ||F - F-||^2), F = threshold(sigmoid(u)) in [0, 1]^K.

    The head makes `width` units for each bit and encodes each bit from its own units alone. The threshold sends what is
    further than epsilon from 1/2 to 0 or 1.

    Differs: the threshold's gradient is passed straight through, where the paper's is zero and a saturated bit never
    changes again; by default there is no threshold. 10 units per bit, where the paper has 50, for the cost of a step.
    The network before the head is the one that all methods share, not the paper's.

    @inproceedings{lai2015dnnh, title={Simultaneous Feature Learning and Hash Coding with Deep Neural Networks},
      author={Lai, Hanjiang and Pan, Yan and Liu, Ye and Yan, Shuicheng}, booktitle={IEEE Conference on Computer Vision
      and Pattern Recognition}, year={2015}}
    """

    width: int = parameter(10, least=1, doc="units per bit; the paper has 50, five times the cost of a step")
    epsilon: float = parameter(0.5, least=0, search=[0.1, 0.3, 0.5], doc="half width of its slope; 0.5: no threshold")

    def head(self, dimension: int) -> torch.nn.Module:
        from benchmark.deep.network import divide_and_encode

        return divide_and_encode(dimension, self.bits, self.width)

    def loss(self, codes: Codes, triplets: Triplets, step: int) -> torch.Tensor:
        closer, further = triplets.of(Codes(self.squashed(codes.both), codes.size).squared_distance())
        return triplets.mean((1 + closer - further).clamp_min(0))

    def squashed(self, outputs: torch.Tensor) -> torch.Tensor:
        v = torch.sigmoid(outputs)
        return straight_through(v, torch.where((v - 0.5).abs() > self.epsilon, (v > 0.5).to(v.dtype), v))
