"""DPH on triplets: what docs/dph-triplet.md derives, by loops, and what must follow from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Codes, PairCounts, Training, Triplets, priority_quantization

BITS = 6
UNIT = 10 / (64 * BITS) ** 0.5  # of the logit, under Adam
DPHTriplet: Any = get_method("dph-triplet")
MULTI = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]] * 2, bool)  # some have no label


def outputs(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, BITS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def drawn(labels: Any, batch: int = 12) -> tuple[np.ndarray, np.ndarray, Triplets]:
    method = DPHTriplet(BITS, seed=1, training=Training(batch=batch))
    method.prepare(Split(labels=labels))
    items, target = method.draw(0)
    return items[: target.size], items[target.size :], target


def cosine(first: Any, second: Any) -> float:
    return float(first @ second / math.sqrt((first @ first) * (second @ second)))


@pytest.mark.parametrize("gamma", [0.0, 0.1, 2.0])
def test_loss_by_loops(gamma: float) -> None:
    rows, columns, target = drawn(MULTI)
    u = outputs(24)
    h, n = np.tanh(u.numpy()), len(MULTI)
    shared = MULTI.astype(int) @ MULTI.T.astype(int) > 0
    positive = np.maximum(shared.sum(1), 1)
    negative = np.maximum((~shared).sum(1), 1)
    total = weights = 0.0
    for i, j, k in target.places.T.tolist():
        a, b, c = rows[i], columns[j], columns[k]
        alpha = n * n / math.sqrt(positive[a] * positive[b]) * n * n / math.sqrt(negative[a] * negative[c])
        t_ij, t_ik = (UNIT * float(h[i] @ h[12 + x]) for x in (j, k))
        q_ij, q_ik = (1 + cosine(h[i], h[12 + j])) / 2, (1 - cosine(h[i], h[12 + k])) / 2
        p_ij, p_ik = (1 / (1 + math.exp(-t)) for t in (t_ij, t_ik))
        p = p_ij * (1 - p_ik) / (p_ij * (1 - p_ik) + (1 - p_ij) * p_ik)
        total -= alpha * (1 - (q_ij + q_ik) / 2) ** gamma * math.log(p)
        weights += alpha
    assert len(target.places.T) > 5
    expected = total / weights + 0.3 * priority_quantization(torch.from_numpy(h), gamma).item()
    found = DPHTriplet(BITS, gamma=gamma, inv_epsilon=0.3).loss(Codes(u, 12), target, 0).item()
    assert found == pytest.approx(expected, rel=1e-5)  # degrees are float32


def plain(u: torch.Tensor, target: Triplets) -> float:
    """The unweighted likelihood of triplets."""
    h = torch.tanh(u)
    t = UNIT * h[: target.size] @ h[target.size :].T
    closer, further = target.of(t)
    return float(torch.nn.functional.softplus(further - closer).mean())


def test_without_priority_and_imbalance_it_is_the_plain_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    u = outputs(24)
    balanced = np.eye(3, dtype=bool)[np.arange(12) % 3]
    _, _, target = drawn(balanced)
    method = DPHTriplet(BITS, gamma=0.0, inv_epsilon=0.0)
    assert method.loss(Codes(u, 12), target, 0).item() == pytest.approx(plain(u, target), rel=1e-6)
    _, _, target = drawn(MULTI)
    assert method.loss(Codes(u, 12), target, 0).item() != pytest.approx(plain(u, target), rel=1e-3)
    monkeypatch.setattr(Triplets, "rarity", lambda triplets: torch.ones(triplets.places.shape[1]))
    assert method.loss(Codes(u, 12), target, 0).item() == pytest.approx(plain(u, target), rel=1e-6)


def one_triplet(u: torch.Tensor, gamma: float) -> float:
    one = PairCounts(*torch.ones(3, 2))
    target = Triplets(1, torch.tensor([[0], [0], [1]]), one, one)
    return DPHTriplet(BITS, gamma=gamma, inv_epsilon=0.0).loss(Codes(u, 1), target, 0).item()


def test_hard_triplets_weigh_more_and_easy_ones_less() -> None:
    i, towards, away = torch.ones(BITS), torch.ones(BITS), -torch.ones(BITS)
    aside = torch.tensor([1.0, -1.0] * (BITS // 2))
    made = {"easy": (i, towards, away), "even": (i, aside, aside), "hard": (i, away, towards)}
    weight = {}
    for name, codes in made.items():
        u = torch.stack(codes).double()
        weight[name] = one_triplet(u, gamma=1.0) / one_triplet(u, gamma=0.0)
    assert weight["easy"] == pytest.approx(0, abs=1e-5)
    assert weight["even"] == pytest.approx(0.5)
    assert weight["hard"] == pytest.approx(1, abs=1e-5)


def test_the_priority_knows_angles_only_and_the_likelihood_lengths_too() -> None:
    h = torch.tanh(outputs(3, seed=2))
    u, longer = torch.atanh(h), torch.atanh(h * torch.tensor([[0.5], [1.0], [1.0]], dtype=torch.float64))
    weights = [one_triplet(x, gamma=1.0) / one_triplet(x, gamma=0.0) for x in (u, longer)]
    assert weights[0] == pytest.approx(weights[1])
    assert one_triplet(u, gamma=0.0) != pytest.approx(one_triplet(longer, gamma=0.0), rel=1e-3)


def test_over_all_triplets_of_single_label_data_every_image_weighs_the_same() -> None:
    classes = np.repeat(np.arange(9), [8, 4, *[2] * 7])
    same = classes[:, None] == classes[None, :]
    counts = PairCounts(*(torch.tensor(x, dtype=torch.float64) for x in ([26.0] * 26, same.sum(1), (~same).sum(1))))
    places = [(i, j, k) for i, j in zip(*same.nonzero(), strict=True) for k in (~same[i]).nonzero()[0]]
    weights = Triplets(26, torch.tensor(np.array(places)).T, counts, counts).rarity().numpy()
    sums = np.bincount([i for i, _, _ in places], weights)
    plain_sums = np.bincount([i for i, _, _ in places])
    assert sums.max() / sums.min() < 1.3  # |S_k^0| differs between classes, which is all that is left
    assert plain_sums.max() / plain_sums.min() > 2.9


def test_gradient_pulls_towards_the_closer_and_away_from_the_further() -> None:
    """With the weights held constant: dL/dh_j = -w (1 - p) beta h_i, dL/dh_k the opposite."""
    u = outputs(3, seed=4).requires_grad_()
    one = PairCounts(*torch.ones(3, 2))
    target = Triplets(1, torch.tensor([[0], [0], [1]]), one, one)
    DPHTriplet(BITS, gamma=0.5, inv_epsilon=0.0).loss(Codes(u, 1), target, 0).backward()
    with torch.no_grad():
        h = torch.tanh(u)
        away = torch.sigmoid(UNIT * (h[0] @ h[2] - h[0] @ h[1]))  # 1 - p
        difficulty = 0.5 - (cosine(h[0], h[1]) - cosine(h[0], h[2])) / 4
        push = difficulty**0.5 * away * UNIT
        expected = push * torch.stack([h[2] - h[1], -h[0], h[0]]) * (1 - h**2)
    assert torch.allclose(u.grad, expected, atol=1e-9)


def test_without_a_triplet_only_the_quantisation_is_left() -> None:
    u = outputs(8)
    _, _, target = drawn(np.eye(4, dtype=bool), batch=4)
    assert target.places.shape[1] == 0
    found = DPHTriplet(BITS).loss(Codes(u, 4), target, 0).item()
    assert found == pytest.approx(0.1 * priority_quantization(torch.tanh(u), 0.1).item())
