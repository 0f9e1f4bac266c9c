"""Images: every kind of file becomes RGB or one clear line; the transform is the papers'."""

import hashlib
import io
import pickle
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from benchmark.data.images import ImageFiles, ReplacedImage, Transform, read_image
from benchmark.errors import UsageError

COLOUR = np.full((6, 8, 3), (200, 30, 90), np.uint8)


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "CMYK", "RGBA", "1", "LA"])
def test_every_mode_becomes_rgb(tmp_path, mode):
    suffix = "tif" if mode == "CMYK" else "png"
    image = Image.fromarray(COLOUR).convert(mode)
    image.save(tmp_path / f"a.{suffix}")
    found = read_image(tmp_path / f"a.{suffix}")
    assert found.shape == (6, 8, 3)
    assert found.dtype == np.uint8
    np.testing.assert_allclose(found, np.asarray(image.convert("RGB")), atol=2)


def test_cmyk_and_grey_jpegs(tmp_path):
    for mode in ("CMYK", "L"):
        Image.fromarray(COLOUR).convert(mode).save(tmp_path / f"{mode}.jpg", quality=95)
        found = read_image(tmp_path / f"{mode}.jpg").astype(int)
        expected = np.asarray(Image.fromarray(COLOUR).convert(mode).convert("RGB")).astype(int)
        assert abs(found - expected).max() < 12


def test_sixteen_bits_are_scaled_not_clipped(tmp_path):
    Image.fromarray(np.array([[0, 32768, 65535]], np.uint16)).save(tmp_path / "a.png")
    assert read_image(tmp_path / "a.png")[0, :, 0].tolist() == [0, 128, 255]


def bomb(side):
    """A PNG of a few bytes that claims side x side pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def jpeg():
    stream = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)).save(stream, "JPEG")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"", "is no image that can be read"),
        (b"<html>404</html>", "is no image that can be read"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is no image that can be read"),
        (jpeg()[:500], "is broken: "),
        (bomb(9_000), "has over 64 million pixels, refused"),
        (bomb(60_000), "has over 64 million pixels, refused"),
    ],
)
def test_what_cannot_be_decoded_is_named_with_its_line(tmp_path, content, message):
    if content is not None:
        (tmp_path / "a.jpg").write_bytes(content)
    images = ImageFiles(tmp_path, ["a.jpg"], "list file train.txt", np.array([812]))
    with pytest.raises(UsageError) as caught:
        images[0]
    assert str(caught.value).startswith(f"list file train.txt line 812: image {tmp_path / 'a.jpg'} ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_transform_ignores_the_aspect_and_cuts_the_centre():
    image = np.zeros((100, 400, 3), np.uint8)
    image[:, 150:250] = 255
    found = Transform(resize=32, crop=16).prepare(image)
    assert found.shape == (16, 16, 3)
    assert found[8, 8, 0] == 255
    assert found[8, 0, 0] == 0
    assert np.array_equal(found, found[:, ::-1])


def test_without_sizes_the_image_is_left_as_it_is():
    assert Transform(resize=None, crop=None).prepare(COLOUR) is COLOUR


def test_normalisation_is_per_channel():
    transform = Transform(mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 0.125))
    found = transform.normalise(COLOUR[None])
    assert tuple(found.shape) == (1, 3, 6, 8)
    expected = (np.array([200, 30, 90]) / 255 - transform.mean) / transform.std
    np.testing.assert_allclose(found[0, :, 0, 0].numpy(), expected, rtol=1e-6)
    assert COLOUR[0, 0, 0] == 200


def test_an_image_that_was_replaced_is_not_taken_for_the_one_that_was_hashed(tmp_path):
    """A run goes on for hours, and another machine may have another file under the same path."""
    Image.fromarray(COLOUR).save(tmp_path / "a.png")
    images, early = (ImageFiles(tmp_path, ["a.png"], "list file train.txt", np.array([7])) for _ in range(2))
    assert images.hashes[0] == hashlib.sha256((tmp_path / "a.png").read_bytes()).hexdigest()
    sent = pickle.loads(pickle.dumps(images))
    assert np.array_equal(images[0], COLOUR)
    Image.fromarray(COLOUR + 1).save(tmp_path / "a.png")
    for one in (images, sent, replace(early, known_hashes=images.hashes)):
        with pytest.raises(ReplacedImage, match=r"^list file train.txt line 7: image .*a.png is not what it was"):
            one[0]
    assert np.array_equal(early[0], COLOUR + 1)  # nobody has asked what it was
