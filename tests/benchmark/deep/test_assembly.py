"""Which network is trained on which rows: the three depths of training, for features and for images."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, UsageError, get_method
from benchmark.data.images import Transform
from benchmark.deep import Training
from benchmark.deep.assembly import assemble, image_transform
from benchmark.deep.network_inputs import FeatureRows, ImageRows


def agreement(codes: np.ndarray, labels: Any) -> float:
    """Mean agreement of bits inside classes minus that across classes."""
    products = codes.astype(float) @ codes.T / codes.shape[1]
    same = labels.astype(int) @ labels.T.astype(int) > 0
    return float(products[same].mean() - products[~same].mean())


@pytest.mark.parametrize("depth", ["hash", "last", "all"])
@pytest.mark.parametrize("augment", [False, True])
def test_every_depth_learns_from_images(tiny: Training, colours: Any, depth: Any, augment: bool) -> None:
    method = get_method("dph")(8, training=dataclasses.replace(tiny, train=depth, augment=augment))
    query = colours(1)
    codes = method.fit(colours(0)).encode(query.visible("images", "nothing"))
    assert agreement(codes, query.labels) > 0.8


@pytest.mark.parametrize(("depth", "changes"), [("hash", set()), ("last", {"last"}), ("all", {"trunk", "last"})])
def test_a_depth_trains_what_it_says(
    tiny: Training, colours: Any, tiny_backbone: Any, depth: Any, changes: set[str]
) -> None:
    method = get_method("dph")(8, training=dataclasses.replace(tiny, train=depth, steps=3)).fit(colours(0))
    fresh = tiny_backbone("tiny")
    encoder = method._assembly.encoder()
    names = {"trunk": fresh.trunk[0].weight, "last": fresh.last.fc.weight}
    trained = list(encoder.parameters())
    untouched = {name for name, weight in names.items() if any(torch.equal(weight, p) for p in trained)}
    assert set(names) - untouched == changes


def test_trunk_features_give_the_same_as_images(tiny: Training, colours: Any, tiny_backbone: Any) -> None:
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


def test_images_without_a_backbone_and_rows_of_the_wrong_kind(
    short: Training, tiny: Training, clusters: Any, colours: Any
) -> None:
    with pytest.raises(UsageError, match="images need a backbone"):
        get_method("dph")(8, training=short).fit(colours(0))
    with pytest.raises(UsageError, match="no images"):
        get_method("dph")(8, training=tiny).fit(colours(0)).encode(clusters())
    with pytest.raises(UsageError, match="no features"):
        get_method("dph")(8, training=short).fit(clusters()).encode(colours(0))
    with pytest.raises(UsageError, match="not the trunk's of tiny"):
        get_method("dph")(8, training=dataclasses.replace(tiny, train="last")).fit(clusters())


@pytest.mark.parametrize("depth", ["hash", "last", "all"])
def test_encoding_goes_the_way_that_training_went(tiny: Training, colours: Any, depth: Any) -> None:
    """The encoder on the rows of a split is the trained network on the rows it was given, whatever was frozen."""
    train = colours(0)
    made, rows = assemble(get_method("dph")(8, training=dataclasses.replace(tiny, train=depth)), train)
    assert isinstance(rows, ImageRows if depth == "all" else FeatureRows)
    items = np.arange(len(train))
    encoder, network = made.encoder().eval(), made.network.eval()
    with torch.no_grad():
        torch.testing.assert_close(encoder(made.rows(train).take(items)), network(rows.take(items)))


def test_the_profile_may_ask_for_other_sizes_where_there_are_sizes() -> None:
    usual, none = Transform(resize=256, crop=224), Transform(resize=None, crop=None)
    assert image_transform(usual, Training()) == usual
    smaller = image_transform(usual, Training(resize=64, crop=56))
    assert (smaller.resize, smaller.crop) == (64, 56)
    assert image_transform(none, Training(resize=64, crop=56)) == none


def test_a_step_of_adam_goes_as_far_at_any_width() -> None:
    """Columns that stand there several times over say nothing new: the rate must not depend on how many there are."""
    random = np.random.default_rng(0)
    features, labels = random.standard_normal((40, 6)).astype(np.float32), np.arange(40) % 4
    training = Training(train="hash", steps=1, optimizer="adam", learning_rate=0.01, deviation=0.0, device="cpu")
    moved = []
    for times in (1, 7):
        rows = Split(features=np.repeat(features, times, axis=1), labels=labels)
        method = get_method("cnnh")(8, 3, training=training).fit(rows.visible("images", "similarity"))
        assembly = method._assembly
        moved.append(assembly.encoder()(assembly.rows(rows).take(np.arange(40))).detach())
    assert moved[0].abs().mean() > 0.01
    torch.testing.assert_close(moved[0], moved[1], rtol=1e-3, atol=1e-3)
