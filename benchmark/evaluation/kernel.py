"""The compiled counting kernel: the same integers as `counting.count_tile_numpy`, some fifteen times sooner.

Bit-sliced: a tile of the database is turned into bit planes (plane p holds bit p of 512 items at a time), so that
distances are added up and counted for 512 items at once and nothing is ever scattered into a histogram. Relevance is
one more plane: the OR of the planes of the query's labels. `kernel_vector` has the two inner loops and explains them;
here is what surrounds them. Importing this module imports numba: only `counting` does, and only when it pays.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import config, njit

from benchmark.evaluation.codes import words
from benchmark.evaluation.kernel_vector import BLOCK, LANES, LEVELS_PER_STEP, PLANES_PER_STEP, add_planes, count_levels
from benchmark.evaluation.queries import Queries
from benchmark.evaluation.shards import Tile

# First 8 digits of the sha256 of kernel_vector.py. Numba's disk cache looks at this file only, so a change over there
# must show here; a test compares.
VECTOR_SOURCE = "1c470001"
GROUP = 32  # blocks whose distance digits are kept at a time: 14 kB at 64 bits, in the first-level cache
LANE_BYTES = 8 * LANES


class KernelQueries:
    """Queries made ready for the kernel; `add` counts them against one tile."""

    def __init__(self, queries: Queries, threads: int | None = None) -> None:
        cores = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
        self.threads = max(1, min(threads or cores, len(queries.packed)))
        self.words = np.ascontiguousarray(words(queries.packed, queries.bits).T)
        self.label_start = np.concatenate([[0], queries.labels.sum(axis=1).cumsum()])
        self.label = np.nonzero(queries.labels)[1] ^ 7  # packed, class c is bit 7 - c % 8 of its byte
        self.digits = (0,) * max(5, queries.bits.bit_length())
        self.steps = -(-queries.packed.shape[1] * 8 // PLANES_PER_STEP)
        self.levels = queries.bits // LEVELS_PER_STEP + 1
        self.grades = queries.grades
        self.classes = queries.layout.classes
        self.bits = queries.bits

    def add(self, tile: Tile, totals: np.ndarray) -> None:
        """Add the counts of `tile` to `totals`, the queries shared out among threads."""
        blocks = -(-len(tile.packed) // BLOCK)
        planes = _aligned(blocks, self.steps * PLANES_PER_STEP, LANES)
        slice_bits(words(tile.packed, self.bits), planes)
        label_planes = _aligned(-(-self.classes // 64) * 64, blocks, LANES)
        slice_bits(words(tile.labels, self.classes), label_planes.transpose(1, 0, 2))
        exists = _aligned(blocks * LANES)
        mark_first(exists, len(tile.packed))
        sliced = (planes, label_planes.reshape(len(label_planes), -1), exists)

        def run(part: np.ndarray) -> None:
            rows = self.grades + self.grades % 2  # they are counted in pairs
            digits = _aligned(GROUP, len(self.digits), LANES)
            shared = _aligned(rows, GROUP * LANES)  # [g]: items that share at least g labels
            flips = _aligned(self.steps * PLANES_PER_STEP)
            found = _aligned(rows, self.levels * LEVELS_PER_STEP)
            work = (digits, shared, flips, found)
            query = (self.words, self.label_start, self.label, part[0], part[1])
            count_queries(query, sliced, work, totals, self.digits)

        edges = np.linspace(0, len(self.words), self.threads + 1).astype(np.int64)
        if self.threads == 1:
            run(edges)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(run, np.stack([edges[:-1], edges[1:]], axis=1)))


def _aligned(*shape: int) -> np.ndarray:
    """Zeros of uint64 that start at a multiple of 64 bytes, as vector loads like them."""
    size = int(np.prod(shape))
    memory = np.zeros(size + LANES, np.uint64)
    skip = (-memory.ctypes.data % LANE_BYTES) // 8
    return memory[skip : skip + size].reshape(shape)


@njit(nogil=True, cache=True)
def slice_bits(item_words: np.ndarray, planes: np.ndarray) -> None:
    """(words, n) codes into planes [block, plane, lane]: bit i of a lane is the plane's bit of the lane's item i.

    64 items x 64 bits at a time are transposed by swapping ever smaller squares (Hacker's Delight, 7-3).
    """
    square = np.empty(64, np.uint64)
    for word in range(item_words.shape[0]):
        for start in range(0, item_words.shape[1], 64):
            size = min(64, item_words.shape[1] - start)
            square[:size] = item_words[word, start : start + size]
            square[size:] = 0
            half, mask = 32, np.uint64(0x00000000FFFFFFFF)
            while half:
                shift = np.uint64(half)
                for first in range(0, 64, 2 * half):
                    low, high = square[first : first + half], square[first + half : first + 2 * half]
                    for i in range(half):
                        swap = ((low[i] >> shift) ^ high[i]) & mask
                        high[i] ^= swap
                        low[i] ^= swap << shift
                half //= 2
                mask ^= mask << np.uint64(half)
            group = start // 64
            count = min(64, planes.shape[1] - 64 * word)
            planes[group // LANES, 64 * word : 64 * word + count, group % LANES] = square[:count]


@njit(nogil=True, cache=True)
def mark_first(mask: np.ndarray, size: int) -> None:
    """Set the first `size` bits: the items that exist, as against those that pad the last block."""
    mask[: size // 64] = np.uint64(0xFFFFFFFFFFFFFFFF)
    if size % 64:
        mask[size // 64] = (np.uint64(1) << np.uint64(size % 64)) - np.uint64(1)


@njit(nogil=True, cache=True)
def count_queries(query: Any, tile: Any, work: Any, totals: np.ndarray, digits: Any) -> None:
    """Add to `totals` the counts of a range of queries against one tile."""
    query_words, label_start, label, first, last = query
    planes, label_planes, exists = tile
    distance, shared, flips, found = work
    blocks, steps, grades = planes.shape[0], planes.shape[1] // PLANES_PER_STEP, totals.shape[2]
    block_bytes, levels = planes.shape[1] * LANE_BYTES, found.shape[1] // LEVELS_PER_STEP
    for index in range(first, last):
        for plane in range(len(flips)):
            bit = query_words[index, plane // 64] >> np.uint64(plane % 64) & np.uint64(1)
            flips[plane] = np.uint64(0) - bit
        found[:] = 0
        own = label[label_start[index] : label_start[index + 1]]
        for start in range(0, blocks, GROUP):
            size = min(GROUP, blocks - start)
            for block in range(size):
                source = planes.ctypes.data + (start + block) * block_bytes
                target = distance.ctypes.data + block * len(digits) * LANE_BYTES
                add_planes(source, flips.ctypes.data, steps, target, digits)  # type: ignore[call-arg]
            lanes = slice(start * LANES, (start + size) * LANES)
            share_labels(label_planes[:, lanes], own, exists[lanes], shared[:, : size * LANES])
            for grade in range(0, grades, 2):
                masks = shared[grade].ctypes.data, shared[grade + 1].ctypes.data
                rows = found[grade].ctypes.data, found[grade + 1].ctypes.data
                count_levels(distance.ctypes.data, masks, size, levels, rows, digits)  # type: ignore[call-arg]
        for level in range(totals.shape[1]):
            for grade in range(grades - 1):
                totals[index, level, grade] += np.int64(found[grade, level] - found[grade + 1, level])
            totals[index, level, grades - 1] += np.int64(found[grades - 1, level])


@njit(nogil=True, cache=True)
def share_labels(label_planes: np.ndarray, own: np.ndarray, exists: np.ndarray, shared: np.ndarray) -> None:
    """shared[g]: the items that share at least g of the query's labels; the last g means "or more"."""
    shared[0] = exists
    shared[1:] = 0
    for number in range(len(own)):
        carriers = label_planes[own[number]]
        for grade in range(min(number + 1, shared.shape[0] - 1), 0, -1):
            above, below = shared[grade], shared[grade - 1]
            for i in range(len(carriers)):
                above[i] |= below[i] & carriers[i]
