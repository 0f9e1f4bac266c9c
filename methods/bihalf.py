"""BiHalf: each bit is +1 for one half of a batch and -1 for the other, so that it tells as much as a bit can."""

from __future__ import annotations

from benchmark import parameter, register_method
from benchmark.deep import UnsupervisedMethod, cosine_mismatch, straight_through, torch


@register_method("bihalf", title="BiHalf", paper="Li & van Gemert, AAAI 2021")
class BiHalf(UnsupervisedMethod):
    """L = mean (cos(b, b') - cos(x, x'))^2 + (gamma/2) mean (u - b)^2: the second term is the released backward pass,
    which adds gamma (U - B)/(N K) to a gradient that goes straight through B.

    B has +1 for the upper half of each column of U and -1 for the rest; an image's code is sign(u), whatever its batch.
    Pairs are those of the first half of a batch with its second half, one to one.

    Differs: x are the scaled features that the hash layer sees, centred by default as for every method, where the
    released code has them as they leave a ReLU.

    @inproceedings{li2021bihalf, title={Deep Unsupervised Image Hashing by Maximizing Bit Entropy}, author={Li, Yunqiang
      and van Gemert, Jan}, booktitle={AAAI Conference on Artificial Intelligence}, year={2021}}
    """

    gamma: float = parameter(6.0, least=0, search=[0.6, 2, 6, 20], doc="of the pull to b; 6 as released")

    @property
    def sgd_rate(self) -> float:
        """The pull is steep, and at the rate of other losses few bits run away; the released rate is 1e-4."""
        return 0.1

    def loss(self, outputs: torch.Tensor, features: torch.Tensor, step: int) -> torch.Tensor:
        upper = outputs.argsort(dim=0, descending=True, stable=True)[: len(outputs) // 2]
        codes = torch.full_like(outputs, -1).scatter(0, upper, 1.0).detach()
        pull = (outputs - codes).square().mean()
        return cosine_mismatch(straight_through(outputs, codes), features) + self.gamma / 2 * pull
