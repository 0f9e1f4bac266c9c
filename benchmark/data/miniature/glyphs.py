"""The glyphs: scikit-learn's 1,797 handwritten digits, enlarged, and split into pools that never share a glyph."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np

from benchmark.seeds import generator

Pool = Literal["auxiliary", "database", "query"]
SHARES: dict[Pool, int] = {"auxiliary": 30, "database": 50, "query": 20}  # per cent of each digit's glyphs
SIDE = 48  # a glyph as stored: 48 x 48 opacities


@cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    source = load_digits()
    return np.rint(source.images).astype(np.int64), source.target.astype(np.int64)


@cache
def opacities() -> np.ndarray:
    """(1797, SIDE, SIDE) uint8: each 8 x 8 glyph enlarged bilinearly, in integers."""
    images, _ = _digits()
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    step = 2 * SIDE
    position = 8 * (2 * np.arange(SIDE) + 1) + SIDE  # of a pixel's middle in the padded glyph, in 1 / step
    low, part = position // step, position % step
    wide = padded[:, :, low] * (step - part) + padded[:, :, low + 1] * part
    tall = wide[:, low] * (step - part)[:, None] + wide[:, low + 1] * part[:, None]
    return np.ascontiguousarray(tall * 255 // (16 * step * step), np.uint8)  # read flat, which must copy nothing


@cache
def pool(name: Pool) -> tuple[np.ndarray, ...]:
    """For each digit 0 to 9, the numbers of its glyphs in this pool."""
    _, digit = _digits()
    names = list(SHARES)
    start = sum(SHARES[earlier] for earlier in names[: names.index(name)])
    chosen = []
    for value in range(10):
        members = generator("miniature", "glyph pools", value).permutation(np.flatnonzero(digit == value))
        first, last = (len(members) * share // 100 for share in (start, start + SHARES[name]))
        chosen.append(np.sort(members[first:last]))
    return tuple(chosen)


def draw(rng: np.random.Generator, name: Pool, digits: np.ndarray) -> np.ndarray:
    """One glyph of the pool for each entry of `digits`."""
    members = pool(name)
    sizes = np.array([len(part) for part in members])
    table = np.stack([np.resize(part, sizes.max()) for part in members])
    return table[digits, rng.integers(0, sizes[digits])]
