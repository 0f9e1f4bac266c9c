"""ADSH, Asymmetric Deep Supervised Hashing: the network's outputs against codes that are learned themselves."""

from __future__ import annotations

import math

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.deep import StoredBatch, StoredMethod, Stream, torch
from benchmark.seeds import generator
from benchmark.shallow import best_codes, signs

RELEASED = 59_000  # rows of the database that the released gamma belongs to, CIFAR-10


@register_method("adsh", title="ADSH (training list)", paper="Jiang & Li, AAAI 2018")
class ADSH(StoredMethod):
    """min over network and codes V: sum_ij (<h_i, v_j> - K s_ij)^2 + gamma sum_i ||v_i - h_i||^2, i in a sample Omega,
    h = tanh(u), s = 1 for similar and -r for dissimilar pairs, r = |S_1|/|S_0| of the training set.

    Omega is drawn anew each round; after a round V is renewed bit by bit with all of h known, so that no renewal raises
    the sum.

    Differs: the original learns codes V of the whole database and its labels with it. Here j runs over the training
    rows alone, so that it sees what all others see: V serves to train the network, which then encodes everything,
    queries and database alike. V starts at random codes, where the released zeros teach the first round nothing.

    @inproceedings{jiang2018adsh, title={Asymmetric Deep Supervised Hashing}, author={Jiang, Qing-Yuan and Li, Wu-Jun},
      booktitle={AAAI Conference on Artificial Intelligence}, year={2018}}
    """

    batch: int = parameter(64, least=1, doc="of the single stream; 64 in the released code")
    sampled: int = parameter(2000, least=1, doc="most rows of Omega; 2,000 in the released code")
    epochs: int = parameter(3, least=1, doc="passes over Omega in a round; 3 in the released code")
    gamma: float = parameter(
        200.0,
        least=0,
        search=[20, 200, 2000],
        doc="of ||v - h||^2 against a sum over 59,000 j, as released; else in scale",
    )

    def prepare(self, train: Split) -> None:
        super().prepare(train)
        self._size = min(self.sampled, len(train))
        self._round = math.ceil(self.epochs * self._size / min(self.batch, self._size))  # its steps
        self._pull = self.gamma * len(train) / RELEASED
        start = signs(generator("codes", self.seed).standard_normal((len(train), self.bits)))
        self.state["codes"] = torch.from_numpy(start).float()

    def omega(self, number: int) -> np.ndarray:
        """The rows of round `number`."""
        return generator("omega", self.seed, number).choice(len(self._graph), self._size, replace=False)

    def draw(self, step: int) -> tuple[np.ndarray, StoredBatch]:
        number, place = divmod(step, self._round)
        items = self.omega(number)[Stream(self._size, self.batch, self.seed, number).draw(place)]
        return items, StoredBatch(torch.from_numpy(items), self._graph.block(items, np.arange(len(self._graph))))

    def loss(self, outputs: torch.Tensor, stored: torch.Tensor, batch: StoredBatch, step: int) -> torch.Tensor:
        codes, similarity, h = self.state["codes"], batch.similarity, torch.tanh(outputs)
        number, place = divmod(step, self._round)
        if number and not place:
            renewed = self.renewed(codes.cpu().numpy(), np.tanh(stored.cpu().numpy()), self.omega(number - 1))
            codes.copy_(torch.from_numpy(renewed))
        v = codes.to(outputs.dtype).detach()
        _, similar, dissimilar = similarity.whole.floored()
        target = torch.where(similarity.similar > 0, 1.0, -similar / dissimilar)
        pairs = similarity.mean((h @ v.T - self.bits * target).square())
        return pairs + self._pull * (v[batch.items] - h).square().sum() / similarity.known.sum().clamp_min(1)

    def renewed(self, codes: np.ndarray, h: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """V that is no worse for the rows of Omega: K S^T is what V H^T should be. A pair that is not known asks for
        what it has: that lies above the sum over known pairs and touches it at V, so lowering it lowers the sum."""
        block = self._graph.block(rows, np.arange(len(codes)))
        _, similar, dissimilar = (float(count) for count in block.whole.floored())
        seen = h[rows].astype(np.float64)
        target = self.bits * np.where(block.similar.numpy() > 0, 1.0, -similar / dissimilar)
        target = np.where(block.known.numpy() > 0, target, seen @ codes.T)
        pull = target.T @ seen
        pull[rows] += self._pull * seen
        return best_codes(codes, seen.T @ seen, pull)
