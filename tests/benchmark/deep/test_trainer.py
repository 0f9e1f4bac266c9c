"""The loop: rates, snapshots, failures and workers."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import threadpoolctl
import torch
from torch import nn

from benchmark import Split, TrainingFailed, UsageError, get_method, register_method
from benchmark.deep import Codes, PairBlock, PairwiseMethod, Training, trainer
from benchmark.deep.network import HashNetwork, hash_layer
from benchmark.deep.trainer import set_rates, start
from benchmark.registry import methods

SHORT = Training(train="hash", steps=20, batch=16, device="cpu", checkpoint_seconds=0)


@pytest.fixture
def doomed(monkeypatch: pytest.MonkeyPatch) -> type:
    """A method that fails at step 7: by a loss that is not finite, or as a killed process would."""
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))

    @register_method("doomed", title="Doomed", family="deep", input="images", needs="similarity")
    class Doomed(PairwiseMethod):
        failure: BaseException | None = None

        def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
            if step == 7 and self.failure is not None:
                raise self.failure
            value = (codes.squared_distance() * similarity.similar).mean() - codes.both.abs().mean()
            return value * float("nan") if step == 7 and self.failure is None else value

    return Doomed


def test_a_loss_that_is_not_finite_ends_the_training(doomed: Any, clusters: Any) -> None:
    with pytest.raises(TrainingFailed, match=r"doomed: the loss is nan at step 7 of 20; lower the learning rate"):
        doomed(4, training=SHORT).fit(clusters())


@pytest.mark.parametrize("name", ["dph", "hashnet", "dpsh", "cnnh", "dnnh"])
def test_a_killed_training_goes_on_as_if_nothing_had_happened(
    name: str, clusters: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls, train = get_method(name), clusters()
    whole = cls(8, training=SHORT).fit(train)
    kept = dataclasses.replace(SHORT, checkpoint=str(tmp_path / "snapshot.pt"))
    objective = cls.objective

    def killed(self: Any, outputs: torch.Tensor, target: Any, step: int) -> torch.Tensor:
        if step == 7:
            raise KeyboardInterrupt
        return objective(self, outputs, target, step)  # type: ignore[no-any-return]

    monkeypatch.setattr(cls, "objective", killed)
    with pytest.raises(KeyboardInterrupt):
        cls(8, training=kept).fit(train)
    seen: list[int] = []
    monkeypatch.setattr(cls, "objective", lambda self, u, t, step: seen.append(step) or objective(self, u, t, step))
    resumed = cls(8, training=kept).fit(train)
    assert seen == list(range(7, 20))
    np.testing.assert_array_equal(resumed.encode(train), whole.encode(train))
    assert resumed.history == whole.history
    for one, other in zip(whole._assembly.network.parameters(), resumed._assembly.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_snapshot_of_another_training_is_refused(clusters: Any, tmp_path: Path) -> None:
    kept = dataclasses.replace(SHORT, checkpoint=str(tmp_path / "snapshot.pt"))
    get_method("dph")(8, training=kept).fit(clusters())
    with pytest.raises(UsageError, match="belongs to another training"):
        get_method("dph")(8, gamma=2.0, training=kept).fit(clusters())
    Path(kept.checkpoint or "").write_bytes(b"not a snapshot")
    with pytest.raises(UsageError, match="cannot be read"):
        get_method("dph")(8, training=kept).fit(clusters())


def test_a_short_training_leaves_no_snapshot(clusters: Any, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pt"
    get_method("dph")(8, training=dataclasses.replace(SHORT, checkpoint=str(path), checkpoint_seconds=60)).fit(
        clusters()
    )
    assert not path.exists()


def test_a_loss_that_is_not_finite_from_the_start_is_not_blamed_on_the_rate(doomed: Any, clusters: Any) -> None:
    class Infinite(doomed):  # type: ignore[misc]
        def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
            return codes.both.sum() * float("inf")

    with pytest.raises(TrainingFailed, match="at step 0 of 20; the loss itself is at fault"):
        Infinite(4, training=SHORT).fit(clusters())


def rates_at(step: int, training: Training, name: str = "dph", **parameters: Any) -> list[float]:
    """Of a backbone's weights and biases, then of the hash layer's, at a step of a training of 200."""
    method = get_method(name)(2, training=training, **parameters)
    method.steps = 200
    network = HashNetwork(nn.Linear(3, 4), nn.Identity(), hash_layer(4, 2, 0.01))
    run = start(method, network, torch.device("cpu"))
    set_rates(run.optimizer, method, step)
    return [group["lr"] for group in run.optimizer.param_groups]


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (lambda codes: codes.both.mean(1), r"shape \(32,\)"),
        (lambda codes: 0.5, "float"),
        (lambda codes: None, "NoneType"),
        (lambda codes: torch.tensor(0.5), "a constant"),
    ],
)
def test_a_loss_that_is_not_one_number_is_told_so(loss: Any, told: str, doomed: Any, clusters: Any) -> None:
    doomed.loss = lambda self, codes, similarity, step: loss(codes)
    with pytest.raises(UsageError, match=f"doomed: loss returned {told}.*; expected a tensor of one number"):
        doomed(8, training=SHORT).fit(clusters())


def test_rates_of_backbone_hash_layer_and_biases() -> None:
    training = Training(learning_rate=0.1, decay=0.5, decay_every=100)
    assert rates_at(199, training) == pytest.approx([0.05, 0.1, 0.5, 1.0])
    assert rates_at(199, training, "dpsh") == pytest.approx([0.05, 0.05, 0.5, 0.5])  # whose biases are no faster
    assert rates_at(199, training, mode="authors") == pytest.approx([0.005, 0.01, 0.05, 0.1])


def test_the_cosine_rises_and_falls_to_nothing() -> None:
    training = Training(optimizer="adam", schedule="cosine", warmup=0.1, learning_rate=0.1)
    assert rates_at(0, training)[0] == pytest.approx(0.1 / 20)
    assert rates_at(100, training)[0] == pytest.approx(0.05)
    assert 0 < rates_at(199, training)[0] < 1e-4
    assert rates_at(100, training, mode="authors")[0] == pytest.approx(0.05)  # Adam is blind to a gradient's size


def test_a_method_may_go_faster_under_adam_alone(doomed: Any) -> None:
    doomed.adam_rate = 3.0
    adam, sgd = (Training(optimizer=one, learning_rate=0.1, schedule="cosine") for one in ("adam", "sgd"))
    network = HashNetwork(nn.Linear(3, 4), nn.Identity(), hash_layer(4, 2, 0.01))
    for training, factor in ((adam, 3.0), (sgd, 1.0)):
        run = start(method := doomed(2, training=training), network, torch.device("cpu"))
        set_rates(run.optimizer, method, 0)
        assert run.optimizer.param_groups[0]["lr"] == pytest.approx(0.1 * factor)


def test_decay_is_of_weights_and_under_adam_of_the_hash_layer_alone(doomed: Any) -> None:
    network = HashNetwork(nn.Linear(3, 4), nn.Identity(), hash_layer(4, 2, 0.01))
    doomed.adam_decay = 0.5
    for optimizer, body, head in (("sgd", 3.0, 3.0), ("adam", 0.0, 1.5)):
        method = doomed(2, training=Training(optimizer=optimizer, weight_decay=3.0))
        run = start(method, network, torch.device("cpu"))
        assert [group["weight_decay"] for group in run.optimizer.param_groups] == [body, 0, head, 0]


@pytest.mark.parametrize(("optimizer", "decays"), [("adam", [3.0, 3.0, 0.75]), ("sgd", [3.0, 3.0, 3.0])])
def test_more_rows_need_less_decay_under_adam(optimizer: Any, decays: list[float], monkeypatch: Any) -> None:
    seen: list[float] = []

    def watched(method: Any, network: Any, rows: Any) -> dict[str, list[Any]]:
        seen.append(start(method, network, torch.device("cpu")).optimizer.param_groups[0]["weight_decay"])
        return {}

    monkeypatch.setattr(trainer, "train", watched)
    method = get_method("dph")(2, training=Training(train="hash", optimizer=optimizer, weight_decay=3.0))
    for rows in (40, 1000, 4000):
        labels = np.eye(2, dtype=np.uint8)[np.arange(rows) % 2]
        method.fit(Split(features=np.ones((rows, 3), np.float32), labels=labels))
    assert seen == decays


def test_a_step_of_adam_does_not_depend_on_the_scale_of_the_loss(clusters: Any) -> None:
    training = dataclasses.replace(SHORT, optimizer="adam", learning_rate=0.01, weight_decay=0.0, checkpoint_seconds=60)
    weights = []

    class Scaled(get_method("dph")):  # type: ignore[misc]
        scale = 1.0

        def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
            return self.scale * super().loss(codes, similarity, step)

    for Scaled.scale in (1.0, 100.0):
        weights.append(Scaled(8, training=training).fit(clusters())._assembly.network.head.weight.detach())
    torch.testing.assert_close(*weights, rtol=1e-3, atol=1e-4)


def test_steps_follow_the_rows(clusters: Any) -> None:
    training = dataclasses.replace(SHORT, steps=10, epochs=4, checkpoint_seconds=60)
    assert [training.steps_for(rows) for rows in (1, 40, 41, 400)] == [10, 10, 11, 100]
    method = get_method("dph")(8, training=training).fit(clusters())
    assert method.history["step"][-1] == method.steps - 1 == training.steps_for(len(clusters())) - 1


def test_a_training_of_small_layers_uses_one_thread_numpy_included(clusters: Any, doomed: Any) -> None:
    """Called from Python, where nobody has set a limit: label products of every step on all cores cost four times."""
    seen: list[int] = []

    class Watched(doomed):  # type: ignore[misc]
        def draw(self, step: int) -> Any:
            libraries = threadpoolctl.threadpool_info()
            seen.extend(one["num_threads"] for one in libraries if one["user_api"] == "blas")
            seen.append(torch.get_num_threads())
            return super().draw(step)

        def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
            return codes.both.square().mean()

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        Watched(4, training=SHORT).fit(clusters())
    assert set(seen) == {1}


def test_threads_are_given_back(clusters: Any) -> None:
    before = torch.get_num_threads()
    get_method("dph")(4, training=SHORT).fit(clusters()).encode(clusters())
    assert torch.get_num_threads() == before


def test_workers_change_nothing(tiny: Training, colours: Any) -> None:
    training = dataclasses.replace(tiny, train="all", augment=True, steps=5)
    parallel = dataclasses.replace(training, num_workers=1)
    codes = [get_method("hashnet")(8, training=t).fit(colours(0)).encode(colours(1)) for t in (training, parallel)]
    np.testing.assert_array_equal(*codes)
