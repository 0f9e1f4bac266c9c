"""Scenes: the classes that were asked for are what is on the canvas, and no two glyphs stand in one place."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.miniature import glyphs, scenes

PALETTE = scenes.Palette(("red", "green", "blue"), colourless="grey")
VARIATION = scenes.Variation((12, 15))


@pytest.fixture(scope="module")
def classes() -> np.ndarray:
    """400 canvases of up to four classes each, some of none."""
    rng = np.random.default_rng(0)
    found = np.argsort(rng.random((400, 31)), axis=1)[:, :4]
    found[np.arange(4) >= rng.integers(0, 5, 400)[:, None]] = -1
    return found


@pytest.fixture(scope="module")
def drawn(classes: np.ndarray) -> scenes.Scenes:
    return scenes.draw_scenes(np.random.default_rng(1), "query", classes, PALETTE, VARIATION)


def test_classes_are_named_in_the_order_of_their_numbers() -> None:
    assert len(PALETTE.class_names) == 31
    assert PALETTE.class_names[3 * 7 + 2] == "seven blue"
    assert PALETTE.class_names[-1] == "grey"


def test_a_slot_shows_the_digit_and_hue_of_its_class(classes: np.ndarray, drawn: scenes.Scenes) -> None:
    from sklearn.datasets import load_digits

    digits = load_digits().target
    for row, slot in zip(*np.nonzero(classes >= 0), strict=True):
        number = classes[row, slot]
        assert not drawn.scrambled[row, slot]
        if number == 30:
            assert drawn.hue[row, slot] == scenes.COLOURLESS
            continue
        assert digits[drawn.glyph[row, slot]] == number // 3
        away = (drawn.hue[row, slot] - number % 3 * scenes.WHEEL // 3 + 768) % scenes.WHEEL - 768
        assert abs(away) <= VARIATION.hue_spread + 1


def test_an_empty_slot_is_empty_and_the_last_ones_are_scrambled(classes: np.ndarray, drawn: scenes.Scenes) -> None:
    assert (drawn.glyph[:, :4][classes < 0] == -1).all()
    assert not drawn.scrambled[:, :4].any()
    assert np.array_equal(drawn.glyph[:, 4:] >= 0, drawn.scrambled[:, 4:])
    assert set(drawn.scrambled.sum(1)) == {0, 1, 2}
    assert (drawn.scrambled[(classes < 0).all(1)].sum(1) == VARIATION.distractors).all()


def test_no_two_glyphs_of_a_canvas_stand_in_one_cell(drawn: scenes.Scenes) -> None:
    cells = np.rint((drawn.centre - scenes.CANVAS) / (2 * VARIATION.reach)).astype(int)
    assert np.abs(drawn.centre - scenes.CANVAS - cells * 2 * VARIATION.reach).max() <= 4
    for row in range(len(drawn)):
        taken = [tuple(cell) for cell in cells[row][drawn.glyph[row] >= 0]]
        assert len(set(taken)) == len(taken)


def test_glyphs_come_from_the_pool_that_was_named(drawn: scenes.Scenes) -> None:
    used = set(drawn.glyph[drawn.glyph >= 0].tolist())
    assert used <= set(np.concatenate(glyphs.pool("query")).tolist())


def test_rows_are_a_part_of_every_array(drawn: scenes.Scenes) -> None:
    part = drawn.rows(slice(3, 9))
    assert len(part) == 6
    assert all(np.array_equal(value, vars(drawn)[name][3:9]) for name, value in vars(part).items())
