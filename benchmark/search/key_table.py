"""A table from keys of at most 64 bits to the rows that have them, and the keys at a distance from a key."""

from __future__ import annotations

import functools

import numpy as np

ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: the product's upper bits are well mixed


class KeyTable:
    """Buckets of rows: bucket b holds rows `offsets[b]` to `offsets[b + 1]` of `rows`, in rising order.

    There are about as many buckets as rows. Short keys are their own buckets; longer ones are mixed, and kept to tell
    those apart that share a bucket.
    """

    def __init__(self, keys: np.ndarray, key_bits: int) -> None:
        self.key_bits = key_bits
        self.bucket_bits = min(key_bits, max(1, len(keys).bit_length()))
        bucket = self._buckets(keys)
        order = np.argsort(bucket, kind="stable")
        self.rows = order.astype(np.uint32)
        counts = np.bincount(bucket, minlength=1 << self.bucket_bits)
        self.offsets = np.concatenate([[0], counts.cumsum()]).astype(np.uint32)
        self.keys = None if self.bucket_bits == key_bits else keys[order]

    @property
    def bytes(self) -> int:
        return self.rows.nbytes + self.offsets.nbytes + (0 if self.keys is None else self.keys.nbytes)

    def find(self, keys: np.ndarray) -> np.ndarray:
        """All rows that have one of these keys."""
        bucket = self._buckets(keys)
        start = self.offsets[bucket].astype(np.int64)
        sizes = self.offsets[bucket + 1] - start
        full = np.flatnonzero(sizes)
        start, sizes = start[full], sizes[full]
        ends = sizes.cumsum()
        total = int(ends[-1]) if len(ends) else 0
        places = np.arange(total) + np.repeat(start - ends + sizes, sizes)
        if self.keys is not None:
            places = places[self.keys[places] == np.repeat(keys[full], sizes)]
        return self.rows[places]

    def _buckets(self, keys: np.ndarray) -> np.ndarray:
        if self.bucket_bits == self.key_bits:
            return keys.astype(np.int64)
        return ((keys * ODD) >> np.uint64(64 - self.bucket_bits)).astype(np.int64)


def substring_keys(packed: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Bits `start` to `stop` of packed codes, at most 64, as whole numbers; the last bit is the lowest."""
    keys = np.zeros(len(packed), np.uint64)
    for byte in range(start // 8, -(-stop // 8)):
        beyond = max(0, 8 * byte + 8 - stop)  # bits of the last byte that are not wanted
        keys = keys << np.uint64(8 - beyond) | packed[:, byte].astype(np.uint64) >> np.uint64(beyond)
    return keys & np.uint64((1 << (stop - start)) - 1)


@functools.lru_cache(maxsize=256)
def flips(bits: int, distance: int) -> np.ndarray:
    """Every number of `bits` bits of which `distance` are 1: XORed to a key, all keys at that distance."""
    if distance == 0:
        return np.zeros(1, np.uint64)
    if distance > bits:
        return np.empty(0, np.uint64)
    highest = np.uint64(1 << (bits - 1))
    return np.concatenate([flips(bits - 1, distance), flips(bits - 1, distance - 1) | highest])
