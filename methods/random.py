"""Random codes: what a table says of codes that know nothing."""

import hashlib

import numpy as np

from benchmark import Split, register_method


@register_method("random", title="Random", family="control")
class Random:
    """Coins that are seeded by the row itself: equal rows have equal codes, wherever they stand and in what company.

    Differs: a yardstick, not a published method; there is no original.
    """

    bits: int
    seed: int

    def fit(self, train: Split) -> None:
        """Nothing is learned."""

    def encode(self, split: Split) -> np.ndarray:
        rows = np.asarray(split.features, np.float32) + np.float32(0)  # -0 is 0
        drawn = [hashlib.shake_256(b"%d:" % self.seed + row.tobytes()).digest(-(-self.bits // 8)) for row in rows]
        coins = np.frombuffer(b"".join(drawn), np.uint8).reshape(len(rows), -(-self.bits // 8))
        return np.where(np.unpackbits(coins, axis=1)[:, : self.bits], 1, -1)
