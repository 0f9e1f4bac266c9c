"""Rows as network inputs: cut and mirrored, scaled, ahead of time, and errors that arrive as they were."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from benchmark import Split, UsageError, get_method
from benchmark.data.images import ImageArrays, Transform
from benchmark.deep import Training
from benchmark.deep.network_inputs import FeatureRows, ImageRows, ahead
from benchmark.shallow.scaling import FeatureScaling


def test_augmentation_cuts_and_mirrors_at_random() -> None:
    image = np.arange(14 * 14 * 3, dtype=np.uint8).reshape(1, 14, 14, 3)
    rows = ImageRows(ImageArrays(image), Transform(resize=14, crop=12))
    found = {rows.take(np.array([0]), np.random.default_rng(seed)).numpy().tobytes() for seed in range(200)}
    crops = [image[0, top : top + 12, left : left + 12] for top in range(3) for left in range(3)]
    assert found == {cut.tobytes() for crop in crops for cut in (crop, crop[:, ::-1].copy())}
    np.testing.assert_array_equal(rows.take(np.array([0])).numpy()[0], image[0, 1:13, 1:13])


def test_where_nothing_is_cut_nothing_is_mirrored() -> None:
    image = np.random.default_rng(0).integers(0, 255, (1, 8, 8, 3)).astype(np.uint8)
    rows = ImageRows(ImageArrays(image), Transform(resize=None, crop=None))
    for seed in range(8):
        np.testing.assert_array_equal(rows.take(np.array([0]), np.random.default_rng(seed)).numpy(), image)


def test_a_broken_image_keeps_its_error_through_a_worker(tiny: Training) -> None:
    class Broken(ImageArrays):
        def __getitem__(self, index: int, /) -> np.ndarray:
            raise UsageError(f"image {index} is broken")

    split = Split(images=Broken(np.zeros((9, 14, 14, 3), np.uint8)), labels=np.arange(9) % 3)
    for workers in (0, 1):
        training = dataclasses.replace(tiny, train="all", num_workers=workers)
        with pytest.raises(UsageError, match=r"^image \d is broken$"):
            get_method("dph")(8, training=training).fit(split)


def test_features_are_scaled_on_the_way_out() -> None:
    features = np.random.default_rng(0).normal(size=(20, 5))
    scaling = FeatureScaling.fit(features, mode="center-l2", gain="sqrt")
    items = np.array([3, 3, 17])
    found = FeatureRows(features, scaling).take(items)
    np.testing.assert_allclose(found.numpy(), scaling.transform(features)[items], rtol=1e-6)
    plain = FeatureRows(features).take(items)
    assert plain.dtype == torch.float32
    np.testing.assert_allclose(plain.numpy(), features[items], rtol=1e-6)
    assert len(FeatureRows(features)) == 20


def square(number: int) -> int:
    """For workers."""
    if number == 9:
        raise UsageError("nine is not squared")
    return number * number


@pytest.mark.parametrize("workers", [0, 2])
def test_values_come_in_order_and_global_randomness_is_untouched(workers: int) -> None:
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    numbers = [5, 3, 8, 1]
    assert list(ahead(square, numbers, workers)) == [25, 9, 64, 1]
    assert torch.rand(1) == expected
    with pytest.raises(UsageError, match=r"^nine is not squared$"):
        list(ahead(square, [1, 9], workers))
