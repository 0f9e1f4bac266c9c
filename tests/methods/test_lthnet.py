"""LTHNet: class-balanced cross-entropy on tanh codes, with and without a memory of class means."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Training

LABELS = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]], bool)
SHORT = Training(train="hash", steps=20, batch=8, learning_rate=0.01, device="cpu", checkpoint_seconds=0)


def prepared(name: str = "class-balanced", labels: np.ndarray = LABELS, **parameters: Any) -> Any:
    method = get_method(name)(6, training=SHORT, **parameters)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        method.prepare(Split(labels=labels))
    method.classifier.double()
    method.state = {"centres": method.centres.double()}
    return method


def some_rows(classes: int = 3, rows: int = 40) -> Split:
    features = np.random.default_rng(0).standard_normal((rows, 5)).astype(np.float32)
    return Split(features=features, labels=np.arange(rows) % classes)


@pytest.mark.parametrize("name", ["class-balanced", "lthnet"])
@pytest.mark.parametrize("beta", [0.0, 0.9])
def test_loss_against_a_loop(name: str, beta: float) -> None:
    method = prepared(name, beta=beta)
    outputs = np.random.default_rng(0).standard_normal((6, 6))
    matrix, start = (one.detach().numpy() for one in (method.classifier.weight, method.classifier.bias))
    plain = [(1 - beta) / (1 - beta**n) for n in (4, 3, 2)]
    total = 0.0
    for u, hot in zip(outputs, LABELS[:6], strict=True):
        logits = matrix @ np.tanh(u) + start
        terms = [plain[c] / max(plain) * (np.log(np.exp(logits).sum()) - logits[c]) for c in range(3) if hot[c]]
        total += sum(terms) / len(terms)
    found = method.objective(torch.from_numpy(outputs), torch.from_numpy(LABELS[:6].astype(float)), 0).item()
    assert found == pytest.approx(total / 6, rel=1e-6)


def test_rare_classes_weigh_more_and_beta_zero_is_plain_cross_entropy() -> None:
    sizes = np.eye(3, dtype=bool)[[0] * 50 + [1] * 5 + [2]]
    weights = prepared(labels=sizes, beta=0.99).centres
    assert weights[0] < weights[1] < weights[2] == 1
    assert prepared(labels=sizes, beta=0.0).centres.tolist() == [1, 1, 1]


def test_memory_holds_the_mean_scaled_features_of_each_class() -> None:
    """Features do not change where the hash layer alone is trained, so any epoch's means are those of all rows."""
    train = some_rows()
    train.labels[::4] = False  # type: ignore[index]
    method = get_method("lthnet")(6, training=SHORT).fit(train)
    scaled = method._assembly.rows(Split(features=train.features)).take(np.arange(40)).numpy()
    labels: Any = train.labels
    # a batch at the end of an epoch may hold rows of the next: means are of about an epoch
    for c in range(3):
        np.testing.assert_allclose(method.memory.means[c], scaled[labels[:, c]].mean(axis=0), atol=0.5)
    whole = dataclasses.replace(SHORT, batch=64)
    method = get_method("lthnet")(6, training=whole).fit(train)
    for c in range(3):
        np.testing.assert_allclose(method.memory.means[c], scaled[labels[:, c]].mean(axis=0), atol=1e-5)


def test_encoding_needs_the_memory_and_keeps_it() -> None:
    train = some_rows()
    method = get_method("lthnet")(24, training=dataclasses.replace(SHORT, steps=60)).fit(train)
    codes = method.encode(train)
    kept = method.memory.means.clone()
    np.testing.assert_array_equal(copy.deepcopy(method).encode(train), codes)
    assert torch.equal(method.memory.means, kept)
    method.memory.means = -5 * kept
    assert (method.encode(train) != codes).any()


def test_a_killed_training_goes_on_with_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, cls = some_rows(), get_method("lthnet")
    whole = cls(6, training=SHORT).fit(train)
    kept = dataclasses.replace(SHORT, checkpoint=str(tmp_path / "snapshot.pt"))
    loss = cls.loss

    def killed(self: Any, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        if step == 7:
            raise KeyboardInterrupt
        return loss(self, outputs, labels, step)  # type: ignore[no-any-return]

    monkeypatch.setattr(cls, "loss", killed)
    with pytest.raises(KeyboardInterrupt):
        cls(6, training=kept).fit(train)
    monkeypatch.setattr(cls, "loss", loss)
    resumed = cls(6, training=kept).fit(train)
    assert torch.equal(resumed.memory.means, whole.memory.means)
    np.testing.assert_array_equal(resumed.encode(train), whole.encode(train))


@pytest.mark.parametrize("name", ["class-balanced", "lthnet"])
@pytest.mark.parametrize("several", [False, True])
def test_it_learns_beside_rows_without_a_label(beside_unlabelled_rows: Any, name: str, several: bool) -> None:
    assert beside_unlabelled_rows(name, several)[1] > 0.9


@pytest.mark.parametrize("name", ["class-balanced", "lthnet"])
def test_one_class_and_one_row_are_no_trouble(name: str) -> None:
    for rows in (1, 12):
        train = some_rows(classes=1, rows=rows)
        assert set(np.unique(get_method(name)(6, training=SHORT).fit(train).encode(train))) <= {-1, 1}
