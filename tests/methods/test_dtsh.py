"""DTSH: the likelihood of triplets at a margin of K/2."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Codes, PairCounts, Training, Triplets

BITS = 6
NONE = PairCounts(*torch.ones(3, 5))


def outputs(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, BITS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def triplets(*places: tuple[int, int, int], rows: int = 5) -> Triplets:
    return Triplets(rows, torch.tensor(places, dtype=torch.int64).reshape(-1, 3).T, NONE, NONE)


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_loss_by_loops(weight: float) -> None:
    u, chosen = outputs(10), [(0, 1, 2), (3, 4, 0), (0, 3, 2), (4, 4, 1)]
    total = 0.0
    for i, j, k in chosen:
        ahead = float(u[i] @ u[5 + j] - u[i] @ u[5 + k]) / 2 - BITS / 2
        total += math.log1p(math.exp(-ahead))
    off = np.mean([sum((x - (1 if x > 0 else -1)) ** 2 for x in row) for row in u.numpy()])
    found = get_method("dtsh")(BITS, quantization=weight).loss(Codes(u, 5), triplets(*chosen), 0)
    assert found.item() == pytest.approx(total / 4 + weight * off, rel=1e-10)


def test_a_triplet_exactly_at_its_margin_costs_log_two() -> None:
    u = torch.zeros(3, BITS, dtype=torch.float64)
    u[0] = 1.0
    u[1, : BITS // 2] = 2.0  # theta_ij = K/2, theta_ik = 0
    loss = get_method("dtsh")(BITS, quantization=0.0).loss(Codes(u, 1), triplets((0, 0, 1), rows=1), 0)
    assert loss.item() == pytest.approx(math.log(2))


def test_a_common_addition_to_both_products_changes_nothing() -> None:
    method = get_method("dtsh")(BITS, quantization=0.0)
    u, shift = outputs(10), outputs(1, seed=1)
    moved = u.clone()
    moved[5:] += shift  # every <u_i, u_j> and <u_i, u_k> of a row grows by the same
    chosen = triplets((0, 1, 2), (1, 0, 3), (4, 2, 3))
    expected = method.loss(Codes(u, 5), chosen, 0).item()
    assert method.loss(Codes(moved, 5), chosen, 0).item() == pytest.approx(expected)


def test_gradient_pulls_towards_the_closer_and_away_from_the_further() -> None:
    u = outputs(3).requires_grad_()
    get_method("dtsh")(BITS, quantization=0.0).loss(Codes(u, 1), triplets((0, 0, 1), rows=1), 0).backward()
    with torch.no_grad():
        ahead = (u[0] @ u[1] - u[0] @ u[2]) / 2 - BITS / 2
        pull = torch.sigmoid(-ahead) / 2
    assert torch.allclose(u.grad, pull * torch.stack([u[2] - u[1], -u[0], u[0]]).detach())


def test_without_a_triplet_only_the_quantisation_is_left() -> None:
    u = outputs(10)
    found = get_method("dtsh")(BITS, quantization=1.0).loss(Codes(u, 5), triplets(), 0).item()
    assert found == pytest.approx(float((u.abs() - 1).square().sum(1).mean()))


def test_several_labels_and_none() -> None:
    """A partner shares a label; an image without one is the partner of nobody, but further than anybody's."""
    labels = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]] * 4, bool)
    method = get_method("dtsh")(BITS, training=Training(batch=16))
    method.prepare(Split(labels=labels))
    shared, seen = labels.astype(int) @ labels.T.astype(int) > 0, set()
    for step in range(5):
        items, target = method.draw(step)
        rows, columns = items[: target.size], items[target.size :]
        anchor, closer, further = target.places.numpy()
        assert shared[rows[anchor], columns[closer]].all()
        assert not shared[rows[anchor], columns[further]].any()
        seen |= set(columns[further] % 5)
        assert 4 not in set(rows[anchor] % 5) | set(columns[closer] % 5)
    assert 4 in seen
