"""What deep methods derive from: constructors, threads, and rooms that import in one direction."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import benchmark
from benchmark import Split, register_method
from benchmark.deep import Codes, PairBlock, PairwiseMethod, Training, UnsupervisedMethod, load_profile
from benchmark.registry import methods
from benchmark.shallow import FeatureScaling

SHORT = Training(train="hash", steps=3, batch=8, device="cpu")


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))


class Nearest(PairwiseMethod):
    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        self.threads = torch.get_num_threads()
        return similarity.mean(codes.squared_distance()) - codes.both.abs().mean()


def test_a_written_constructor_can_call_the_one_above(clusters: Any) -> None:
    @register_method("test-written", title="X")
    class Written(Nearest):
        def __init__(self, bits: int, seed: int = 0, *, weight: float = 2.0, training: Training | None = None) -> None:
            super().__init__(bits, seed, scaling="none", training=training)
            self.weight = weight

    method: Any = Written(4, weight=3.0, training=SHORT)
    assert (method.weight, method.scaling, method.training) == (3.0, "none", SHORT)
    assert Written.info.parameters == {"weight": 2.0}
    assert Written.info.takes_training
    assert method.fit(clusters()).encode(clusters()).shape == (120, 4)


def test_without_a_training_it_is_the_quick_profiles() -> None:
    register_method("test-nearest", title="X")(Nearest)
    assert Nearest(4).training == load_profile("quick").training


def test_plain_descent_has_the_released_unit_of_a_logit() -> None:
    training = load_profile("paper").training
    assert training.optimizer == "sgd"
    assert [Nearest(bits, training=training).logit_unit for bits in (16, 48, 64)] == [10 / 16, 10 / 48, 10 / 64]


def test_under_adam_the_logits_of_unlike_codes_spread_alike_at_every_length() -> None:
    rng, spreads = np.random.default_rng(0), []
    for bits in (8, 16, 64, 256):
        codes = rng.choice([-1.0, 1.0], (400, bits))
        spreads.append((Nearest(bits).logit_unit * codes[:200] @ codes[200:].T).std())
    assert spreads == pytest.approx([10 / 8] * 4, rel=0.05)


@pytest.mark.parametrize(("depth", "limit"), [("hash", 1), ("last", 1), ("all", None)])
def test_small_layers_are_trained_on_one_thread(depth: Any, limit: int | None) -> None:
    register_method("test-nearest", title="X")(Nearest)
    assert Nearest(4, training=Training(train=depth, device="cpu")).thread_limit == limit


@pytest.mark.parametrize("depth", ["hash", "last", "all"])
def test_an_unsupervised_loss_sees_the_features_of_an_untrained_network(
    depth: Any, tiny: Training, colours: Any
) -> None:
    """What the hash layer is given before the first step, of the very rows of the batch; without labels."""
    seen = []

    @register_method("test-unsupervised", title="X")
    class Watching(UnsupervisedMethod):
        def loss(self, outputs: torch.Tensor, features: torch.Tensor, step: int) -> torch.Tensor:
            seen.append(features)
            return (outputs - 5).square().mean()

    assert Watching.info.needs == "nothing"
    training = dataclasses.replace(tiny, train=depth, steps=4)
    train = colours(0)
    Watching(4, training=training).fit(Split(images=train.images))
    frozen: Any = Watching(4, training=dataclasses.replace(training, learning_rate=0.0))
    seen_before, seen[:] = list(seen), []
    frozen.fit(Split(images=train.images))
    assert seen[0].shape == (32, 16)
    for trained, untrained in zip(seen_before, seen, strict=True):
        assert torch.equal(trained, untrained)


def test_an_unsupervised_loss_sees_the_scaled_features_of_its_rows(clusters: Any) -> None:
    @register_method("test-unsupervised", title="X")
    class Watching(UnsupervisedMethod):
        def loss(self, outputs: torch.Tensor, features: torch.Tensor, step: int) -> torch.Tensor:
            return (outputs - 5).square().mean()

    train = clusters()
    method: Any = Watching(4, training=SHORT).fit(Split(features=train.features))
    items, features = method.draw(2)
    expected = FeatureScaling.fit(train.features, gain="sqrt").transform(train.features)[items]
    np.testing.assert_array_equal(features.numpy(), expected)


def test_threads_while_training(clusters: Any) -> None:
    register_method("test-nearest", title="X")(Nearest)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert Nearest(4, training=SHORT).fit(clusters()).threads == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_method_on_images_may_do_without_training() -> None:
    """The worker used to die of a keyword that `check` had not missed."""
    from types import SimpleNamespace

    from benchmark.execution.worker import build_method

    @register_method("test-pixels", title="X", input="images")
    class Pixels:
        def __init__(self, bits: int, seed: int = 0) -> None:
            self.bits = bits

        def fit(self, train: Split) -> None: ...

        def encode(self, split: Split) -> Any:
            pixels = np.stack([split.images[i].ravel() for i in range(len(split))])  # type: ignore[index]
            return np.where(pixels[:, : self.bits] > 99, 1, -1)

    cell = {"dataset": "d", "method": "test-pixels", "bits": 4, "seed": 0, "params": {}}
    method = build_method(Pixels.info, SimpleNamespace(identity=cell))  # type: ignore[attr-defined,arg-type]
    images = np.random.default_rng(0).integers(0, 255, (5, 2, 2, 3)).astype(np.uint8)
    codes = method.fit(Split(images=images, labels=np.arange(5))).encode(Split(images=images))
    assert codes.tolist() == np.where(images.reshape(5, -1)[:, :4] > 99, 1, -1).tolist()


def imports(path: Path, known: set[str]) -> set[str]:
    """All that a module imports of the known ones, lazily or for type checkers too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found & known


@pytest.mark.parametrize("room", ["deep", "shallow"])
def test_no_module_of_the_room_imports_itself_by_a_detour(room: str) -> None:
    folder = Path(benchmark.__file__).parent / room
    files = {f"benchmark.{room}.{path.stem}": path for path in folder.glob("*.py") if path.stem != "__init__"}
    reached = {name: imports(path, set(files)) for name, path in files.items()}
    for _ in files:
        reached = {name: of.union(*(reached[one] for one in of)) for name, of in reached.items()}
    assert {name for name, of in reached.items() if name in of} == set()
