"""What is on a canvas: which glyphs, where, how large, in which hue, over which background. No pixels here.

A `Scenes` holds one row per image and one column per slot, all integers. The first slots hold the glyphs of the
image's classes; the last ones hold scrambled glyphs (quadrants exchanged), smaller and dimmer, of no class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmark.data.miniature import glyphs

WHEEL = 1536  # hues: six edges of the colour cube, 256 steps each
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
COLOURLESS = -1  # in place of a hue
EIGHT_HUES = ("red", "amber", "lime", "jade", "cyan", "blue", "violet", "pink")
TEXTURES = ("plain", "stripes", "checks", "rings")
CANVAS = 32


@dataclass(frozen=True)
class Palette:
    """The hues that make the classes: class = digit * len(hues) + hue; after them a colourless class, if any."""

    hues: tuple[str, ...]
    colourless: str | None = None

    @property
    def class_names(self) -> tuple[str, ...]:
        names = tuple(f"{digit} {hue}" for digit in DIGITS for hue in self.hues)
        return names if self.colourless is None else (*names, self.colourless)


@dataclass(frozen=True)
class Variation:
    """How much images of a class vary: the knobs of difficulty."""

    sizes: tuple[int, int]  # side of a glyph in pixels, from and to
    reach: int = 9  # pixels between the cells of the 3 x 3 grid that glyphs stand on
    turn: int = 15  # rotation, degrees either way
    hue_spread: int = 42  # largest deviation from the class's hue, of WHEEL
    distractors: int = 2  # scrambled glyphs at most


Rows = slice | np.ndarray


@dataclass(frozen=True)
class Scenes:
    """n canvases with s slots; `glyph` is -1 in an empty slot."""

    glyph: np.ndarray  # (n, s) number of the glyph
    scrambled: np.ndarray  # (n, s) bool
    hue: np.ndarray  # (n, s) of WHEEL, or COLOURLESS
    light: np.ndarray  # (n, s) brightness 0 to 255
    pale: np.ndarray  # (n, s) white mixed in, 0 to 255
    size: np.ndarray  # (n, s) pixels
    angle: np.ndarray  # (n, s) degrees
    centre: np.ndarray  # (n, s, 2) x and y in half pixels
    ground: np.ndarray  # (n, 2, 3) two background colours
    texture: np.ndarray  # (n,) number in TEXTURES
    grain: np.ndarray  # (n, 4) period, two slopes and phase of the texture

    def __len__(self) -> int:
        return len(self.glyph)

    def rows(self, which: Rows) -> Scenes:
        return Scenes(**{name: value[which] for name, value in vars(self).items()})


def draw_scenes(
    rng: np.random.Generator, pool: glyphs.Pool, classes: np.ndarray, palette: Palette, variation: Variation
) -> Scenes:
    """Canvases that show `classes`: (n, slots) class numbers, -1 where a slot is empty."""
    rows, slots = classes.shape
    shown = classes >= 0
    scrambled = _distractors(rng, shown, variation)
    classes = np.pad(classes, ((0, 0), (0, scrambled.shape[1] - slots)), constant_values=-1)
    used = (classes >= 0) | scrambled
    digit, hue = _digit_and_hue(rng, classes, palette, variation)
    shape = classes.shape
    return Scenes(
        glyph=np.where(used, glyphs.draw(rng, pool, digit), -1),
        scrambled=scrambled,
        hue=hue,
        light=np.where(scrambled, rng.integers(110, 190, shape), rng.integers(180, 256, shape)),
        pale=rng.integers(0, 50, shape),
        size=rng.integers(variation.sizes[0], variation.sizes[1] + 1, shape) * np.where(scrambled, 3, 4) // 4,
        angle=rng.integers(-variation.turn, variation.turn + 1, shape),
        centre=_centres(rng, used, variation),
        ground=rng.integers(0, 75, (rows, 2, 3)),
        texture=rng.integers(0, len(TEXTURES), (rows,)),
        grain=np.stack([rng.integers(low, high, rows) for low, high in ((4, 13), (-3, 4), (1, 4), (0, 64))], 1),
    )


def _distractors(rng: np.random.Generator, shown: np.ndarray, variation: Variation) -> np.ndarray:
    """(n, slots + distractors) bool: Binomial(distractors, 1/2) scrambled glyphs behind the shown ones.

    An image that shows no class has at least two: nothing on a canvas would give it away as unlabelled.
    """
    coins = rng.integers(0, 2, (len(shown), variation.distractors)).astype(bool)
    coins[~shown.any(1)] = True
    room = shown.sum(1) + np.arange(1, variation.distractors + 1)[:, None] <= 9
    return np.concatenate([np.zeros_like(shown), coins & room.T], 1)


def _digit_and_hue(
    rng: np.random.Generator, classes: np.ndarray, palette: Palette, variation: Variation
) -> tuple[np.ndarray, np.ndarray]:
    """Digit and hue of every slot; those of no class have any digit and any hue."""
    hues = len(palette.hues)
    digit = rng.integers(0, 10, classes.shape)
    free = rng.integers(0, WHEEL, classes.shape)
    # A sum of three uniform numbers: near normal, and exact in integers.
    spread = rng.integers(-variation.hue_spread, variation.hue_spread + 1, (3, *classes.shape)).sum(0) // 3
    coloured = (classes >= 0) & (classes < 10 * hues)
    digit = np.where(coloured, classes // hues, digit)
    hue = np.where(coloured, (classes % hues * WHEEL // hues + spread) % WHEEL, free)
    return digit, np.where(classes == 10 * hues, COLOURLESS, hue)


def _centres(rng: np.random.Generator, used: np.ndarray, variation: Variation) -> np.ndarray:
    """Places in half pixels: cells of a 3 x 3 grid around the middle, each at most once, jittered."""
    rows, slots = used.shape
    cell = np.argsort(rng.integers(0, 2**40, (rows, 9)), axis=1, kind="stable")
    order = np.cumsum(used, axis=1) - 1
    cell = np.take_along_axis(cell, np.clip(order, 0, 8), axis=1)
    grid = (np.stack([cell % 3, cell // 3], 2) - 1) * 2 * variation.reach
    jitter = rng.integers(-4, 5, (rows, slots, 2))
    return CANVAS + grid + jitter
