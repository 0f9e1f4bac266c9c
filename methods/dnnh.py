"""DNNH, the simultaneous feature learning and hashing network: triplets, and a divide-and-encode head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.deep import Codes, DeepMethod, PairStreams, torch, triplets
from benchmark.seeds import generator


@dataclass(frozen=True)
class Triplets:
    """i among the rows of a batch, i+ and i- among its columns: one number each per triplet."""

    size: int  # rows of the batch
    places: torch.Tensor  # (3, triplets)

    def to(self, device: torch.device) -> Triplets:
        return Triplets(self.size, self.places.to(device))


@register_method("dnnh", title="DNNH", paper="Lai et al., CVPR 2015", groups=("paper",))
class DNNH(DeepMethod):
    """L = mean over triplets of max(0, 1 + ||F - F+||^2 - ||F - F-||^2), F = threshold(sigmoid(u)) in [0, 1]^K.

    The head makes `width` units for each bit and encodes each bit from its own units alone. The threshold sends what
    is further than epsilon from 1/2 to 0 or 1; its gradient is passed straight through, where the paper's is zero and
    a saturated bit never changes again.
    """

    width: int = parameter(10, least=1, doc="units per bit; the paper has 50, five times the cost of a step")
    epsilon: float = parameter(
        0.5, least=0, search=[0.1, 0.3, 0.5], doc="half width of the threshold's slope; 0.5: no threshold"
    )
    triplets: int = parameter(2048, least=1, doc="most of them in a batch")

    def head(self, dimension: int) -> torch.nn.Module:
        from benchmark.deep.network import Slices

        units = torch.nn.Linear(dimension, self.bits * self.width)
        torch.nn.init.zeros_(units.bias)
        return torch.nn.Sequential(units, torch.nn.ReLU(), Slices(self.bits, self.width))

    def prepare(self, train: Split) -> None:
        self._similarity = train.required_similarity()
        self._streams = PairStreams(self._similarity, self.training.batch, self.seed)

    def draw(self, step: int) -> tuple[np.ndarray, Triplets]:
        rows, columns = self._streams.draw(step)
        similar, known = self._similarity.block(rows, columns)
        known = known & (rows[:, None] != columns[None, :])
        places = np.stack(triplets(similar, known, self.triplets, generator("triplets", self.seed, step)))
        return np.concatenate([rows, columns]), Triplets(len(rows), torch.from_numpy(places))

    def objective(self, outputs: torch.Tensor, target: Triplets, step: int) -> torch.Tensor:
        distance = Codes(self.squashed(outputs), target.size).squared_distance()
        anchor, positive, negative = target.places
        hinge = (1 + distance[anchor, positive] - distance[anchor, negative]).clamp_min(0)
        return hinge.sum() / max(len(hinge), 1)

    def squashed(self, outputs: torch.Tensor) -> torch.Tensor:
        v = torch.sigmoid(outputs)
        hard = torch.where((v - 0.5).abs() > self.epsilon, (v > 0.5).to(v.dtype), v)
        return v + (hard - v).detach()
