"""BiHalf: halves of a batch, the released gradient, and codes that do not depend on a batch."""

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


def halves(u: np.ndarray) -> np.ndarray:
    """+1 for the upper half of each column."""
    codes = np.full(u.shape, -1.0)
    for bit in range(u.shape[1]):
        for row in sorted(range(len(u)), key=lambda i: -u[i, bit])[: len(u) // 2]:
            codes[row, bit] = 1
    return codes


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / math.sqrt((first @ first) * (second @ second)))


@pytest.mark.parametrize("rows", [8, 7])
@pytest.mark.parametrize("gamma", [0.0, 6.0])
def test_loss_by_loops(rows: int, gamma: float) -> None:
    u, x = made(rows)
    codes, features, half = halves(u.numpy()), x.numpy(), rows // 2
    assert (codes.sum(0) == (0 if rows == 8 else -1)).all()
    pairs = [(cosine(codes[i], codes[half + i]) - cosine(features[i], features[half + i])) ** 2 for i in range(half)]
    expected = np.mean(pairs) + gamma / 2 * np.mean((u.numpy() - codes) ** 2)
    assert get_method("bihalf")(BITS, gamma=gamma).loss(u, x, 0).item() == pytest.approx(expected)


def test_the_backward_pass_is_the_released_one() -> None:
    """The gradient in B, as it is, plus gamma (U - B)/(N K); with gamma 0 the identity."""
    u, x = made(8)
    codes = torch.from_numpy(halves(u.numpy()))
    at_codes = codes.clone().requires_grad_()
    (through,) = torch.autograd.grad(get_method("bihalf")(BITS, gamma=0.0).loss(at_codes, x, 0), at_codes)
    u.requires_grad_()
    for gamma in (0.0, 6.0):
        (found,) = torch.autograd.grad(get_method("bihalf")(BITS, gamma=gamma).loss(u, x, 0), u)
        assert torch.allclose(found, through + gamma * (u.detach() - codes) / (8 * BITS))


def test_equal_outputs_are_halved_too() -> None:
    u, x = torch.zeros(8, BITS, dtype=torch.float64), made(8)[1]
    costs = [get_method("bihalf")(BITS, gamma=gamma).loss(u, x, 0).item() for gamma in (0.0, 2.0)]
    assert costs[1] - costs[0] == pytest.approx(1)  # (gamma/2) (0 - (+-1))^2: no bit is 0


def test_a_code_is_the_sign_and_bits_are_balanced_over_the_training_set() -> None:
    random = np.random.default_rng(0)
    features = (2 * random.standard_normal((5, 12))[np.arange(100) % 5] + random.standard_normal((100, 12))).astype(
        "f4"
    )
    method = get_method("bihalf")(16, seed=1).fit(Split(features=features))
    codes = method.encode(Split(features=features))
    assert np.abs(codes.mean(0)).max() < 0.35
    single = method.encode(Split(features=features[:1]))  # whose batch has no halves
    np.testing.assert_array_equal(single, codes[:1])
