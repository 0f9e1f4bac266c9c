"""What every deep loss must satisfy, for every registered deep method: a plugin is tested by existing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, UsageError
from benchmark.deep import (
    Codes,
    DeepMethod,
    PairBlock,
    PairCounts,
    PairwiseMethod,
    PointwiseMethod,
    Training,
    TripletMethod,
    Triplets,
)
from benchmark.deep.network import HashNetwork
from benchmark.deep.network_inputs import FeatureRows
from benchmark.registry import methods

DEEP = [cls for cls in methods if cls.info.family == "deep"]
PAIRWISE = [cls for cls in DEEP if issubclass(cls, PairwiseMethod)]
POINTWISE = [cls for cls in DEEP if issubclass(cls, PointwiseMethod)]
FROM_TRIPLETS = [cls for cls in DEEP if issubclass(cls, TripletMethod)]
SHORT = Training(train="hash", steps=30, batch=32, device="cpu")
BITS = 6

every_method = pytest.mark.parametrize("cls", DEEP, ids=lambda cls: cls.info.name)
every_method_on_similarity = pytest.mark.parametrize(
    "cls", [cls for cls in DEEP if cls.info.needs == "similarity"], ids=lambda cls: cls.info.name
)
every_pairwise_method = pytest.mark.parametrize("cls", PAIRWISE, ids=lambda cls: cls.info.name)
every_pointwise_method = pytest.mark.parametrize("cls", POINTWISE, ids=lambda cls: cls.info.name)
every_triplet_method = pytest.mark.parametrize("cls", FROM_TRIPLETS, ids=lambda cls: cls.info.name)


def drawn(cls: Any, labels: Any, batch: int = 8) -> tuple[DeepMethod, int, Any]:
    """A method that has drawn its first batch from items of these classes: method, size of the batch, target."""
    classes = np.asarray(labels)
    hot = classes if classes.ndim == 2 else np.eye(classes.max() + 1, dtype=bool)[classes]
    method = cls(BITS, seed=1, training=dataclasses.replace(SHORT, batch=batch))
    features = np.random.default_rng(0).standard_normal((len(hot), 5)).astype(np.float32)
    method.prepare(Split(features=features, labels=hot))
    method.look(HashNetwork(*(torch.nn.Identity() for _ in range(3))), FeatureRows(features))
    items, target = method.draw(0)
    return method, len(items), target


def objective(method: Any, outputs: torch.Tensor, target: Any, step: int = 0, noise: int = 0) -> torch.Tensor:
    """The loss as a step of training computes it, with random numbers of its own; all in the type of the outputs."""
    if isinstance(method, PointwiseMethod):
        method.state = {name: value.to(outputs.dtype) for name, value in method.state.items()}
        target = target.to(outputs.dtype)
        if method.classifier is not None:
            method.classifier.to(outputs.dtype)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(noise)
        return method.objective(outputs, target, step)  # type: ignore[no-any-return]


def outputs_of(size: int, seed: int = 0) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(size, BITS, generator=random, dtype=torch.float64)


GROUPS = {
    "mixed": [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1],
    "no similar pair": list(range(11)),
    "similar pairs only": [0] * 11,
    "one item": [0],
    "no label at all": np.zeros((11, 3), bool),
}


@every_method
@pytest.mark.parametrize("labels", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
def test_loss_and_gradient_are_finite(cls: Any, labels: Any, scale: float) -> None:
    if cls.info.needs == "labels" and np.ndim(labels) == 2:
        assert "no training row has one" in cls.unsupported(Split(labels=labels), BITS)
        return
    method, size, target = drawn(cls, labels)
    outputs = (scale * outputs_of(size).float()).requires_grad_()
    loss = objective(method, outputs, target)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(outputs.grad).all()


class Replay:
    """Stands in for Tensor.detach: the values of the first evaluation are the constants of all later ones."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._values: list[torch.Tensor] = []
        self._place: int | None = None
        detach = torch.Tensor.detach

        def replayed(tensor: torch.Tensor) -> torch.Tensor:
            if self._place is None:
                self._values.append(detach(tensor).clone())
                return self._values[-1]
            self._place += 1
            return self._values[self._place - 1]

        monkeypatch.setattr(torch.Tensor, "detach", replayed)

    def again(self) -> None:
        self._place = 0


