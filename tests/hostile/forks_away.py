"""Leaves a grandchild with a session of its own and no open files behind."""

from __future__ import annotations

import os

import numpy as np

from benchmark import Split, register_method


@register_method("forks-away", title="forks-away", family="control")
class Hostile:
    def __init__(self, bits: int, seed: int = 0) -> None:
        self.bits, self.seed = bits, seed

    def fit(self, train: Split) -> Hostile:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 256)
                os.execvp("sleep", ["sleep", "86401"])
            os._exit(0)
        os.wait()
        return self

    def encode(self, split: Split) -> np.ndarray:
        assert split.features is not None
        planes = np.random.default_rng(self.seed).normal(size=(split.features.shape[1], self.bits))
        return np.where(split.features @ planes >= 0, 1, -1).astype(np.int8)
