"""DCH: Cauchy likelihood of distances, balanced pairs, Cauchy quantisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import LabelSimilarity, get_method
from benchmark.deep import Codes, PairBlock, PairGraph

BITS = 6
MULTI = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)  # the last row has no label


def block(labels: Any, self_pairs: bool = False) -> PairBlock:
    everything = np.arange(len(labels))
    return PairGraph(LabelSimilarity(np.asarray(labels)), self_pairs).block(everything, everything)


def outputs(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, BITS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def cosine(first: Any, second: Any) -> float:
    return float(first @ second / math.sqrt((first @ first) * (second @ second)))


@pytest.mark.parametrize("labels", [np.eye(3, dtype=bool)[[0, 1, 1, 2, 0]], MULTI], ids=["single", "multi"])
@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_loss_by_loops(labels: np.ndarray, weight: float) -> None:
    gamma, u = 2.5, outputs(10)
    h = np.tanh(u.numpy())
    shared = (labels.astype(int) @ labels.T.astype(int)) > 0
    share = {True: 25 / max(shared.sum(), 1), False: 25 / max((~shared).sum(), 1)}  # pairs with oneself count here
    total = weights = 0.0
    for i in range(5):
        for j in range(5):
            if i != j:
                d = BITS / 2 * (1 - cosine(h[i], h[5 + j]))
                p = gamma / (gamma + d)
                total -= share[shared[i, j]] * math.log(p if shared[i, j] else 1 - p)
                weights += share[shared[i, j]]
    off = [math.log(1 + BITS / 2 * (1 - cosine(np.abs(row), np.ones(BITS))) / gamma) for row in h]
    method = get_method("dch")(BITS, gamma=gamma, quantization=weight)
    found = method.loss(Codes(u, 5), block(labels), 0).item()
    assert found == pytest.approx(total / weights + weight * np.mean(off), rel=1e-6)


def pair_cost(distance: int, similar: bool, gamma: float = 3.0, bits: int = 8) -> float:
    """The loss of two codes that differ in so many bits."""
    codes = torch.full((2, bits), 20.0, dtype=torch.float64)
    codes[1, :distance] = -20
    labels = np.eye(2, dtype=bool)[[0, 0 if similar else 1]]
    method = get_method("dch")(bits, gamma=gamma, quantization=0.0)
    return float(method.loss(Codes(codes.repeat(2, 1), 2), block(labels), 0))


def test_half_at_gamma_and_monotone_in_the_distance() -> None:
    assert pair_cost(3, similar=True) == pytest.approx(math.log(2))
    assert pair_cost(3, similar=False) == pytest.approx(math.log(2))
    assert (np.diff([pair_cost(d, similar=True) for d in range(9)]) > 0).all()
    assert (np.diff([pair_cost(d, similar=False) for d in range(9)]) < 0).all()


def test_equal_codes_of_dissimilar_images_cost_much_but_not_everything() -> None:
    assert 10 < pair_cost(0, similar=False) < 30


def test_both_kinds_of_pairs_weigh_the_same_in_all() -> None:
    labels = np.eye(3, dtype=bool)[[0, 1, 1, 1, 2]]
    codes = Codes(torch.full((10, BITS), 9.0, dtype=torch.float64), 5)  # equal codes: each kind has one cost
    method = get_method("dch")(BITS, gamma=2.0, quantization=0.0)
    d = BITS / 2 * 1e-6
    mean = (-math.log(2 / (2 + d)) - math.log(d / (2 + d))) / 2
    assert method.loss(codes, block(labels, self_pairs=True), 0).item() == pytest.approx(mean, rel=1e-6)


def test_quantisation_is_least_at_a_code_of_equal_sizes() -> None:
    labels = np.eye(2, dtype=bool)
    method = get_method("dch")(BITS)
    even = Codes(torch.full((4, BITS), 0.5, dtype=torch.float64), 2)
    uneven = even.both.clone()
    uneven[:, 0] = 3.0  # the same direction for all: the cosine of a pair stays
    costs = [float(method.loss(codes, block(labels), 0)) for codes in (even, Codes(uneven, 2))]
    assert costs[1] > costs[0] + 1e-3
