"""DPSH, Deep Pairwise-Supervised Hashing: each batch against the stored outputs of the whole training set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.deep import DeepMethod, PairBlock, PairGraph, Stream, binary, cross_entropy, torch


@dataclass(frozen=True)
class Batch:
    """Rows of the training set and their similarity to all of it."""

    items: torch.Tensor
    similarity: PairBlock

    def to(self, device: torch.device) -> Batch:
        return Batch(self.items.to(device), self.similarity.to(device))


@register_method("dpsh", title="DPSH", paper="Li et al., IJCAI 2016", groups=("paper",))
class DPSH(DeepMethod):
    """L = [sum_ij softplus(t_ij) - s_ij t_ij + eta sum_i ||b_i - u_i||^2] / pairs, t_ij = <u_i, u_j>/2, no tanh.

    i runs over the batch, j over all n training rows, whose latest outputs are stored and constant; b = sign(u) is
    constant too. A row that no batch has held yet is stored as 0 and pulls nowhere.
    """

    bias_rate = 1.0  # as released; at twice the weights' rate, as others have it, biases run away

    eta: float = parameter(
        3.0,
        least=0,
        search=[0.3, 1, 3, 10, 100],
        doc="against a sum over pairs; 10 in the released code, 3 by cross-validation",
    )
    batch: int = parameter(128, least=1, doc="of the single stream; 128 in the released code")

    def prepare(self, train: Split) -> None:
        similarity = train.required_similarity()
        self._graph = PairGraph(similarity, self.training.self_pairs)
        self._stream = Stream(len(similarity), self.batch, self.seed)
        self.state = {"stored": torch.zeros(len(similarity), self.bits)}

    def draw(self, step: int) -> tuple[np.ndarray, Batch]:
        items = self._stream.draw(step)
        return items, Batch(torch.from_numpy(items), self._graph.block(items, np.arange(len(self._graph))))

    def objective(self, outputs: torch.Tensor, target: Batch, step: int) -> torch.Tensor:
        stored = self.state["stored"]
        stored[target.items] = outputs.detach().to(stored.dtype)
        return self.loss(outputs, stored.to(outputs.dtype), target.similarity)

    def loss(self, outputs: torch.Tensor, stored: torch.Tensor, similarity: PairBlock) -> torch.Tensor:
        likelihood = similarity.mean(cross_entropy(outputs @ stored.T / 2, similarity.similar))
        quantization = (binary(outputs.detach()) - outputs).square().sum()
        return likelihood + self.eta * quantization / similarity.known.sum().clamp_min(1)
