"""What people give to be encoded, as rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmark import Split
from benchmark.errors import UsageError
from benchmark.execution.model_inputs import decoded_chunk, inputs_of

PIXELS = np.random.default_rng(0).integers(0, 255, (5, 8, 9, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b").mkdir()
    for name, pixels in zip(("b/2.png", "b/1.png", "a.png"), PIXELS, strict=False):
        Image.fromarray(pixels).save(tmp_path / name)
    return tmp_path


def test_a_folder_is_all_images_below_it_in_the_order_of_their_paths(folder: Path) -> None:
    inputs = inputs_of(folder)
    assert list(inputs.names) == ["a.png", "b/1.png", "b/2.png"]
    assert np.array_equal(inputs.images[0], PIXELS[2])
    assert np.array_equal(inputs.images[2], PIXELS[0])


def test_a_list_file_is_taken_in_its_own_order_from_its_own_folder(folder: Path) -> None:
    (folder / "list.txt").write_text("b/2.png\n\na.png\n")
    inputs = inputs_of(str(folder / "list.txt"))
    assert list(inputs.names) == ["b/2.png", "a.png"]
    assert np.array_equal(inputs.images[0], PIXELS[0])


def test_one_image_several_paths_arrays_and_pil_images(folder: Path) -> None:
    assert np.array_equal(inputs_of(folder / "a.png").images[0], PIXELS[2])
    assert np.array_equal(inputs_of([folder / "a.png", folder / "b" / "1.png"]).images[1], PIXELS[1])
    assert np.array_equal(inputs_of(PIXELS).images[3], PIXELS[3])
    assert np.array_equal(inputs_of(PIXELS[0]).images[0], PIXELS[0])
    assert np.array_equal(inputs_of([PIXELS[0], PIXELS[1][:4]]).images[1], PIXELS[1][:4])
    assert np.array_equal(inputs_of(Image.fromarray(PIXELS[0])).images[0], PIXELS[0])


def test_features_in_memory_in_a_split_and_in_a_file(folder: Path) -> None:
    rows = np.arange(12.0).reshape(4, 3)
    np.save(folder / "f.npy", rows)
    np.savez(folder / "f.npz", features=rows, labels=np.arange(4))
    for given in (rows, Split(features=rows), folder / "f.npy", folder / "f.npz"):
        assert np.array_equal(inputs_of(given).features, rows)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.zeros((2, 3, 4)), "expected features"),
        (np.zeros(3), "expected features"),
        ("nowhere", "no such file"),
        (5, "of type int, expected features"),
        (None, "of type NoneType"),
        (b"x", "of type bytes"),
        ({"a": 1}, "of type dict, .* or a Split"),
    ],
)
def test_what_is_neither_is_one_line(given: object, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        inputs_of(given)


def test_an_empty_folder_and_a_file_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no image"):
        inputs_of(tmp_path)
    (tmp_path / "x").write_bytes(b"\x00\x01")
    with pytest.raises(UsageError, match="a text file with a path in each line"):
        inputs_of(tmp_path / "x")


def test_a_chunk_says_which_images_are_broken_and_gives_the_others(folder: Path) -> None:
    (folder / "b" / "1.png").write_bytes(b"no image")
    inputs = inputs_of(folder)
    found = decoded_chunk(inputs.images, range(3), lambda image: image[:4])
    assert found.rows == [0, 2]
    assert np.array_equal(found.images[1], PIXELS[0][:4])
    assert list(found.faults) == [1]
    assert "1.png is no image" in found.faults[1]
