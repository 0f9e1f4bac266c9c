"""The network of a deep method, kept and built again: the same codes for every depth of training and kind of input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.data.images import ImageArrays
from benchmark.deep import Training
from benchmark.deep.kept_network import encodes_by_network, keep_network, restore_network
from benchmark.errors import UsageError

RANDOM = np.random.default_rng(0)
LABELS = np.arange(24) % 3
SIZES = {"resize": 40, "crop": 32}


def training(train: str, backbone: str | None = None, **more: Any) -> Training:
    how: Any = {"train": train, "backbone": backbone, "weights": "random" if backbone else None, **more}
    return Training(steps=3, batch=8, device="cpu", **how)


def images() -> Split:
    pixels = RANDOM.integers(0, 255, (24, 36, 36, 3), dtype=np.uint8)
    return Split(images=ImageArrays(pixels), labels=LABELS)


def features(columns: int) -> Split:
    return Split(features=RANDOM.standard_normal((24, columns)).astype(np.float32), labels=LABELS)


@pytest.mark.parametrize(
    ("rows", "how"),
    [
        (features(20), training("hash")),
        (features(20), training("hash", components=5)),
        (features(256 * 6 * 6), training("last", "alexnet")),
        (images(), training("hash", "squeezenet1_1", **SIZES)),
        (images(), training("all", "squeezenet1_1", **SIZES)),
    ],
    ids=["features", "principal directions", "trunk features", "frozen on images", "whole on images"],
)
@pytest.mark.parametrize("name", ["dph", "lthnet"])
def test_a_rebuilt_network_gives_the_same_codes(name: str, rows: Split, how: Training) -> None:
    fitted = get_method(name)(8, 1, training=how).fit(rows)
    assert encodes_by_network(fitted)
    twin = get_method(name)(8, 1, training=how)
    if name == "lthnet":
        twin.classes = fitted.classes  # which its head asks for
    before = torch.get_rng_state()
    restore_network(twin, keep_network(fitted))
    assert torch.equal(before, torch.get_rng_state())
    twin._fitted_as_registered = True
    shown = Split(features=rows.features, images=rows.images)
    assert np.array_equal(twin.encode(shown), fitted.encode(shown))
    assert not any(key.startswith("classifier") for key in keep_network(fitted)["tensors"])


def test_a_frozen_backbone_is_not_kept() -> None:
    kept = keep_network(get_method("dph")(8, training=training("hash", "squeezenet1_1", **SIZES)).fit(images()))
    assert sum(one.numel() for one in kept["tensors"].values()) < 10_000


def test_tensors_of_another_network_are_one_line() -> None:
    fitted = get_method("dph")(8, training=training("hash")).fit(features(20))
    with pytest.raises(UsageError, match="builds another network than it kept") as caught:
        restore_network(get_method("dph")(4, training=training("hash")), keep_network(fitted))
    assert "\n" not in str(caught.value)


def test_who_encodes_in_a_way_of_its_own_is_not_kept_by_its_network_alone() -> None:
    class Own(get_method("dph")):  # type: ignore[misc]
        def encode(self, split: Split) -> np.ndarray:
            return -super().encode(split)

    class Heir(Own):
        pass

    for cls in (Own, Heir):
        assert not encodes_by_network(cls(8, training=training("hash")).fit(features(20)))
