"""Glyphs: enlarged as stated, and of three pools that share none."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.miniature import glyphs


def test_glyphs_of_queries_are_nobody_elses() -> None:
    pools = {name: set(np.concatenate(glyphs.pool(name)).tolist()) for name in glyphs.SHARES}
    assert sum(len(members) for members in pools.values()) == len(set.union(*pools.values())) == 1797
    assert all(len(part) >= 30 for name in glyphs.SHARES for part in glyphs.pool(name))


def test_a_glyph_is_the_digit_enlarged_bilinearly() -> None:
    """Against plain floating-point interpolation between the middles of the 8 x 8 pixels, ink outside being none."""
    from sklearn.datasets import load_digits

    images = load_digits().images
    for number in (0, 777, 1796):
        padded = np.pad(images[number], 1)
        expected = np.zeros((glyphs.SIDE, glyphs.SIDE))
        for row in range(glyphs.SIDE):
            for column in range(glyphs.SIDE):
                y, x = ((place + 0.5) * 8 / glyphs.SIDE + 0.5 for place in (row, column))
                top, left = int(y), int(x)
                down, right = y - top, x - left
                upper = padded[top, left] * (1 - right) + padded[top, left + 1] * right
                lower = padded[top + 1, left] * (1 - right) + padded[top + 1, left + 1] * right
                expected[row, column] = 255 / 16 * (upper * (1 - down) + lower * down)
        assert glyphs.opacities()[number] == pytest.approx(expected, abs=1.001)


@pytest.mark.parametrize("name", list(glyphs.SHARES))
def test_what_is_drawn_is_of_the_digit_and_of_the_pool(name: glyphs.Pool) -> None:
    from sklearn.datasets import load_digits

    digits = np.random.default_rng(0).integers(0, 10, (500, 3))
    drawn = glyphs.draw(np.random.default_rng(1), name, digits)
    assert np.array_equal(load_digits().target[drawn], digits)
    assert set(drawn.ravel().tolist()) <= set(np.concatenate(glyphs.pool(name)).tolist())


def test_glyphs_can_be_read_flat_without_a_copy() -> None:
    """They were copied for every slot of every chunk: half of the time that images took."""
    assert np.shares_memory(glyphs.opacities(), glyphs.opacities().reshape(-1))
