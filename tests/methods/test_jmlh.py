"""JMLH: a classifier on codes drawn at random, and the distance of their probabilities from fair coins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Training

LABELS = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]], bool)
SHORT = Training(train="hash", steps=100, batch=16, learning_rate=0.01, device="cpu")


def prepared(labels: np.ndarray = LABELS, **parameters: Any) -> Any:
    method = get_method("jmlh")(6, training=SHORT, **parameters)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        method.prepare(Split(labels=labels))
    method.classifier.double()
    return method


def loss(method: Any, outputs: torch.Tensor, labels: np.ndarray = LABELS, seed: int = 0) -> torch.Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        found: torch.Tensor = method.loss(outputs, torch.from_numpy(labels.astype(float)), 0)
    return found


def some_outputs() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((5, 6)))


@pytest.mark.parametrize("weight", [0.0, 0.4])
def test_loss_against_a_loop(weight: float) -> None:
    method, outputs = prepared(prior=weight), some_outputs()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        noise = torch.rand(5, 6, dtype=torch.float64).numpy()
    matrix, start = (one.detach().numpy() for one in (method.classifier.weight, method.classifier.bias))
    entropy, divergence = 0.0, 0.0
    for u, coins, hot in zip(outputs.numpy(), noise, LABELS, strict=True):
        q = 1 / (1 + np.exp(-u))
        code = [1 if coin > 1 - chance else -1 for coin, chance in zip(coins, q, strict=True)]
        logits = matrix @ np.array(code) + start
        shares = [np.log(np.exp(logits).sum()) - logits[c] for c in range(3) if hot[c]]
        entropy += sum(shares) / len(shares)
        divergence += sum(p * np.log(p / 0.5) + (1 - p) * np.log((1 - p) / 0.5) for p in q)
    assert loss(method, outputs).item() == pytest.approx(entropy / 5 + weight * divergence / 5, rel=1e-9)


def test_a_bit_is_plus_one_as_often_as_its_probability_says() -> None:
    method, seen = prepared(prior=0.0), []
    method.classifier.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].detach()))
    outputs = some_outputs()
    for seed in range(2000):
        loss(method, outputs, seed=seed)
    drawn = torch.stack(seen)
    assert torch.equal(drawn.abs(), torch.ones_like(drawn))
    assert ((drawn > 0).double().mean(0) - torch.sigmoid(outputs)).abs().max() < 0.05


def test_the_gradient_of_a_code_is_that_of_its_mean() -> None:
    method, outputs = prepared(prior=0.0), some_outputs().requires_grad_()
    kept: list[torch.Tensor] = []
    method.classifier.register_forward_pre_hook(lambda module, inputs: kept.append(inputs[0]))
    value = loss(method, outputs)
    at_code, at_output = torch.autograd.grad(value, [kept[0], outputs])
    q = torch.sigmoid(outputs.detach())
    assert torch.allclose(at_output, at_code * 2 * q * (1 - q))


def test_no_divergence_at_zero_and_log_two_a_bit_far_out() -> None:
    bare, weighted = prepared(prior=0.0), prepared(prior=1.0)
    for value, expected in ((0.0, 0.0), (60.0, 6 * np.log(2)), (-1e4, 6 * np.log(2))):
        outputs = torch.full((5, 6), value, dtype=torch.float64)
        assert (loss(weighted, outputs) - loss(bare, outputs)).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("several", [False, True])
def test_it_learns_beside_rows_without_a_label(beside_unlabelled_rows: Any, several: bool) -> None:
    method, found = beside_unlabelled_rows("jmlh", several)
    assert method.multi_label is several
    assert found > 0.9


def test_a_single_class_is_no_trouble() -> None:
    outputs = some_outputs().requires_grad_()
    loss(prepared(np.ones((5, 1), bool)), outputs, np.ones((5, 1))).backward()
    assert torch.isfinite(outputs.grad).all()
