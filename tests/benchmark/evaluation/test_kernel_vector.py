"""The two inner loops against counting item by item."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from benchmark.evaluation.kernel import _aligned  # noqa: E402
from benchmark.evaluation.kernel_vector import (  # noqa: E402
    BLOCK,
    LANES,
    LEVELS_PER_STEP,
    PLANES_PER_STEP,
    add_planes,
    count_levels,
)


@numba.njit
def distances(planes: np.ndarray, query: np.ndarray, out: np.ndarray, digits: Any) -> None:
    add_planes(planes.ctypes.data, query.ctypes.data, len(query) // PLANES_PER_STEP, out.ctypes.data, digits)


@numba.njit
def levels(blocks: np.ndarray, first: np.ndarray, second: np.ndarray, out: np.ndarray, digits: Any) -> None:
    masks, rows = (first.ctypes.data, second.ctypes.data), (out[0].ctypes.data, out[1].ctypes.data)
    count_levels(blocks.ctypes.data, masks, len(blocks), out.shape[1] // LEVELS_PER_STEP, rows, digits)


def packed(bits: np.ndarray) -> np.ndarray:
    """(..., BLOCK) zeros and ones as aligned vectors: bit i of a vector speaks of item i."""
    found = _aligned(*bits.shape[:-1], LANES)
    found[...] = np.ascontiguousarray(np.packbits(bits.astype(bool), axis=-1, bitorder="little")).view(np.uint64)
    return found


def unpacked(vectors: np.ndarray) -> np.ndarray:
    return np.unpackbits(np.ascontiguousarray(vectors).view(np.uint8), axis=-1, bitorder="little")


@pytest.mark.parametrize("bits", [16, 48, 64])
def test_digits_are_those_of_the_hamming_distance(bits: int) -> None:
    random = np.random.default_rng(bits)
    codes, query = random.integers(0, 2, (BLOCK, bits)), random.integers(0, 2, bits)
    codes[0], codes[1] = query, 1 - query  # distances 0 and `bits`
    flips, out, digits = _aligned(bits), _aligned(7, LANES), (0,) * 7
    flips[:] = np.where(query, np.uint64(2**64 - 1), np.uint64(0))
    out[:] = np.uint64(2**64 - 1)  # what was there does not matter
    distances(packed(codes.T), flips, out, digits)
    found = (unpacked(out) * (1 << np.arange(7))[:, None]).sum(0)
    np.testing.assert_array_equal(found, (codes != query).sum(1))


def test_items_at_each_distance_are_counted_under_both_masks_and_added() -> None:
    random = np.random.default_rng(0)
    blocks, digits = 3, (0,) * 7
    distance = random.integers(0, 65, (blocks, BLOCK))
    outer = random.random((blocks, BLOCK)) < 0.6
    inner = outer & (random.random((blocks, BLOCK)) < 0.3)
    outer[2] = inner[2] = False  # a block without any item
    planes = packed(distance[:, None] >> np.arange(7)[:, None] & 1)
    found = _aligned(2, 72)
    found[:] = 5
    levels(planes, packed(outer), packed(inner), found, digits)
    for row, mask in enumerate((outer, inner)):
        np.testing.assert_array_equal(found[row], 5 + np.bincount(distance[mask], minlength=72))
