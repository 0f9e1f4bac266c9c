"""DNNH, the simultaneous feature learning and hashing network: triplets, and a divide-and-encode head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmark import Similarity, register_method
from benchmark.deep import DeepMethod, PairStreams, Training, torch, triplets
from benchmark.seeds import generator


@dataclass(frozen=True)
class Triplets:
    """Places in the batch of (i, i+, i-), one column each."""

    places: torch.Tensor

    def to(self, device: torch.device) -> Triplets:
        return Triplets(self.places.to(device))


@register_method("dnnh", title="DNNH", family="deep", input="images", needs="similarity", paper="Lai et al., CVPR 2015")
class DNNH(DeepMethod):
    """L = mean over triplets of max(0, 1 + ||F - F+||^2 - ||F - F-||^2), F = threshold(sigmoid(u)) in [0, 1]^K.

    The head makes `width` units for each bit and encodes each bit from its own units alone. The threshold sends what
    is further than epsilon from 1/2 to 0 or 1; its gradient is passed straight through, where the paper's is zero and
    a saturated bit never changes again.
    """

    def __init__(
        self,
        bits: int,
        seed: int = 0,
        *,
        width: int = 20,  # units per bit; the paper has 50, which costs more than it brings on given features
        epsilon: float = 0.5,  # 0.5: no threshold
        triplets: int = 2048,  # at most, of a batch
        scaling: str = "center-l2",
        training: Training | None = None,
    ) -> None:
        super().__init__(bits, seed, scaling=scaling, training=training)
        self.width, self.epsilon, self.triplets = width, epsilon, triplets

    def head(self, dimension: int) -> torch.nn.Module:
        nn, units = torch.nn, self.bits * self.width
        divide = nn.Conv1d(units, self.bits, 1, groups=self.bits)  # one linear unit for each slice
        head = nn.Sequential(nn.Linear(dimension, units), nn.ReLU(), nn.Unflatten(1, (units, 1)), divide, nn.Flatten())
        for layer in (head[0], divide):
            nn.init.zeros_(layer.bias)
        return head

    def prepare(self, similarity: Similarity) -> None:
        self._similarity = similarity
        self._streams = PairStreams(similarity, self.training.batch, self.seed)

    def draw(self, step: int) -> tuple[np.ndarray, Triplets]:
        rows, columns = self._streams.draw(step)
        similar, known = self._similarity.block(rows, columns)
        known = known & (rows[:, None] != columns[None, :])
        anchor, positive, negative = triplets(similar, known, self.triplets, generator("triplets", self.seed, step))
        places = np.stack([anchor, len(rows) + positive, len(rows) + negative])
        return np.concatenate([rows, columns]), Triplets(torch.from_numpy(places))

    def objective(self, outputs: torch.Tensor, target: Triplets, step: int) -> torch.Tensor:
        f, near, far = self.squashed(outputs)[target.places]
        hinge = (1 + (f - near).square().sum(1) - (f - far).square().sum(1)).clamp_min(0)
        return hinge.sum() / max(len(hinge), 1)

    def squashed(self, outputs: torch.Tensor) -> torch.Tensor:
        v = torch.sigmoid(outputs)
        hard = torch.where((v - 0.5).abs() > self.epsilon, (v > 0.5).to(v.dtype), v)
        return v + (hard - v).detach()
