"""What the tests of deep methods share: random batches, and training rows that are easy to tell apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from benchmark import LabelSimilarity, Split
from benchmark.deep import Codes, PairBlock, PairGraph


def make_clusters(rows: int = 120, classes: int = 4, dimension: int = 16, seed: int = 0) -> Split:
    random = np.random.default_rng(seed)
    labels = np.arange(rows) % classes
    centres = 3 * np.random.default_rng(99).standard_normal((classes, dimension))
    features = centres[labels] + random.standard_normal((rows, dimension))
    return Split(features=features.astype(np.float32), labels=labels)


def make_batch(labels: np.ndarray, bits: int, seed: int = 0, scale: float = 1.0) -> tuple[Codes, PairBlock]:
    """Random float64 outputs for a square block over all these items, and the block."""
    graph = PairGraph(LabelSimilarity(np.asarray(labels)), self_pairs=True)
    everything = np.arange(len(graph))
    random = torch.Generator().manual_seed(seed)
    outputs = scale * torch.randn(2 * len(graph), bits, generator=random, dtype=torch.float64)
    return Codes(outputs, len(graph)), graph.block(everything, everything)


@pytest.fixture
def clusters() -> Callable[..., Split]:
    return make_clusters


@pytest.fixture
def batch() -> Callable[..., tuple[Codes, PairBlock]]:
    return make_batch
