"""DFH: pairs at a margin against stored outputs, codes that lean to the centres of their classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import PairSimilarity, Split, UsageError, evaluate, get_method
from benchmark.deep import Training

BITS = 6
MULTI = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]], bool)  # the last has no label
SHORT = Training(train="hash", steps=60, batch=16, device="cpu")


def prepared(labels: Any = MULTI, **parameters: Any) -> Any:
    method = get_method("dfh")(BITS, seed=1, training=SHORT, **parameters)
    method.prepare(Split(labels=labels))
    return method


def outputs(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, BITS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("batch", [4, 6])
def test_loss_by_loops(batch: int) -> None:
    method = prepared(margin=0.7, eta=0.3, mu=0.4, batch=batch)
    stored = method.state["stored"].copy_(outputs(6, seed=2))
    centres = method.state["centres"].numpy().copy()
    items, target = method.draw(0)
    u = outputs(batch)
    loss = method.objective(u, target, 0).item()
    total = pairs = pull = 0.0
    for place, i in enumerate(items):
        for j in range(6):
            if i != j:
                theta = float(u[place] @ stored[j].double()) / 2
                similar = (MULTI[i] & MULTI[j]).any()
                total += math.log1p(math.exp(0.7 - theta if similar else 0.7 + theta))
                pairs += 1
        lean = u[place].numpy() + 0.4 * sum((centres[c] for c in range(3) if MULTI[i, c]), np.zeros(BITS))
        pull += sum((float(x) - (1 if y > 0 else -1)) ** 2 for x, y in zip(u[place], lean, strict=True))
    assert loss == pytest.approx(total / pairs + 0.3 * pull / (batch * BITS), rel=1e-5)  # stored in float32


def fisher(method: Any, codes: np.ndarray, centres: np.ndarray) -> float:
    """||C Y - B||^2 over the training set, scaled to a batch, plus nu times the products of different centres."""
    within = ((codes - MULTI @ centres) ** 2).sum() * method._stream.batch / len(MULTI)
    products = centres @ centres.T
    return float(within + method.nu * (products.sum() - np.trace(products)))


@pytest.mark.parametrize("seed", range(5))
def test_the_centres_step_takes_the_better_value_of_each_bit(seed: int) -> None:
    method = prepared(nu=0.3)
    before = method.state["centres"].numpy().astype(float)
    codes = method.codes(outputs(6, seed).numpy())
    after, expected = method.state["centres"].numpy().astype(float), before.copy()
    for c in range(3):
        for k in range(BITS):
            other = expected.copy()
            other[c, k] *= -1
            if fisher(method, codes, other) < fisher(method, codes, expected) - 1e-9:
                expected = other
    np.testing.assert_array_equal(after, expected)
    assert fisher(method, codes, after) <= fisher(method, codes, before) + 1e-9
    assert set(np.unique(after)) <= {-1, 1}


def test_centres_part_where_nothing_else_decides() -> None:
    """With outputs of 0 a class has no code of its own to follow: two centres end up opposite."""
    labels = np.eye(2, dtype=bool)[[0, 1, 0, 1]]
    method = prepared(labels, mu=0.0, nu=50.0)
    for _ in range(3):
        method.codes(np.zeros((4, BITS)))
    first, second = method.state["centres"]
    assert torch.equal(first, -second)


def test_without_mu_and_for_rows_without_a_label_the_code_is_the_sign() -> None:
    u = outputs(6).numpy()
    np.testing.assert_array_equal(prepared(mu=0.0).codes(u), np.where(u > 0, 1, -1))
    np.testing.assert_array_equal(prepared(mu=99.0).codes(u)[5], np.where(u[5] > 0, 1, -1))


def test_a_heavy_centre_decides_the_code() -> None:
    method = prepared(mu=99.0)
    centres = method.state["centres"].numpy().copy()
    np.testing.assert_array_equal(method.codes(outputs(6).numpy())[[0, 2, 3]], centres)


def test_it_learns() -> None:
    random = np.random.default_rng(0)
    classes = np.arange(80) % 4
    features = (3 * random.standard_normal((4, 8))[classes] + random.standard_normal((80, 8))).astype(np.float32)
    train = Split(features=features, labels=classes)
    codes = get_method("dfh")(12, training=SHORT).fit(train).encode(train)
    assert evaluate(codes, codes, train.labels, train.labels, k=None).map > 0.9


def test_pairs_alone_are_not_enough() -> None:
    pairs = Split(features=np.ones((3, 2)), similarity=PairSimilarity(3, np.array([[0, 1]]), np.array([True])))
    with pytest.raises(UsageError, match="class labels"):
        get_method("dfh")(BITS).fit(pairs)
