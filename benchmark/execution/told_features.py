"""Features of images as `feature_cache` makes them, told batch by batch, and the pre-training of a network before them.

Telling is no part of what makes a feature, so it stands here: the code that makes them, and the recipe of the small
network, are hashed into every cell's key.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmark.contracts import HashDataset, Splits
from benchmark.data.cache import Listener, listening, tell, telling
from benchmark.data.feature_cache import FeatureSource, extract
from benchmark.deep.backbones import Backbone


def extract_told(
    dataset: HashDataset, splits: Splits, source: FeatureSource, *, client: Any = None, **how: Any
) -> Splits:
    """`extract`; the workers of a cluster are heard of chunk by chunk only."""
    outer = listening()
    if client is not None or outer is None:
        return extract(dataset, splits, source, client=client, **how)
    count = _Count(f"features of {source.backbone}", _images(splits), outer)
    told = _ToldSource(source.backbone, source.weights, source.cut, source.partial, count)
    with telling(count.hear):
        return extract(dataset, splits, told, **how)


def _images(splits: Splits) -> int:
    """How many different images there are."""
    named = {one for split in splits.parts().values() for one in split.ids or ()}
    return len(named) + sum(len(split) for split in splits.parts().values() if split.ids is None)


@dataclass
class _Count:
    """Batches between two chunks: a chunk's own count, which knows what was there before, goes first."""

    what: str
    total: int
    outer: Listener
    done: int = 0

    def hear(self, what: str, done: int, total: int) -> None:
        if what == self.what:
            self.done = done
        self.outer(what, done, total)

    def batch(self, trunk: Any, inputs: Any, outputs: Any) -> None:
        """A forward hook."""
        self.done = min(self.done + len(outputs), self.total)
        self.outer(self.what, self.done, self.total)


@dataclass(frozen=True)
class _ToldSource(FeatureSource):
    count: _Count | None = field(default=None, compare=False)

    def load(self, planned: str) -> Backbone:
        tell(f"loading {self.backbone}", 0, 0)
        with _pretraining_told():
            backbone = super().load(planned)
        if self.count is not None:
            backbone.trunk.register_forward_hook(self.count.batch)
        return backbone


@contextlib.contextmanager
def _pretraining_told() -> Iterator[None]:
    """Count the steps of the small network's optimiser, where it has to be trained first."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    from benchmark.deep import mini_cnn

    steps, done = mini_cnn.EPOCHS * (mini_cnn.CANVASES // mini_cnn.BATCH), 0

    def count(*_: Any) -> None:
        nonlocal done
        done += 1
        tell("pre-training the miniatures' network", done, steps)

    hook = register_optimizer_step_post_hook(count)
    try:
        yield
    finally:
        hook.remove()
