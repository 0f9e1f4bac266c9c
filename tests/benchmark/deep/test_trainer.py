"""The loop: rates, snapshots, failures, workers, and the three depths of training."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchmark import Split, TrainingFailed, UsageError, get_method, register_method
from benchmark.data.images import ImageArrays, Transform
from benchmark.deep import Codes, PairBlock, PairwiseMethod, Training, assembly
from benchmark.deep.backbones import Backbone
from benchmark.deep.network import HashNetwork, hash_layer, parameter_groups
from benchmark.deep.trainer import set_rates
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


def test_rates_of_backbone_hash_layer_and_biases() -> None:
    training = Training(learning_rate=0.1, decay=0.5, decay_every=100)
    network = HashNetwork(nn.Linear(3, 4), nn.Identity(), hash_layer(4, 2, 0.01))
    optimizer = torch.optim.SGD(parameter_groups(network, training), lr=0.0, momentum=0.9)
    set_rates(optimizer, training, step=199)
    rates = [group["lr"] for group in optimizer.param_groups]
    assert rates == pytest.approx([0.05, 0.1, 0.5, 1.0])
    assert [group["weight_decay"] for group in optimizer.param_groups] == [5e-4, 0, 5e-4, 0]


def test_threads_are_given_back(clusters: Any) -> None:
    before = torch.get_num_threads()
    get_method("dph")(4, training=SHORT).fit(clusters()).encode(clusters())
    assert torch.get_num_threads() == before


def tiny_backbone(name: str, *_: Any, **__: Any) -> Backbone:
    """A backbone of two layers with batch normalisation and dropout, pre-trained on nothing."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        pool = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())
        trunk = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), pool)
        last = nn.Sequential(OrderedDict(drop=nn.Dropout(0.1), fc=nn.Linear(32, 16), relu=nn.ReLU()))
    return Backbone(name, trunk.eval(), last.eval(), Transform(resize=14, crop=12), 16, "none")


def colours(seed: int, rows: int = 60) -> Split:
    """Noisy images of three colours."""
    labels = np.arange(rows) % 3
    images = np.random.default_rng(seed).integers(0, 120, (rows, 14, 14, 3))
    images[np.arange(rows), :, :, labels] += 100
    return Split(images=ImageArrays(images.astype(np.uint8)), labels=labels)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Training:
    monkeypatch.setattr(assembly, "load_backbone", tiny_backbone)
    return dataclasses.replace(SHORT, backbone="tiny", steps=60, learning_rate=0.02)


def agreement(codes: np.ndarray, labels: Any) -> float:
    """Mean agreement of bits inside classes minus that across classes."""
    products = codes.astype(float) @ codes.T / codes.shape[1]
    same = labels.astype(int) @ labels.T.astype(int) > 0
    return float(products[same].mean() - products[~same].mean())


@pytest.mark.parametrize("depth", ["hash", "last", "all"])
@pytest.mark.parametrize("augment", [False, True])
def test_every_depth_learns_from_images(tiny: Training, depth: Any, augment: bool) -> None:
    method = get_method("dph")(8, training=dataclasses.replace(tiny, train=depth, augment=augment))
    query = colours(1)
    codes = method.fit(colours(0)).encode(query.visible("images", "nothing"))
    assert agreement(codes, query.labels) > 0.8


@pytest.mark.parametrize(("depth", "changes"), [("hash", set()), ("last", {"last"}), ("all", {"trunk", "last"})])
def test_a_depth_trains_what_it_says(tiny: Training, depth: Any, changes: set[str]) -> None:
    method = get_method("dph")(8, training=dataclasses.replace(tiny, train=depth, steps=3)).fit(colours(0))
    fresh = tiny_backbone("tiny")
    encoder = method._assembly.encoder()
    names = {"trunk": fresh.trunk[0].weight, "last": fresh.last.fc.weight}
    trained = list(encoder.parameters())
    untouched = {name for name, weight in names.items() if any(torch.equal(weight, p) for p in trained)}
    assert set(names) - untouched == changes


def test_trunk_features_give_the_same_as_images(tiny: Training) -> None:
    training = dataclasses.replace(tiny, train="last")
    backbone, transform = tiny_backbone("tiny"), Transform(resize=14, crop=12)
    train, query = colours(0), colours(1)

    def trunk_features(split: Split) -> Split:
        pixels = np.stack([transform.prepare(split.images[i]) for i in range(len(split))])
        with torch.no_grad():
            features = backbone.trunk(transform.normalise(pixels)).numpy()
        return Split(features=features, labels=split.labels)

    from_images = get_method("dph")(8, training=training).fit(train).encode(query)
    from_features = get_method("dph")(8, training=training).fit(trunk_features(train)).encode(trunk_features(query))
    assert (from_images == from_features).mean() > 0.99


def test_workers_change_nothing(tiny: Training) -> None:
    training = dataclasses.replace(tiny, train="all", augment=True, steps=5)
    parallel = dataclasses.replace(training, num_workers=1)
    codes = [get_method("hashnet")(8, training=t).fit(colours(0)).encode(colours(1)) for t in (training, parallel)]
    np.testing.assert_array_equal(*codes)


def test_a_broken_image_keeps_its_error_through_a_worker(tiny: Training) -> None:
    class Broken(ImageArrays):
        def __getitem__(self, index: int, /) -> np.ndarray:
            raise UsageError(f"image {index} is broken")

    split = Split(images=Broken(np.zeros((9, 14, 14, 3), np.uint8)), labels=np.arange(9) % 3)
    for workers in (0, 1):
        training = dataclasses.replace(tiny, train="all", num_workers=workers)
        with pytest.raises(UsageError, match=r"^image \d is broken$"):
            get_method("dph")(8, training=training).fit(split)


def test_images_without_a_backbone_and_rows_of_the_wrong_kind(tiny: Training, clusters: Any) -> None:
    with pytest.raises(UsageError, match="images need a backbone"):
        get_method("dph")(8, training=SHORT).fit(colours(0))
    with pytest.raises(UsageError, match="no images"):
        get_method("dph")(8, training=tiny).fit(colours(0)).encode(clusters())
    with pytest.raises(UsageError, match="no features"):
        get_method("dph")(8, training=SHORT).fit(clusters()).encode(colours(0))
    with pytest.raises(UsageError, match="not the trunk's of tiny"):
        get_method("dph")(8, training=dataclasses.replace(tiny, train="last")).fit(clusters())


def test_augmentation_cuts_and_mirrors_at_random() -> None:
    from benchmark.deep.rows import ImageRows

    image = np.arange(14 * 14 * 3, dtype=np.uint8).reshape(1, 14, 14, 3)
    rows = ImageRows(ImageArrays(image), Transform(resize=14, crop=12))
    found = {rows.take(np.array([0]), np.random.default_rng(seed)).numpy().tobytes() for seed in range(200)}
    crops = [image[0, top : top + 12, left : left + 12] for top in range(3) for left in range(3)]
    assert found == {cut.tobytes() for crop in crops for cut in (crop, crop[:, ::-1].copy())}
    np.testing.assert_array_equal(rows.take(np.array([0])).numpy()[0], image[0, 1:13, 1:13])


def test_where_nothing_is_cut_nothing_is_mirrored() -> None:
    from benchmark.deep.rows import ImageRows

    image = np.random.default_rng(0).integers(0, 255, (1, 8, 8, 3)).astype(np.uint8)
    rows = ImageRows(ImageArrays(image), Transform(resize=None, crop=None))
    for seed in range(8):
        np.testing.assert_array_equal(rows.take(np.array([0]), np.random.default_rng(seed)).numpy(), image)
