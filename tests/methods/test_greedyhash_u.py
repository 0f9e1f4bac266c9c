"""GreedyHash without labels: cosines of signs against cosines of features, and its straight-through gradient."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmark import Split, get_method

BITS = 6


def made(rows: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs and features."""
    random = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(rows, size, generator=random, dtype=torch.float64) for size in (BITS, 4))  # type: ignore[return-value]


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / math.sqrt((first @ first) * (second @ second)))


@pytest.mark.parametrize("rows", [8, 7])
@pytest.mark.parametrize("weight", [0.0, 0.4])
def test_loss_by_loops(rows: int, weight: float) -> None:
    u, x = made(rows)
    codes, features = np.where(u.numpy() > 0, 1, -1), x.numpy()
    half = rows // 2
    pairs = [(cosine(codes[i], codes[half + i]) - cosine(features[i], features[half + i])) ** 2 for i in range(half)]
    expected = np.mean(pairs) + weight * np.mean([abs(abs(v) - 1) ** 3 for v in u.numpy().ravel()])
    assert get_method("greedyhash-u")(BITS, penalty=weight).loss(u, x, 0).item() == pytest.approx(expected)


def test_the_gradient_at_u_is_that_at_b() -> None:
    method = get_method("greedyhash-u")(BITS, penalty=0.0)
    u, x = made(8)
    b = torch.where(u > 0, 1.0, -1.0).double().requires_grad_()
    u.requires_grad_()
    gradients = [torch.autograd.grad(method.loss(codes, x, 0), codes)[0] for codes in (u, b)]
    assert gradients[0].abs().sum() > 0
    assert torch.allclose(*gradients)


def test_the_penalty_is_zero_at_codes_and_nowhere_else() -> None:
    _, x = made(8)
    codes = torch.where(made(8, seed=1)[0] > 0, 1.0, -1.0).double()
    costs = [
        [get_method("greedyhash-u")(BITS, penalty=k).loss(c, x, 0).item() for k in (0, 5)] for c in (codes, 2 * codes)
    ]
    assert costs[0][0] == pytest.approx(costs[0][1])
    assert costs[1][1] == pytest.approx(costs[1][0] + 5)


def test_labels_are_never_asked_for_and_cosines_are_learned() -> None:
    random = np.random.default_rng(0)
    features = (2 * random.standard_normal((5, 12))[np.arange(100) % 5] + random.standard_normal((100, 12))).astype(
        "f4"
    )
    method = get_method("greedyhash-u")(24, seed=1)
    codes = method.fit(Split(features=features)).encode(Split(features=features)).astype(float)
    centred = features - features.mean(0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    assert np.corrcoef((codes @ codes.T).ravel() / 24, (unit @ unit.T).ravel())[0, 1] > 0.9
    assert method.history["loss"][-1] < 0.6 * method.history["loss"][0]
