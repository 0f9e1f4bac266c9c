"""DSDH: pairs, a classifier on discrete codes, and their renewal, which never raises the objective."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import PairSimilarity, Split, UsageError, evaluate, get_method
from benchmark.deep import Training

BITS = 5
MULTI = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]], bool)  # the last has no label
SHORT = Training(train="hash", steps=60, batch=16, device="cpu")


def prepared(labels: Any = MULTI, **parameters: Any) -> Any:
    method = get_method("dsdh")(BITS, seed=1, training=SHORT, **parameters)
    method.prepare(Split(labels=labels))
    return method


def outputs(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, BITS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_loss_by_loops() -> None:
    method = prepared(eta=0.8, batch=4)
    stored = method.state["stored"].copy_(outputs(6, seed=2))
    items, target = method.draw(1)  # no renewal: a pass has two steps
    codes, u = method.state["codes"].clone(), outputs(4)
    loss = method.objective(u, target, 1).item()
    total = pairs = off = 0.0
    for place, i in enumerate(items):
        for j in range(6):
            if i != j:
                theta = float(u[place] @ stored[j].double()) / 2
                total += math.log1p(math.exp(theta)) - (theta if (MULTI[i] & MULTI[j]).any() else 0)
                pairs += 1
        off += sum((float(a) - float(b)) ** 2 for a, b in zip(codes[i], u[place], strict=True))
    assert loss == pytest.approx((total + 0.8 * off) / pairs, rel=1e-5)
    assert torch.equal(method.state["codes"], codes)


def cost(method: Any, codes: np.ndarray, stored: np.ndarray, classifier: np.ndarray) -> float:
    """All that depends on codes and classifier, over the rows with a label."""
    known = method._labelled
    error = ((method._labels[known] - codes[known] @ classifier) ** 2).sum()
    pull = ((codes[known] - stored[known]) ** 2).sum()
    return float(method.mu * error + method.nu * (classifier**2).sum() + method.eta * pull)


@pytest.mark.parametrize("seed", range(4))
def test_renewal_never_raises_the_objective_and_ends_where_no_bit_would_lower_it(seed: int) -> None:
    method = prepared(eta=0.2, mu=1.5, nu=0.3)
    codes, stored = method.state["codes"].numpy().astype(float), outputs(6, seed).numpy()
    known, targets = method._labelled, method._labels

    def classifier(of: np.ndarray) -> np.ndarray:
        """Ridge regression by rows stacked under the data."""
        stacked = np.vstack([of[known] * math.sqrt(1.5), math.sqrt(0.3) * np.eye(BITS)])
        return np.linalg.lstsq(stacked, np.vstack([targets[known] * math.sqrt(1.5), np.zeros((BITS, 3))]), rcond=None)[
            0
        ]

    for _ in range(3):
        weights = classifier(codes)
        found = method.renewed(codes, stored).astype(float)
        assert cost(method, found, stored, weights) <= cost(method, codes, stored, weights) + 1e-9
        for i, k in np.ndindex(5, BITS):
            other = found.copy()
            other[i, k] *= -1
            assert cost(method, other, stored, weights) >= cost(method, found, stored, weights) - 1e-9
        codes = found


def test_the_classifier_moves_the_network() -> None:
    """The slip of a public port: there the gradient is the same whatever the classes are worth."""
    gradients = []
    for mu in (1e-6, 50.0):
        method = prepared(mu=mu, eta=5.0)
        u = outputs(6).requires_grad_()
        _, target = method.draw(0)
        (gradient,) = torch.autograd.grad(method.objective(u, target, 0), u)
        gradients.append(gradient)
    assert not torch.allclose(*gradients)


def test_where_the_classifier_is_worth_nothing_the_code_is_the_sign() -> None:
    method = prepared(mu=1e-9, eta=5.0)
    stored = outputs(6).numpy()
    np.testing.assert_array_equal(method.renewed(method.state["codes"].numpy(), stored), np.where(stored > 0, 1, -1))


def test_rows_without_a_label_take_no_part() -> None:
    method, stored = prepared(eta=0.1), outputs(6).numpy()
    found = method.renewed(method.state["codes"].numpy(), stored)
    np.testing.assert_array_equal(found[5], np.where(stored[5] > 0, 1, -1))
    other = stored.copy()
    other[5] *= -9
    np.testing.assert_array_equal(method.renewed(method.state["codes"].numpy(), other)[:5], found[:5])


def test_it_learns() -> None:
    random = np.random.default_rng(0)
    classes = np.arange(80) % 4
    features = (3 * random.standard_normal((4, 8))[classes] + random.standard_normal((80, 8))).astype(np.float32)
    train = Split(features=features, labels=classes)
    codes = get_method("dsdh")(12, training=SHORT).fit(train).encode(train)
    assert evaluate(codes, codes, train.labels, train.labels, k=None).map > 0.9


def test_pairs_alone_are_not_enough() -> None:
    pairs = Split(features=np.ones((3, 2)), similarity=PairSimilarity(3, np.array([[0, 1]]), np.array([True])))
    with pytest.raises(UsageError, match="class labels"):
        get_method("dsdh")(BITS).fit(pairs)
