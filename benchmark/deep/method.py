"""What a deep hashing method is: a network, a draw of training rows, and a loss. Subclass to add one.

`PairwiseMethod` is all that a pairwise method needs: it supplies `loss(codes, similarity, step)`. `DeepMethod` is for
methods that need their own head, sampler, stored codes or first stage. The loops live in `trainer.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from benchmark.contracts import MethodInfo, Split
from benchmark.deep.lazy import torch
from benchmark.deep.pieces import Codes, PairBlock, PairGraph
from benchmark.deep.profile import Training, load_profile
from benchmark.deep.samplers import PairStreams
from benchmark.errors import UsageError
from benchmark.similarity import Similarity

if TYPE_CHECKING:
    from benchmark.deep.assembly import Assembly


class DeepMethod:
    """Fits a hash network by the method's own draw and objective; encodes by the sign of its outputs.

    `scaling` is how features are scaled before the hash layer; `training` comes from the profile.
    """

    info: ClassVar[MethodInfo]
    rate: ClassVar[float] = 1.0  # learning rate against the profile's, for a loss whose gradients differ in kind

    def __init__(
        self, bits: int, seed: int = 0, *, scaling: str = "center-l2", training: Training | None = None
    ) -> None:
        if bits < 1:
            raise UsageError(f"bits = {bits}, expected 1 or more")
        self.bits, self.seed, self.scaling = bits, seed, scaling
        self.training = training if training is not None else load_profile("quick").training
        self.history: dict[str, list[Any]] = {}
        self.state: dict[str, torch.Tensor] = {}  # what the method keeps between steps, for the snapshot
        self._assembly: Assembly | None = None

    def head(self, dimension: int) -> torch.nn.Module:
        """The hash layer on top of `dimension` features: raw outputs u, (n, bits)."""
        from benchmark.deep.network import hash_layer

        return hash_layer(dimension, self.bits, self.training.deviation)

    def prepare(self, similarity: Similarity) -> None:
        """Look at the training similarity before the first step."""
        raise NotImplementedError

    def draw(self, step: int) -> tuple[np.ndarray, Any]:
        """The training rows of a step and what the objective needs to know of them (has `.to(device)`)."""
        raise NotImplementedError

    def objective(self, outputs: torch.Tensor, target: Any, step: int) -> torch.Tensor:
        """The loss of the drawn rows, given the network's raw outputs for them."""
        raise NotImplementedError

    def fit(self, train: Split) -> Self:
        """Train on the rows of `train` and their similarity."""
        from benchmark.deep import assembly, trainer

        if train.similarity is None:
            raise UsageError(f"{self.info.name}: no similarity to learn from; give labels or a pair list")
        with trainer.private_randomness(self.training, "weights", self.seed), trainer.few_threads(self.training):
            assembled, rows = assembly.assemble(self, train)
            self.prepare(train.similarity)
            self.history = trainer.train(self, assembled.network, rows)
        self._assembly = assembled
        return self

    def encode(self, split: Split) -> np.ndarray:
        """(n, bits) int8 codes over {-1, +1}."""
        from benchmark.deep import trainer

        if self._assembly is None:
            raise UsageError(f"{self.info.name}: encode before fit; call fit(train) first")
        with trainer.few_threads(self.training):
            return trainer.encode(self._assembly.encoder(), self._assembly.rows(split), self.training, self.bits)


class PairwiseMethod(DeepMethod):
    """A method that learns from blocks of pairs: supply `loss`, and it is done."""

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        """The loss of all pairs between the two streams of a batch."""
        raise NotImplementedError

    def prepare(self, similarity: Similarity) -> None:
        self._graph = PairGraph(similarity, self.training.self_pairs)
        self._streams = PairStreams(similarity, self.training.batch, self.seed)

    def draw(self, step: int) -> tuple[np.ndarray, PairBlock]:
        rows, columns = self._streams.draw(step)
        return np.concatenate([rows, columns]), self._graph.block(rows, columns)

    def objective(self, outputs: torch.Tensor, target: PairBlock, step: int) -> torch.Tensor:
        return self.loss(Codes(outputs, len(target.similar)), target, step)
