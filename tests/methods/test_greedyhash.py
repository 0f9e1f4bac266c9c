"""GreedyHash: cross-entropy on codes, a gradient that goes straight through, a cubic penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Training

SINGLE = np.eye(3, dtype=bool)[[0, 1, 2, 1, 0]]
SEVERAL = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 1, 0], [1, 0, 1]], bool)
SHORT = Training(train="hash", steps=100, batch=16, learning_rate=0.01, device="cpu")


def prepared(labels: np.ndarray, **parameters: Any) -> Any:
    method = get_method("greedyhash")(6, training=SHORT, **parameters)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        method.prepare(Split(labels=labels))
    method.classifier.double()
    return method


def some_outputs(rows: int = 5) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((rows, 6)))


@pytest.mark.parametrize("weight", [0.0, 0.7])
@pytest.mark.parametrize("labels", [SINGLE, SEVERAL], ids=["one label", "several"])
def test_loss_against_a_loop(labels: np.ndarray, weight: float) -> None:
    method, outputs = prepared(labels, penalty=weight), some_outputs()
    weights = method.classifier.weight.detach().numpy()
    bias = np.zeros(3) if labels is SINGLE else method.classifier.bias.detach().numpy()
    entropy, penalty = 0.0, 0.0
    for u, hot in zip(outputs.numpy(), labels, strict=True):
        signs = [1 if x > 0 else -1 for x in u]
        logits = [
            start + sum(w * b for w, b in zip(row, signs, strict=True))
            for start, row in zip(bias, weights, strict=True)
        ]
        for c, logit in enumerate(logits):
            if labels is SINGLE:
                entropy += (np.log(np.exp(logits).sum()) - logit) if hot[c] else 0
            else:
                entropy -= np.log(1 / (1 + np.exp(-logit if hot[c] else logit)))
        penalty += sum(abs(abs(x) - 1) ** 3 for x in u)
    found = method.loss(outputs, torch.from_numpy(labels.astype(float)), 0).item()
    assert found == pytest.approx(entropy / 5 + weight * penalty / 30, rel=1e-12)


@pytest.mark.parametrize("labels", [SINGLE, SEVERAL], ids=["one label", "several"])
def test_gradient_at_the_outputs_is_the_gradient_at_the_codes(labels: np.ndarray) -> None:
    method, targets = prepared(labels, penalty=0.0), torch.from_numpy(labels.astype(float))
    outputs = some_outputs().requires_grad_()
    codes = torch.where(outputs > 0, 1.0, -1.0).double().detach().requires_grad_()
    gradients = [torch.autograd.grad(method.loss(x, targets, 0), x)[0] for x in (outputs, codes)]
    assert torch.equal(*gradients)
    assert gradients[0].abs().min() > 0


def test_with_several_labels_the_bias_starts_at_the_odds_of_the_classes() -> None:
    assert prepared(SINGLE).classifier.bias is None
    odds = torch.tensor([3 + 1, 3 + 1, 3 + 1]).double() / torch.tensor([2 + 1, 2 + 1, 2 + 1])
    assert torch.allclose(prepared(SEVERAL).classifier.bias, odds.log())
    never = np.column_stack([SEVERAL, np.zeros(5, bool), np.ones(5, bool)])
    assert torch.isfinite(prepared(never).classifier.bias).all()


def test_no_penalty_at_plus_minus_one_and_zero_is_a_code() -> None:
    targets = torch.from_numpy(SINGLE.astype(float))
    codes = torch.where(some_outputs() > 0, 1.0, -1.0).double()
    assert prepared(SINGLE, penalty=5.0).loss(codes, targets, 0) == prepared(SINGLE, penalty=0.0).loss(
        codes, targets, 0
    )
    zero, minus = torch.zeros(5, 6).double(), -torch.ones(5, 6).double()
    bare = prepared(SINGLE, penalty=0.0)
    assert bare.loss(zero, targets, 0) == bare.loss(minus, targets, 0)


def test_a_single_class_is_no_trouble() -> None:
    method = prepared(np.ones((5, 1), bool))
    outputs = some_outputs().requires_grad_()
    loss = method.loss(outputs, torch.ones(5, 1).double(), 0)
    loss.backward()
    assert torch.isfinite(outputs.grad).all()


@pytest.mark.parametrize("several", [False, True])
def test_it_learns_beside_rows_without_a_label(beside_unlabelled_rows: Any, several: bool) -> None:
    method, found = beside_unlabelled_rows("greedyhash", several)
    assert method.multi_label is several
    assert found > 0.9
