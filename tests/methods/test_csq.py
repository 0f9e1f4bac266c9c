"""CSQ: bits classified towards the centre of the class, and votes where there are several classes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, UsageError, get_method
from benchmark.deep import Training

LABELS = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 1], [0, 0, 1]], bool)
SHORT = Training(train="hash", steps=30, batch=16, device="cpu")


def prepared(bits: int = 8, labels: np.ndarray = LABELS, **parameters: Any) -> Any:
    method = get_method("csq")(bits, seed=1, training=SHORT, **parameters)
    method.prepare(Split(labels=labels))
    method.state = {"centres": method.centres.double()}
    return method


def voted(centres: np.ndarray, hot: np.ndarray) -> list[int]:
    """The target of a row, counted vote by vote; row 0 of the centres breaks ties."""
    target = []
    for k in range(centres.shape[1]):
        plus = sum(centres[1 + c, k] > 0 for c in range(len(hot)) if hot[c])
        minus = sum(centres[1 + c, k] < 0 for c in range(len(hot)) if hot[c])
        target.append(int(np.sign(int(plus) - int(minus)) or centres[0, k]))
    return target


@pytest.mark.parametrize("weight", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["hadamard", "bernoulli", "gilbert-varshamov"])
def test_loss_against_a_loop(weight: float, kind: str) -> None:
    method = prepared(quantization=weight, centre_kind=kind)
    outputs = np.random.default_rng(0).standard_normal((6, 8))
    total = 0.0
    for u, hot in zip(outputs, LABELS, strict=True):
        for value, target in zip(u, voted(method.centres.numpy(), hot), strict=True):
            h = np.tanh(value)
            p, y = (1 + h) / 2, (1 + target) / 2
            total += -y * np.log(p) - (1 - y) * np.log(1 - p) + weight * (abs(h) - 1) ** 2
    found = method.loss(torch.from_numpy(outputs), torch.from_numpy(LABELS.astype(float)), 0).item()
    assert found == pytest.approx(total / outputs.size, rel=1e-6)


def test_the_vote_of_one_label_is_its_centre_and_ties_are_broken_by_one_vector() -> None:
    """The target is where the loss is least: far out on its side."""
    method = prepared()
    labels = torch.from_numpy(LABELS.astype(float))
    ties = 0
    for hot, row in zip(LABELS, labels, strict=True):
        target = voted(method.centres.numpy(), hot)
        if hot.sum() == 1:
            assert target == method.centres[1:][hot].flatten().tolist()
        ties += int((method.centres[1:][hot].sum(0) == 0).sum())
        right = 9.0 * torch.tensor(target, dtype=torch.float64)
        assert method.loss(right[None], row[None], 0).item() < 1e-6
        for k in range(8):
            wrong = right.clone()
            wrong[k] *= -1
            assert method.loss(wrong[None], row[None], 0).item() > 1
    assert ties > 0


@pytest.mark.parametrize("bits", [16, 48, 64])
def test_centres_are_half_the_bits_apart(bits: int) -> None:
    centres = prepared(bits, np.eye(2 * bits, dtype=bool)).centres[1:].numpy()
    found = {int((a != b).sum()) for a, b in itertools.combinations(centres, 2)}
    assert found == {bits // 2, bits}


@pytest.mark.parametrize(("bits", "classes"), [(16, 33), (16, 100), (10, 7), (48, 200), (3, 8)])
def test_any_length_and_more_classes_than_twice_the_bits(bits: int, classes: int) -> None:
    centres = prepared(bits, np.eye(classes, dtype=bool)).centres
    assert centres.shape == (classes + 1, bits)
    assert len(np.unique(centres[1:].numpy(), axis=0)) == classes


def test_more_classes_than_codes_are_declined() -> None:
    train = Split(features=np.zeros((5, 2), np.float32), labels=np.arange(5))
    assert "5 classes need a code each" in get_method("csq").unsupported(train, 2)
    with pytest.raises(UsageError, match="csq: 5 classes need a code each"):
        get_method("csq")(2, training=SHORT).fit(train)


def test_rows_without_a_label_and_a_single_class_are_no_trouble() -> None:
    features = np.random.default_rng(0).standard_normal((12, 5)).astype(np.float32)
    labels = np.ones((12, 1), bool)
    labels[::2] = False
    codes = (
        get_method("csq")(8, training=SHORT)
        .fit(Split(features=features, labels=labels))
        .encode(Split(features=features))
    )
    assert set(np.unique(codes)) <= {-1, 1}