@every_method
def test_gradient_is_that_of_the_loss_with_its_constants_frozen(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    method, size, target = drawn(cls, GROUPS["mixed"])
    outputs = outputs_of(size, seed=3).requires_grad_()
    replay = Replay(monkeypatch)
    (gradient,) = torch.autograd.grad(objective(method, outputs, target, step=5), outputs)
    for seed in range(5):
        direction, tiny = outputs_of(size, seed=10 + seed), 1e-6
        values = []
        for sign in (1, -1):
            replay.again()
            with torch.no_grad():
                values.append(objective(method, outputs + sign * tiny * direction, target, step=5).item())
        assert (gradient * direction).sum().item() == pytest.approx((values[0] - values[1]) / (2 * tiny), rel=1e-5)


@every_method
def test_a_small_step_against_the_gradient_lowers_the_loss(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its constants frozen: a step function that is learned straight through is flat otherwise."""
    method, size, target = drawn(cls, GROUPS["mixed"])
    outputs = outputs_of(size, seed=4).requires_grad_()
    replay = Replay(monkeypatch)
    before = objective(method, outputs, target)
    (gradient,) = torch.autograd.grad(before, outputs)
    replay.again()
    with torch.no_grad():
        assert objective(method, outputs - 1e-3 * gradient, target) < before


def square(labels: list[int], copies: int = 1, order: Any = None) -> tuple[Codes, PairBlock]:
    """Outputs and block over all pairs of items, each item so many times, rows and columns in a given order."""
    classes = torch.tensor(labels)
    similar = (classes[:, None] == classes[None, :]).double()
    positive = similar.sum(1)
    count = PairCounts(torch.full_like(positive, len(labels)), positive, len(labels) - positive)
    rows, columns = order or (torch.arange(len(labels)), torch.arange(len(labels)))
    rows, columns = rows.repeat(copies), columns.repeat(copies)

    def of(items: torch.Tensor) -> PairCounts:
        return PairCounts(count.total[items], count.similar[items], count.dissimilar[items])

    whole = PairCounts(count.total.sum(), count.similar.sum(), count.dissimilar.sum())
    block = similar[rows][:, columns]
    outputs = outputs_of(2 * len(labels))
    codes = Codes(torch.cat([outputs[rows], outputs[len(labels) + columns]]), len(rows))
    return codes, PairBlock(block, torch.ones_like(block), of(rows), of(columns), whole)


@every_pairwise_method
def test_loss_ignores_the_order_of_the_batch(cls: Any) -> None:
    method, labels = cls(BITS, training=SHORT), GROUPS["mixed"]
    random = torch.Generator().manual_seed(5)
    order = tuple(torch.randperm(len(labels), generator=random) for _ in range(2))
    expected = method.loss(*square(labels), 0).item()
    assert method.loss(*square(labels, order=order), 0).item() == pytest.approx(expected, rel=1e-12)


@every_pairwise_method
def test_loss_does_not_depend_on_the_size_of_the_batch(cls: Any) -> None:
    method, labels = cls(BITS, training=SHORT), GROUPS["mixed"]
    expected = method.loss(*square(labels), 0).item()
    assert method.loss(*square(labels, copies=3), 0).item() == pytest.approx(expected, rel=1e-12)


@every_pairwise_method
def test_unknown_pairs_do_not_count(cls: Any) -> None:
    method = cls(BITS, training=SHORT)
    codes, block = square(GROUPS["mixed"])
    known = (torch.arange(block.known.numel()).view_as(block.known) % 3 > 0).double()
    losses = [
        method.loss(codes, dataclasses.replace(block, known=known, similar=similar), 0).item()
        for similar in (block.similar, torch.where(known > 0, block.similar, 1 - block.similar))
    ]
    assert losses[0] == losses[1]


def noise_free(cls: Any) -> PointwiseMethod:
    """A method with the classes of the mixed group, where its loss draws no random numbers."""
    method, size, target = drawn(cls, GROUPS["mixed"])
    found = {objective(method, outputs_of(size), target, noise=seed).item() for seed in range(3)}
    if len(found) > 1:
        pytest.skip("each row of a batch has noise of its own")
    assert isinstance(method, PointwiseMethod)
    return method


SEVERAL = torch.tensor([[1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1], [1, 0, 1], [0, 1, 0]]).double()


@every_pointwise_method
@pytest.mark.parametrize("change", [lambda x: x[[3, 0, 5, 1, 2, 4]], lambda x: x.repeat(3, 1)], ids=["order", "size"])
def test_loss_on_classes_ignores_the_order_and_the_size_of_the_batch(
    cls: Any, change: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    method, outputs = noise_free(cls), outputs_of(len(SEVERAL), seed=6)
    expected = objective(method, outputs, SEVERAL).item()
    assert objective(method, change(outputs), change(SEVERAL)).item() == pytest.approx(expected, rel=1e-12)


@every_triplet_method
@pytest.mark.parametrize("copies", [1, 3])
def test_loss_ignores_order_and_number_of_triplets(cls: Any, copies: int) -> None:
    method, size, target = drawn(cls, GROUPS["mixed"])
    codes = Codes(outputs_of(size), target.size)
    order = torch.randperm(target.places.shape[1], generator=torch.Generator().manual_seed(5)).repeat(copies)
    others = Triplets(target.size, target.places[:, order], target.rows, target.columns)
    expected = method.loss(codes, target, 0).item()  # type: ignore[attr-defined]
    assert method.loss(codes, others, 0).item() == pytest.approx(expected, rel=1e-5)  # type: ignore[attr-defined]


@every_method_on_similarity
def test_many_shared_labels_are_one_similarity(cls: Any) -> None:
    if cls.info.needs == "labels":
        pytest.skip("a loss on classes knows 600 classes from 2")
    labels = np.zeros((8, 600), bool)
    labels[:4, :300] = labels[4:, 300:] = True  # a product of 300 would overflow a byte
    few = np.zeros((8, 2), bool)
    few[:4, 0] = few[4:, 1] = True
    losses = []
    for hot in (labels, few):
        method, size, target = drawn(cls, hot)
        losses.append(objective(method, outputs_of(size), target).item())
    assert losses[0] == losses[1]


@every_method
def test_the_same_seed_gives_the_same_codes_and_global_randomness_is_untouched(cls: Any, clusters: Any) -> None:
    train, query = clusters(), clusters(seed=1)
    state = torch.get_rng_state()
    shown = train.visible("images", cls.info.needs)
    codes = [cls(BITS, seed=2, training=SHORT).fit(shown).encode(query) for _ in range(2)]
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(*codes)
    assert set(np.unique(codes[0])) <= {-1, 1}
    assert codes[0].dtype == np.int8


@every_method
def test_encoding_changes_nothing_and_takes_rows_one_by_one(cls: Any, clusters: Any) -> None:
    method = cls(BITS, training=dataclasses.replace(SHORT, encode_batch=7)).fit(clusters())
    query = clusters(seed=1)
    codes = method.encode(query)
    np.testing.assert_array_equal(method.encode(query), codes)
    single = np.concatenate([method.encode(query.take(np.array([row]))) for row in range(10)])
    np.testing.assert_array_equal(single, codes[:10])


@every_method
def test_features_that_are_all_alike_give_plus_minus_one(cls: Any) -> None:
    train = Split(features=np.full((20, 5), 3.0, np.float32), labels=np.arange(20) % 2)
    codes = cls(BITS, training=SHORT).fit(train).encode(Split(features=np.zeros((2, 5), np.float32)))
    assert set(np.unique(codes)) <= {-1, 1}


@every_method
def test_history_holds_the_loss_curve(cls: Any, clusters: Any) -> None:
    method = cls(BITS, training=SHORT).fit(clusters())
    assert method.history["step"][0] == 0
    assert method.history["step"][-1] == SHORT.steps - 1
    assert len(method.history["loss"]) == len(method.history["gradient_norm"]) == len(method.history["step"])


@every_method
def test_misuse_is_told_in_one_line(cls: Any, clusters: Any) -> None:
    with pytest.raises(UsageError, match="bits = 0"):
        cls(0)
    with pytest.raises(UsageError, match="encode was called before fit"):
        cls(BITS).encode(clusters())
    if cls.info.needs != "nothing":
        with pytest.raises(UsageError, match=r"no similarity|learns from class labels"):
            cls(BITS, training=SHORT).fit(clusters().visible("images", "nothing"))
