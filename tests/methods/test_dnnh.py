"""DNNH: triplets and the divide-and-encode head."""

from __future__ import annotations

import pytest
import torch

from benchmark import get_method
from benchmark.deep import PairCounts, Triplets


def triplets(*places: tuple[int, int, int]) -> Triplets:
    """Triplets of one row and the columns after it, as the objective wants them."""
    none = PairCounts(*torch.ones(3, 1))
    return Triplets(1, torch.tensor(places, dtype=torch.int64).reshape(-1, 3).T, none, none)


def test_a_bit_depends_on_its_own_slice_alone() -> None:
    method = get_method("dnnh")(6, width=4)
    head = method.head(10)
    units = torch.randn(1, 24, generator=torch.Generator().manual_seed(0)).abs()
    tail = head[2]  # behind the rectifier: units of all slices to bits
    before = tail(units)
    for bit in range(6):
        changed = units.clone()
        changed[0, 4 * bit : 4 * bit + 4] += 1
        assert ((tail(changed) != before)[0].nonzero().ravel()).tolist() == [bit]


def test_loss_of_a_triplet() -> None:
    method = get_method("dnnh")(2)
    f = torch.tensor([[0.9, 0.1], [0.8, 0.3], [0.2, 0.6]], dtype=torch.float64)
    near, far = 0.01 + 0.04, 0.49 + 0.25
    assert method.objective(torch.logit(f), triplets((0, 0, 1)), 0).item() == pytest.approx(1 + near - far)


def test_no_loss_once_the_margin_is_met() -> None:
    method = get_method("dnnh")(2)
    f = torch.tensor([[0.999, 0.999], [0.999, 0.999], [0.001, 0.001]], dtype=torch.float64)
    assert method.objective(torch.logit(f), triplets((0, 0, 1)), 0).item() == 0


def test_gradients_of_an_active_triplet() -> None:
    f = torch.tensor([[0.9, 0.1], [0.8, 0.3], [0.2, 0.6]], dtype=torch.float64)
    outputs = torch.logit(f).requires_grad_()
    get_method("dnnh")(2).objective(outputs, triplets((0, 0, 1)), 0).backward()
    by_f = torch.stack([2 * (f[2] - f[1]), 2 * (f[1] - f[0]), 2 * (f[0] - f[2])])
    assert torch.allclose(outputs.grad, by_f * f * (1 - f))


def test_without_triplets_there_is_no_loss_and_no_gradient() -> None:
    outputs = torch.randn(4, 3, requires_grad=True)
    loss = get_method("dnnh")(3).objective(outputs, triplets(), 0)
    loss.backward()
    assert loss.item() == 0
    assert outputs.grad.abs().sum() == 0


def test_threshold_sends_sure_bits_to_the_ends() -> None:
    method = get_method("dnnh")(4, epsilon=0.2)
    v = torch.tensor([[0.1, 0.4, 0.6, 0.9]], dtype=torch.float64)
    assert method.squashed(torch.logit(v)).tolist() == [pytest.approx([0.0, 0.4, 0.6, 1.0])]
