"""Losses on classes: OrthoHash in twenty lines, and the mechanism under it against the slow, obvious way."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import PairSimilarity, Split, UsageError, check_method, evaluate, parameter, register_method
from benchmark.deep import CENTRE_KINDS, CentredMethod, CentreKind, PointwiseMethod, Training, class_centres, cosine
from benchmark.registry import methods
from benchmark.seeds import generator

SHORT = Training(train="hash", steps=20, batch=8, device="cpu", checkpoint_seconds=0, learning_rate=0.01)


class OrthoHash(PointwiseMethod):
    """Cross-entropy of scaled cosines between outputs and fixed random centres, with a margin (Hoe et al., 2021)."""

    scale: float = parameter(8.0, search=[4, 8, 16], doc="of the cosines")
    margin: float = parameter(0.2, search=[0, 0.2, 0.5], doc="taken off the cosine with the row's own centres")

    def make_centres(self, classes: int) -> torch.Tensor:
        return torch.where(torch.rand(classes, self.bits) < 0.5, -1.0, 1.0)

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        cosines = cosine(outputs, self.centres.to(outputs.dtype)) - self.margin * labels
        target = labels / labels.sum(1, keepdim=True)
        return torch.nn.functional.cross_entropy(self.scale * cosines, target)


class Classified(PointwiseMethod):
    """A linear classifier on tanh codes, trained with the network."""

    def make_classifier(self, classes: int) -> torch.nn.Module:
        return torch.nn.Linear(self.bits, classes)

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        assert self.classifier is not None
        assert (labels.sum(1) > 0).all()
        logits = self.classifier(torch.tanh(outputs))
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    register_method("test-orthohash", title="OrthoHash", paper="Hoe et al., NeurIPS 2021")(OrthoHash)
    register_method("test-classified", title="Classified")(Classified)


@pytest.fixture
def train(clusters: Any) -> Split:
    """Four classes, every fifth row without a label."""
    split = clusters(rows=60)
    labels = split.labels.copy()
    labels[::5] = False
    return Split(features=split.features, labels=labels)


def make(cls: Any, bits: int = 8, training: Training = SHORT, seed: int = 1) -> Any:
    return cls(bits, seed, training=training)


def test_orthohash_takes_twenty_lines_and_the_decorator_names_what_is_its_own() -> None:
    assert len(inspect.getsource(OrthoHash).splitlines()) < 20
    info = OrthoHash.info
    assert (info.family, info.input, info.needs) == ("deep", "images", "labels")
    assert list(info.parameters) == ["scale", "margin", "scaling"]


@pytest.mark.slow
def test_orthohash_keeps_every_promise() -> None:
    broken = [row for row in check_method(OrthoHash, raise_first=False) if not row.kept]
    assert [row for row in broken if "fresh_process" not in row.name] == []


@pytest.mark.parametrize("cls", [OrthoHash, Classified])
def test_it_learns(cls: Any, train: Split, clusters: Any) -> None:
    query = clusters(seed=1)
    method = make(cls, 16, dataclasses.replace(SHORT, steps=100)).fit(train)
    assert evaluate(method.encode(query), method.encode(clusters()), query.labels, clusters().labels, k=None).map > 0.9


@pytest.mark.parametrize("cls", [OrthoHash, Classified])
def test_unlabelled_rows_are_never_seen_by_the_loss(cls: Any, train: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is the next rows of one shuffled stream over labelled rows, twice the profile's batch long."""
    seen: list[torch.Tensor] = []
    loss = cls.loss

    def watched(self: Any, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        seen.append(labels)
        assert len(outputs) == len(labels)
        return loss(self, outputs, labels, step)  # type: ignore[no-any-return]

    monkeypatch.setattr(cls, "loss", watched)
    make(cls).fit(train)
    hot: Any = train.labels
    labelled = [row for row in range(60) if hot[row].any()]
    order: list[int] = []
    for epoch in range(20 * 16 // len(labelled) + 1):
        order += [labelled[place] for place in generator("stream", 1, epoch).permutation(len(labelled))]
    for step, labels in enumerate(seen):
        rows = order[16 * step : 16 * step + 16]
        assert labels.tolist() == [[float(value) for value in hot[row]] for row in rows]


def test_what_unlabelled_rows_hold_decides_nothing_but_the_scaling(train: Split) -> None:
    training = SHORT
    other = np.array(train.features)
    other[::10] = train.features[5::10]  # type: ignore[index]
    codes = [
        OrthoHash(8, 1, training=training, scaling="l2")
        .fit(Split(features=features, labels=train.labels))
        .encode(train)  # type: ignore[call-arg]
        for features in (train.features, other)
    ]
    np.testing.assert_array_equal(*codes)


def plain_training(train: Split, bits: int, training: Training) -> np.ndarray:
    """`Classified` by hand: SGD with momentum on a hash layer and a classifier, both at the hash layer's rates."""
    from benchmark.seeds import derive_seed
    from benchmark.shallow import FeatureScaling

    hot: Any = train.labels
    rows = torch.from_numpy(FeatureScaling.fit(train.features, gain="sqrt").transform(train.features))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed("weights", 1))
        layer = torch.nn.Linear(rows.shape[1], bits)
        torch.nn.init.normal_(layer.weight, std=training.deviation)
        torch.nn.init.zeros_(layer.bias)
        classifier = torch.nn.Linear(bits, hot.shape[1])
    weights = [layer.weight, layer.bias, classifier.weight, classifier.bias]
    speeds = [torch.zeros_like(one) for one in weights]
    labelled = np.flatnonzero(hot.any(axis=1))
    order = np.concatenate([labelled[generator("stream", 1, e).permutation(len(labelled))] for e in range(20)])
    for step in range(training.steps):
        batch = order[16 * step : 16 * step + 16]
        logits = classifier(torch.tanh(layer(rows[batch])))
        target = torch.from_numpy(hot[batch].astype(np.float32))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for one, speed, gradient in zip(weights, speeds, gradients, strict=True):
                bias = one.ndim == 1
                speed.mul_(training.momentum).add_(gradient + (0 if bias else training.weight_decay) * one)
                one -= training.learning_rate * training.hash_rate * (training.bias_rate if bias else 1) * speed
    return layer.weight.detach().numpy()  # type: ignore[no-any-return]


def test_the_optimiser_moves_the_classifier_as_it_moves_the_hash_layer(train: Split) -> None:
    method = make(Classified).fit(train)
    expected = plain_training(train, 8, SHORT)
    np.testing.assert_allclose(method._assembly.network.head.weight.detach().numpy(), expected, rtol=1e-4, atol=1e-6)
    assert method._assembly.network.classifier is method.classifier


@pytest.mark.parametrize("cls", [OrthoHash, Classified])
def test_a_killed_training_goes_on_as_if_nothing_had_happened(
    cls: Any, train: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make(cls).fit(train)
    kept = dataclasses.replace(SHORT, checkpoint=str(tmp_path / "snapshot.pt"))
    loss = cls.loss

    def killed(self: Any, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        if step == 7:
            raise KeyboardInterrupt
        return loss(self, outputs, labels, step)  # type: ignore[no-any-return]

    monkeypatch.setattr(cls, "loss", killed)
    with pytest.raises(KeyboardInterrupt):
        make(cls, training=kept).fit(train)
    monkeypatch.setattr(cls, "loss", loss)
    resumed = make(cls, training=kept).fit(train)
    assert resumed.history == whole.history
    np.testing.assert_array_equal(resumed.encode(train), whole.encode(train))
    for one, other in zip(whole._assembly.network.parameters(), resumed._assembly.network.parameters(), strict=True):
        assert torch.equal(one, other)
    assert whole.state.keys() == resumed.state.keys()
    assert all(torch.equal(whole.state[name], resumed.state[name]) for name in whole.state)


@pytest.mark.parametrize("cls", [OrthoHash, Classified])
def test_a_fitted_method_is_copied_and_pickled_whole(cls: Any, train: Split) -> None:
    method = make(cls).fit(train)
    for twin in (copy.deepcopy(method), pickle.loads(pickle.dumps(method))):
        np.testing.assert_array_equal(twin.encode(train), method.encode(train))
        assert twin.classifier is None or twin._assembly.network.classifier is twin.classifier


def test_fitting_again_forgets_the_classifier(train: Split) -> None:
    method = make(Classified)
    codes = method.fit(train).encode(train)
    np.testing.assert_array_equal(method.fit(train).encode(train), codes)


def test_centres_of_a_centred_method(train: Split) -> None:
    @register_method("test-centred", title="X")
    class Centred(CentredMethod):
        centre_kind: CentreKind = parameter("hadamard", search=CENTRE_KINDS)

        def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
            return (outputs - labels @ self.centres).square().mean()

    method = make(Centred).fit(train)
    np.testing.assert_array_equal(method.centres, class_centres("hadamard", 4, 8, seed=1))
    other = Centred(8, 1, training=SHORT, centre_kind="bernoulli").fit(train)  # type: ignore[call-arg]
    np.testing.assert_array_equal(other.centres, class_centres("bernoulli", 4, 8, seed=1))
    assert "use more bits" in Centred.unsupported(train, 1)  # type: ignore[operator]
    assert Centred.info.declared["centre_kind"].search == CENTRE_KINDS


@pytest.mark.parametrize("second", [False, True])
def test_sizes_of_classes_are_known_before_centres_are_made(second: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.array([[1, 0, 0], [1, 0, 0], [0, second, 1], [0, 0, 0]], bool)
    seen = []
    monkeypatch.setattr(OrthoHash, "make_centres", lambda self, classes: seen.append(self.class_sizes))
    method = make(OrthoHash)
    method.prepare(Split(labels=labels))
    assert seen[0].tolist() == [2, second, 1]
    assert method.multi_label is second
    assert method.labelled_rows == 3


def test_data_without_labels_are_declined(clusters: Any) -> None:
    pairs = Split(features=clusters().features, similarity=PairSimilarity(120, np.array([[0, 1]]), np.array([True])))
    assert "class labels" in OrthoHash.unsupported(pairs, 8)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="test-orthohash: learns from class labels"):
        make(OrthoHash).fit(pairs)


def test_centres_that_are_no_tensor_are_told(clusters: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))

    @register_method("test-numpy-centres", title="X")
    class NumpyCentres(PointwiseMethod):
        def make_centres(self, classes: int) -> Any:
            return np.ones((classes, self.bits))

    with pytest.raises(UsageError, match="make_centres returned a ndarray, expected a torch tensor"):
        NumpyCentres(4, training=SHORT).fit(clusters())
