"""HyP2: proxies near and far, pairs that share no label, and the cosine from which on far is far enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Training

SINGLE = np.eye(4, dtype=bool)[[0, 1, 2, 3, 1]]
SEVERAL = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 0]], bool)
TRAINING = Training(train="hash", batch=8, device="cpu")


def prepared(labels: np.ndarray = SEVERAL, bits: int = 6, **parameters: Any) -> Any:
    method = get_method("hyp2")(bits, training=TRAINING, **parameters)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        method.prepare(Split(labels=labels))
    method.classifier.double()
    return method


def loss(method: Any, outputs: torch.Tensor, labels: np.ndarray) -> torch.Tensor:
    found: torch.Tensor = method.loss(outputs, torch.from_numpy(labels.astype(float)), 0)
    return found


def some_outputs() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((5, 6)))


def cos(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@pytest.mark.parametrize("labels", [SINGLE, SEVERAL], ids=["one label", "several"])
@pytest.mark.parametrize("beta", [0.0, 0.7])
@pytest.mark.parametrize("zeta", [None, -0.2])
def test_loss_against_a_loop(labels: np.ndarray, beta: float, zeta: float | None) -> None:
    method, outputs = prepared(labels, beta=beta, zeta=zeta), some_outputs()
    rows, proxies = outputs.numpy(), method.classifier.weight.detach().numpy()
    limit = 1 - 2 * 4 / 6 if zeta is None else zeta  # [6, 2, 4] is the best linear code of four words
    near, far, pairs = [], [], []
    for i, row in enumerate(rows):
        for c, proxy in enumerate(proxies):
            (near if labels[i, c] else far).append(1 - cos(row, proxy) if labels[i, c] else cos(row, proxy) - limit)
        for j, other in enumerate(rows):
            if labels[i].sum() > 1 and labels[j].sum() > 1 and not (labels[i] & labels[j]).any():
                pairs.append(max(0, cos(row, other) - limit))
    expected = np.mean(near) + np.mean(np.maximum(far, 0)) + beta * (np.mean(pairs) if pairs else 0)
    assert bool(pairs) == (labels is SEVERAL)
    assert loss(method, outputs, labels).item() == pytest.approx(expected, rel=1e-9)


def test_zeta_grows_with_the_classes_and_falls_with_the_bits() -> None:
    limits = [[prepared(np.eye(c, dtype=bool), k).limit for c in (2, 4, 16, 64, 256)] for k in (16, 32, 64)]
    assert all(rows == sorted(rows) for rows in limits)
    assert all(list(column) == sorted(column, reverse=True) for column in zip(*limits, strict=True))
    assert limits[0][0] == -1  # two codes may be opposite
    assert prepared(np.eye(32, dtype=bool), 16).limit == 0  # Reed-Muller: 32 words, half the bits apart
    assert prepared(np.eye(100, dtype=bool), 16).limit == 0.25  # [16, 7, 6]
    assert prepared(np.eye(9, dtype=bool), 3).limit == 1  # more classes than codes: nothing is asked


def test_the_length_of_outputs_is_irrelevant_and_the_best_is_ones_own_proxy() -> None:
    method = prepared(SINGLE)
    outputs = some_outputs()
    assert loss(method, 7 * outputs, SINGLE).item() == pytest.approx(loss(method, outputs, SINGLE).item(), rel=1e-9)
    own = method.classifier.weight.detach()[SINGLE.argmax(axis=1)]
    assert loss(method, own, SINGLE) < loss(method, outputs, SINGLE)


def test_one_class_has_no_other_to_stay_away_from() -> None:
    outputs, labels = some_outputs().requires_grad_(), np.ones((5, 1), bool)
    method = prepared(labels)
    found = loss(method, outputs, labels)
    found.backward()
    proxy = method.classifier.weight.detach().numpy()[0]
    assert found.item() == pytest.approx(np.mean([1 - cos(row, proxy) for row in outputs.detach().numpy()]))
    assert torch.isfinite(outputs.grad).all()


@pytest.mark.parametrize("several", [False, True])
def test_it_learns_beside_rows_without_a_label(beside_unlabelled_rows: Any, several: bool) -> None:
    assert beside_unlabelled_rows("hyp2", several)[1] > 0.9
