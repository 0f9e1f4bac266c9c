"""DPN: a hinge at every bit, on the side that the class says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Training, class_centres

LABELS = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]], bool)
SHORT = Training(train="hash", steps=60, batch=16, learning_rate=0.01, device="cpu")


def prepared(labels: np.ndarray = LABELS, **parameters: Any) -> Any:
    method = get_method("dpn")(6, seed=2, training=SHORT, **parameters)
    method.prepare(Split(labels=labels))
    method.state = {"centres": method.centres.double()}
    return method


def some_outputs() -> torch.Tensor:
    return torch.from_numpy(2 * np.random.default_rng(0).standard_normal((5, 6)))


@pytest.mark.parametrize("margin", [0.5, 1.0])
@pytest.mark.parametrize("kind", ["bernoulli", "hadamard", "gilbert-varshamov"])
def test_loss_against_a_loop(margin: float, kind: Any) -> None:
    method, outputs = prepared(margin=margin, centre_kind=kind), some_outputs()
    targets = class_centres(kind, 3, 6, seed=2)
    total = 0.0
    for u, hot in zip(outputs.numpy(), LABELS, strict=True):
        for c in range(3):
            if hot[c]:
                total += sum(max(0, margin - x * t) for x, t in zip(u, targets[c], strict=True))
    found = method.loss(outputs, torch.from_numpy(LABELS.astype(float)), 0).item()
    assert found == pytest.approx(total / 5, rel=1e-12)


def test_it_is_zero_exactly_where_every_margin_is_met() -> None:
    method, labels = prepared(), torch.eye(3).double()
    met = method.centres * torch.linspace(1, 4, 6)
    assert method.loss(met, labels, 0) == 0
    for k in range(6):
        missed = met.clone()
        missed[1, k] *= 0.2
        assert method.loss(missed, labels, 0) > 0


def test_gradient_is_minus_the_target_where_the_hinge_is_active() -> None:
    method = prepared(LABELS[[0, 1, 4]])
    outputs = some_outputs()[:3].requires_grad_()
    method.loss(outputs, torch.eye(3).double(), 0).backward()
    active = outputs.detach() * method.centres < 1
    assert active.any()
    assert not active.all()
    assert torch.equal(3 * outputs.grad, torch.where(active, -method.centres, 0.0))


def test_a_single_class_and_rows_without_a_label_are_no_trouble() -> None:
    features = np.random.default_rng(0).standard_normal((12, 5)).astype(np.float32)
    labels = np.ones((12, 1), bool)
    labels[::2] = False
    method = get_method("dpn")(8, training=SHORT).fit(Split(features=features, labels=labels))
    wanted = method.centres[0].numpy()
    assert (method.encode(Split(features=features[1::2])) == wanted).mean() > 0.9


def test_more_classes_than_codes_are_declined() -> None:
    train = Split(features=np.zeros((5, 2), np.float32), labels=np.arange(5))
    assert "5 classes need a code each" in get_method("dpn").unsupported(train, 2)
