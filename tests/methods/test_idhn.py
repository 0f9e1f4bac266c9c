"""IDHN: hard pairs by likelihood, soft pairs by squared error at a target that codes can reach."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import LabelSimilarity, PairSimilarity, Split, UsageError, get_method
from benchmark.deep import Codes, PairBlock, PairGraph, Training

BITS = 8
MULTI = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 1, 0], [0, 0, 0]], bool)  # the last row has no label


def block(labels: Any) -> PairBlock:
    everything, labels = np.arange(len(labels)), np.asarray(labels)
    return PairGraph(LabelSimilarity(labels), self_pairs=True, labels=labels).block(everything, everything)


def outputs(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, BITS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_loss_by_loops(weight: float) -> None:
    u = outputs(10)
    h = u.numpy() / (1 + np.abs(u.numpy()))
    total = 0.0
    for i in range(5):
        for j in range(5):
            first, second = MULTI[i].astype(float), MULTI[j].astype(float)
            norm = math.sqrt(first.sum() * second.sum())
            s = first @ second / norm if norm else 0.0
            product = float(h[i] @ h[5 + j])
            if s < 0.01 or s > 0.99:
                total += math.log1p(math.exp(5 * product / BITS)) - round(s) * 5 * product / BITS
            else:
                total += 0.2 * BITS * ((product + BITS) / (2 * BITS) - s) ** 2
    expected = total / 25 + weight * np.mean(np.abs(np.abs(h) - 1))
    found = get_method("idhn")(BITS, gamma=0.2, quantization=weight).loss(Codes(u, 5), block(MULTI), 0).item()
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("agreeing", [8, 6, 4])
def test_a_soft_pair_is_content_where_its_codes_agree_in_that_share_of_bits(agreeing: int) -> None:
    """s = 1 and s = 0 are the ends, K and -K, of what a product of codes can be: s is the share of equal bits."""
    codes = torch.full((2, BITS), 1e9, dtype=torch.float64)
    codes[1, agreeing:] *= -1
    share = agreeing / BITS
    method = get_method("idhn")(BITS, quantization=0.0)
    costs = []
    for s in (share - 0.05, share - 1e-7, share - 0.1):
        pair = block(np.eye(1, dtype=bool))
        grade = PairBlock(torch.full_like(pair.similar, s).double(), pair.known, pair.rows, pair.columns, pair.whole)
        costs.append(method.loss(Codes(codes, 1), grade, 0).item())
    assert costs[1] == pytest.approx(0, abs=1e-9)
    assert costs[0] < costs[2]


def test_on_single_label_data_every_pair_is_hard() -> None:
    u, labels = outputs(10), np.eye(3, dtype=bool)[[0, 1, 1, 2, 0]]
    h = torch.nn.functional.softsign(u)
    t = 5 / BITS * h[:5] @ h[5:].T
    s = torch.from_numpy((labels.astype(float) @ labels.T) > 0).double()
    expected = torch.nn.functional.binary_cross_entropy_with_logits(t, s).item()
    found = [
        get_method("idhn")(BITS, gamma=g, quantization=0.0).loss(Codes(u, 5), block(labels), 0).item() for g in (0, 9)
    ]
    assert found == [pytest.approx(expected)] * 2


def test_it_is_shown_degrees_of_similarity() -> None:
    method = get_method("idhn")(BITS, training=Training(batch=5))
    method.prepare(Split(labels=MULTI))
    _, target = method.draw(0)
    assert target.similar.unique().tolist() == pytest.approx([0, 0.5, 0.5**0.5, 1])


def test_pairs_alone_are_not_enough() -> None:
    pairs = Split(features=np.ones((3, 2)), similarity=PairSimilarity(3, np.array([[0, 1]]), np.array([True])))
    with pytest.raises(UsageError, match="class labels"):
        get_method("idhn")(BITS).fit(pairs)
