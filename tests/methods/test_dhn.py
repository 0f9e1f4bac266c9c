"""DHN: cross-entropy without scaling, and its smooth quantisation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmark import LabelSimilarity, get_method
from benchmark.deep import Codes, PairBlock, PairGraph, log_cosh


@pytest.fixture
def pairs() -> tuple[Codes, PairBlock]:
    graph = PairGraph(LabelSimilarity(np.eye(2, dtype=bool)[[0, 1, 0, 1, 1]]), self_pairs=True)
    outputs = torch.randn(10, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return Codes(outputs, 5), graph.block(np.arange(5), np.arange(5))


def test_loss_is_cross_entropy_and_log_cosh(pairs: tuple[Codes, PairBlock]) -> None:
    codes, block = pairs
    h = np.tanh(codes.both.numpy())
    t, s = h[:5] @ h[5:].T, block.similar.numpy()
    likelihood = np.mean(np.logaddexp(0, t) - s * t)
    quantization = np.mean(np.log(np.cosh(np.abs(h) - 1)).sum(axis=1))  # bits are summed, as in their gradient
    for weight in (0.0, 0.3):
        found = get_method("dhn")(6, quantization=weight).loss(codes, block, 0).item()
        assert found == pytest.approx(likelihood + weight * quantization, rel=1e-12)


def test_gradient_of_the_quantisation() -> None:
    h = torch.tensor([-0.7, -0.1, 0.2, 0.9], dtype=torch.float64, requires_grad=True)
    log_cosh(h.abs() - 1).sum().backward()
    assert torch.allclose(h.grad, torch.tanh(h.abs() - 1) * h.sign())
