"""Scenes to pixels, in integers throughout: no float operation can round differently on another machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmark.data.miniature.glyphs import SIDE, opacities
from benchmark.data.miniature.scenes import CANVAS, COLOURLESS, Rows, Scenes
from benchmark.seeds import generator

CHUNK = 256  # rows rendered at a time; part of the recipe, for each chunk draws its own noise
NOISE = 10  # half width of each of the two uniform numbers added to every value
_FIXED = 1 << 12
_SINES = np.array([round(_FIXED * math.sin(math.radians(degree))) for degree in range(360)], np.int32)


class Canvases:
    """The images of some scenes; a chunk of them is rendered when one of it is first asked for."""

    def __init__(self, scenes: Scenes, *seed: object) -> None:
        self._scenes, self._seed = scenes, seed
        self._chunks: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self._scenes)

    def __getitem__(self, index: int, /) -> np.ndarray:
        index = range(len(self))[index]
        start = index - index % CHUNK
        if start not in self._chunks:
            self._chunks[start] = _render_chunk(self._scenes, start, self._seed)
            self._chunks[start].setflags(write=False)
        return self._chunks[start][index - start]

    def few(self, rows: Sequence[int]) -> np.ndarray:
        """(len(rows), 32, 32, 3) uint8: these alone, when most of their chunks would be painted for nothing."""
        found = np.empty((len(rows), CANVAS, CANVAS, 3), np.uint8)
        wanted = np.asarray(rows, np.int64)
        for start in np.unique(wanted - wanted % CHUNK).tolist():
            places = np.flatnonzero(wanted // CHUNK == start // CHUNK)
            found[places] = _render_chunk(self._scenes, start, self._seed, wanted[places] - start)
        return found


def paint_scenes(scenes: Scenes, *seed: object) -> np.ndarray:
    """(n, 32, 32, 3) uint8, all of them; `seed` names the noise."""
    return np.concatenate([_render_chunk(scenes, start, seed) for start in range(0, len(scenes), CHUNK)])


def _render_chunk(scenes: Scenes, start: int, seed: tuple[object, ...], only: Rows = slice(None)) -> np.ndarray:
    """The chunk that begins at this row, or `only` some rows of it: the noise is drawn for all of them."""
    chunk = scenes.rows(slice(start, start + CHUNK))
    part = chunk.rows(only)
    canvas = _background(part)
    for slot in reversed(range(part.glyph.shape[1])):  # scrambled glyphs come last, and so lie behind
        _paint(canvas, part, slot)
    rng = generator("miniature", "noise", *seed, start)
    for _ in range(2):
        canvas += rng.integers(-NOISE, NOISE + 1, (len(chunk), *canvas.shape[1:]), dtype=np.int8)[only]
    return np.clip(canvas, 0, 255).astype(np.uint8)


def _background(scenes: Scenes) -> np.ndarray:
    """(n, 32, 32, 3) int32: two colours mixed by a texture."""
    y, x = np.mgrid[0:CANVAS, 0:CANVAS].astype(np.int32)
    period, across, down, phase = (scenes.grain[:, i, None, None].astype(np.int32) for i in range(4))
    slope = (across * x + down * y + phase) // 2
    stripes = slope // period % 2
    checks = ((x + phase) // period + (y + phase) // period) % 2
    rings = (((x - 16) ** 2 + (y - 16) ** 2) // (8 * period) + phase) % 2
    plain = np.broadcast_to(y * 8, slope.shape)
    mix = np.choose(scenes.texture[:, None, None], [plain, 255 * stripes, 255 * checks, 255 * rings])[..., None]
    first, second = (scenes.ground[:, None, None, i].astype(np.int32) for i in range(2))
    return (first * (255 - mix) + second * mix) // 255


def _paint(canvas: np.ndarray, scenes: Scenes, slot: int) -> None:
    """Blend the glyphs of one slot into the canvases that have one there."""
    rows = np.flatnonzero(scenes.glyph[:, slot] >= 0)
    if not len(rows):
        return
    opacity = _opacity(scenes, rows, slot)[..., None]
    colour = _colour(*(getattr(scenes, name)[rows, slot] for name in ("hue", "light", "pale")))[:, None, None]
    canvas[rows] = (canvas[rows] * (255 - opacity) + colour * opacity + 127) // 255


def _opacity(scenes: Scenes, rows: np.ndarray, slot: int) -> np.ndarray:
    """(rows, 32, 32) int32: the glyph turned, scaled and moved to its place, by the nearest stored pixel."""
    angle = scenes.angle[rows, slot] % 360
    sine, cosine = (_SINES[a % 360][:, None, None] for a in (angle, angle + 90))
    size = scenes.size[rows, slot, None, None].astype(np.int32)
    twice = 2 * np.arange(CANVAS, dtype=np.int32) + 1  # pixel middles in half pixels
    x = (twice - scenes.centre[rows, slot, 0, None].astype(np.int32))[:, None, :]
    y = (twice - scenes.centre[rows, slot, 1, None].astype(np.int32))[:, :, None]
    u = (cosine * x + sine * y) * SIDE // (2 * _FIXED * size) + SIDE // 2
    v = (cosine * y - sine * x) * SIDE // (2 * _FIXED * size) + SIDE // 2
    inside = (u >= 0) & (u < SIDE) & (v >= 0) & (v < SIDE)
    # A scrambled glyph has its quadrants exchanged crosswise: strokes remain, no digit does.
    shift = np.where(scenes.scrambled[rows, slot], SIDE // 2, 0)[:, None, None].astype(np.int32)
    u, v = (u + shift) % SIDE, (v + shift) % SIDE
    flat = scenes.glyph[rows, slot, None, None] * (SIDE * SIDE) + v * SIDE + u
    return np.where(inside, opacities().reshape(-1)[flat], 0).astype(np.int32)


def _colour(hue: np.ndarray, light: np.ndarray, pale: np.ndarray) -> np.ndarray:
    """(n, 3) int32 of a hue on the wheel, mixed with white and dimmed; colourless is white dimmed."""
    offset = np.array([0, 512, 1024])  # where red, green and blue are full
    distance = np.abs((hue[:, None] - offset + 768) % 1536 - 768)
    pure = np.clip(512 - distance, 0, 255)
    pure[hue == COLOURLESS] = 255
    tinted = pure + (255 - pure) * pale[:, None] // 255
    return (tinted * light[:, None] // 255).astype(np.int32)
