"""DPSH: the batch against the stored outputs of the whole training set."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Training
from benchmark.deep.trainer import start

LABELS = np.eye(3, dtype=bool)[[0, 0, 1, 2, 1, 0]]


def test_with_all_rows_in_the_batch_it_is_plain_cross_entropy_at_half_the_product() -> None:
    method = get_method("dpsh")(4, eta=0.0, training=Training(self_pairs=True))
    method.prepare(Split(labels=LABELS))
    items, target = method.draw(0)
    assert sorted(items) == list(range(6))
    outputs = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    t = outputs.numpy() @ outputs.numpy().T / 2
    s = (LABELS[items].astype(int) @ LABELS[items].T.astype(int)) > 0
    expected = np.mean(np.logaddexp(0, t) - s * t)
    assert method.objective(outputs, target, 0).item() == pytest.approx(expected, rel=1e-6)  # stored in float32


def test_quantisation_pulls_to_the_nearest_code() -> None:
    method = get_method("dpsh")(2, eta=3.0, training=Training(self_pairs=True))
    method.prepare(Split(labels=LABELS))
    _, target = method.draw(0)
    outputs = torch.tensor([[0.5, -2.0]] * 6)
    bare = get_method("dpsh")(2, eta=0.0)
    stored = torch.zeros(6, 2)
    pull = method.loss(outputs, stored, target, 0) - bare.loss(outputs, stored, target, 0)
    assert pull.item() == pytest.approx(3 * 6 * (0.25 + 1) / 36)


def test_gradient_flows_through_the_batch_side_only() -> None:
    method = get_method("dpsh")(4, eta=0.0, training=Training(self_pairs=True))
    method.prepare(Split(labels=LABELS))
    items, target = method.draw(0)
    outputs = torch.randn(6, 4, generator=torch.Generator().manual_seed(1), requires_grad=True)
    method.objective(outputs, target, 0).backward()
    s = torch.from_numpy(LABELS[items].astype(np.float32) @ LABELS[items].T.astype(np.float32))
    with torch.no_grad():
        one_side = (torch.sigmoid(outputs @ outputs.T / 2) - s) @ outputs / 2 / 36
    assert torch.allclose(outputs.grad, one_side, atol=1e-6)


def test_stored_outputs_are_those_of_a_frozen_network() -> None:
    features = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    train = Split(features=features, labels=np.arange(40) % 3)
    frozen = Training(train="hash", steps=5, learning_rate=0.0, device="cpu")
    method = get_method("dpsh")(4, batch=8, training=frozen).fit(train)
    assert method.state["stored"].abs().sum(1).min() > 0  # five batches of eight: every row was stored
    np.testing.assert_array_equal(method.encode(train), np.where(method.state["stored"].numpy() > 0, 1, -1))


def test_biases_learn_no_faster_than_weights() -> None:
    features = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    twice = Training(train="hash", steps=1, bias_rate=2.0, device="cpu")
    method = get_method("dpsh")(4, training=twice).fit(Split(features=features, labels=np.arange(40) % 3))
    groups = start(method, method._assembly.network, torch.device("cpu")).optimizer.param_groups
    assert {group["rate"] for group in groups} == {twice.hash_rate}
