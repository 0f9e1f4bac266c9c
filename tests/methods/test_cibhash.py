"""CIBHash: contrast of two views, agreement of their bits, and where the views come from."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Training

BITS = 6
NOTHING = torch.empty(0)


def outputs(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, BITS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_loss_by_loops(beta: float) -> None:
    u = outputs(8)
    codes, p = np.where(u.numpy() > 0, 1, -1), 1 / (1 + np.exp(-u.numpy()))
    contrast = divergence = 0.0
    for i in range(8):
        twin = (i + 4) % 8
        cos = [codes[i] @ codes[j] / BITS for j in range(8)]
        contrast -= math.log(math.exp(cos[twin] / 0.4) / sum(math.exp(cos[j] / 0.4) for j in range(8) if j != i)) / 8
        for a, b in zip(p[i], p[twin], strict=True):
            divergence += (a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))) / 8
    method = get_method("cibhash")(BITS, temperature=0.4, beta=beta)
    assert method.loss(u, NOTHING, 0).item() == pytest.approx(contrast + beta * divergence, rel=1e-4)  # cos below 1


def test_views_that_agree_cost_no_divergence_and_least_contrast() -> None:
    u = 9.0 * torch.where(outputs(4) > 0, 1.0, -1.0).double()
    method = get_method("cibhash")(BITS, beta=100.0)
    same, mixed = torch.cat([u, u]), torch.cat([u, u.roll(1, 0)])
    plain = get_method("cibhash")(BITS, beta=0.0)
    assert method.loss(same, NOTHING, 0).item() == pytest.approx(plain.loss(same, NOTHING, 0).item())
    assert plain.loss(same, NOTHING, 0) < plain.loss(mixed, NOTHING, 0)


def test_the_gradient_goes_through_the_sign_to_the_probability() -> None:
    u = outputs(8).requires_grad_()
    method = get_method("cibhash")(BITS, beta=0.0)
    (found,) = torch.autograd.grad(method.loss(u, NOTHING, 0), u)
    z = torch.where(u > 0, 1.0, -1.0).double().requires_grad_()
    alike = torch.nn.functional.cosine_similarity(z[:, None], z[None], dim=2) / 0.3
    alike = alike.masked_fill(torch.eye(8, dtype=torch.bool), -math.inf)
    expected = torch.nn.functional.cross_entropy(alike, torch.arange(8).roll(4))
    (through,) = torch.autograd.grad(expected, z)
    p = torch.sigmoid(u.detach())
    assert torch.allclose(found, through * p * (1 - p), atol=1e-6)


def test_a_batch_holds_every_row_twice_and_dropout_makes_the_views_differ() -> None:
    method = get_method("cibhash")(BITS, training=Training(batch=4), dropout=0.5)
    method.prepare(Split(features=np.ones((30, 5))))
    method._features = torch.ones(30, 5)
    items, _ = method.draw(3)
    assert len(items) == 8
    np.testing.assert_array_equal(items[:4], items[4:])
    head, rows = method.head(20), torch.randn(3, 20, generator=torch.Generator().manual_seed(0))
    with torch.random.fork_rng(devices=[]):
        assert not torch.equal(head(rows), head(rows))
    head.eval()
    assert torch.equal(head(rows), head(rows))


def test_one_row_has_nobody_to_differ_from() -> None:
    assert get_method("cibhash")(BITS, beta=0.0).loss(outputs(2), NOTHING, 0).item() == 0
