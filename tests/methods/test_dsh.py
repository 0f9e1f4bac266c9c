"""DSH: the contrastive loss with margin 2K on squared distances."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmark import LabelSimilarity, get_method
from benchmark.deep import Codes, PairBlock, PairGraph

BITS = 8


def block(labels: list[int]) -> PairBlock:
    everything = np.arange(len(labels))
    return PairGraph(LabelSimilarity(np.eye(3, dtype=bool)[labels]), self_pairs=True).block(everything, everything)


def loss(rows: torch.Tensor, columns: torch.Tensor, labels: list[int]) -> float:
    return float(get_method("dsh")(BITS).loss(Codes(torch.cat([rows, columns]), len(rows)), block(labels), 0))


def test_similar_and_equal_dissimilar_and_half_apart_cost_nothing() -> None:
    code = torch.ones(1, BITS, dtype=torch.float64)
    other = code.clone()
    other[0, : BITS // 2] = -1
    codes = torch.cat([code, other])
    assert loss(codes, codes, [0, 1]) == 0
    other[0, 0] = 1  # one bit short of half apart: D = 4 (K/2 - 1), so m - D = 4 for the one pair
    codes = torch.cat([code, other])
    assert loss(codes, codes, [0, 1]) == pytest.approx(
        4 / 2 / (2 * 1) / 2
    )  # each pair once, over B (B - 1), against B^2 pairs here


def test_loss_by_loops() -> None:
    labels = [0, 1, 1, 2]
    u = torch.randn(8, BITS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    total = 0.0
    for i, first in enumerate(labels):
        for j, second in enumerate(labels):
            distance = float((u[i] - u[4 + j]).square().sum())
            total += distance / 2 if first == second else max(2 * BITS - distance, 0) / 2
    expected = total / 16 / 2 + 0.01 * float((u.abs() - 1).abs().sum(1).mean())
    assert loss(u[:4], u[4:], labels) == pytest.approx(expected, rel=1e-9)


def test_the_two_streams_are_interchangeable() -> None:
    u = torch.randn(8, BITS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert loss(u[:4], u[4:], [0, 1, 1, 2]) == pytest.approx(loss(u[4:], u[:4], [0, 1, 1, 2]))
