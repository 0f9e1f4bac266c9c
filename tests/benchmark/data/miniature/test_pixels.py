"""Pixels: hues, places and angles as the scene says, and each chunk the same whoever asks for it."""

from __future__ import annotations

import colorsys
import math

import numpy as np
import pytest

from benchmark.data.miniature import glyphs, pixels, scenes


def test_hues_are_those_of_the_colour_wheel() -> None:
    hues = np.arange(0, scenes.WHEEL, 37)
    full, none = np.full(len(hues), 255), np.zeros(len(hues), int)
    expected = [colorsys.hsv_to_rgb(hue / scenes.WHEEL, 1, 1) for hue in hues]
    assert pixels._colour(hues, full, none) == pytest.approx(255 * np.array(expected), abs=1.5)


def test_colourless_is_grey() -> None:
    red, green, blue = pixels._colour(np.array([scenes.COLOURLESS]), np.array([200]), np.array([0]))[0]
    assert red == green == blue == 200


@pytest.mark.parametrize("scrambled", [False, True])
def test_a_glyph_is_turned_scaled_and_placed(scrambled: bool) -> None:
    palette, variation = scenes.Palette(("red",)), scenes.Variation((14, 20))
    drawn = scenes.draw_scenes(np.random.default_rng(3), "query", np.array([[4]]), palette, variation)
    drawn.scrambled[0, 0] = scrambled
    assert pixels._opacity(drawn, np.array([0]), 0)[0] == pytest.approx(slow_opacity(drawn), abs=0)


def slow_opacity(drawn: scenes.Scenes) -> np.ndarray:
    """Pixel by pixel, with a sine rounded to 1/4096 as stored: the glyph's pixel that lies under each canvas pixel."""
    stored, side = glyphs.opacities()[drawn.glyph[0, 0]], glyphs.SIDE
    angle, size, (x0, y0) = math.radians(drawn.angle[0, 0]), drawn.size[0, 0], drawn.centre[0, 0] / 2
    cosine, sine = round(4096 * math.cos(angle)) / 4096, round(4096 * math.sin(angle)) / 4096
    opacity = np.zeros((32, 32))
    for row in range(32):
        for column in range(32):
            x, y = column + 0.5 - x0, row + 0.5 - y0
            u = math.floor((cosine * x + sine * y) * side / size) + side // 2
            v = math.floor((cosine * y - sine * x) * side / size) + side // 2
            if 0 <= u < side and 0 <= v < side:
                if drawn.scrambled[0, 0]:
                    u, v = (u + side // 2) % side, (v + side // 2) % side
                opacity[row, column] = stored[v, u]
    return opacity


def some_scenes(rows: int) -> scenes.Scenes:
    classes = np.arange(rows)[:, None] % 10
    return scenes.draw_scenes(
        np.random.default_rng(5), "database", classes, scenes.Palette(("red",)), scenes.Variation((14, 20))
    )


def test_an_image_asked_for_alone_is_the_one_of_the_whole() -> None:
    drawn = some_scenes(pixels.CHUNK + 3)
    canvases, whole = pixels.Canvases(drawn, "a name"), pixels.paint_scenes(drawn, "a name")
    assert len(canvases) == len(whole) == pixels.CHUNK + 3
    for index in (pixels.CHUNK + 2, 0, pixels.CHUNK - 1, pixels.CHUNK, -1):
        assert np.array_equal(canvases[index], whole[index])
    with pytest.raises(IndexError):
        canvases[len(whole)]
    with pytest.raises(ValueError, match="read-only"):
        canvases[0][0, 0] = 0


def test_a_few_images_are_those_of_the_whole() -> None:
    """Out of order, twice, from the last chunk, which is short, and none at all."""
    drawn = some_scenes(pixels.CHUNK + 3)
    canvases, whole = pixels.Canvases(drawn, "a name"), pixels.paint_scenes(drawn, "a name")
    for rows in ([pixels.CHUNK + 2, 7, 0, 7, pixels.CHUNK], [pixels.CHUNK - 1], []):
        assert np.array_equal(canvases.few(rows), whole[np.array(rows, int)])


def test_the_name_decides_the_noise_and_nothing_but_the_noise() -> None:
    drawn = some_scenes(40)
    one, two = (pixels.paint_scenes(drawn, name).astype(int) for name in ("a", "b"))
    assert not np.array_equal(one, two)
    assert np.abs(one - two).max() <= 4 * pixels.NOISE
