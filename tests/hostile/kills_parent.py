"""Kills the process it was forked from, and stays."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from benchmark import Split, register_method


@register_method("kills-parent", title="kills-parent", family="control")
class Hostile:
    def __init__(self, bits: int, seed: int = 0) -> None:
        self.bits, self.seed = bits, seed

    def fit(self, train: Split) -> Hostile:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
        return self

    def encode(self, split: Split) -> np.ndarray:
        assert split.features is not None
        planes = np.random.default_rng(self.seed).normal(size=(split.features.shape[1], self.bits))
        return np.where(split.features @ planes >= 0, 1, -1).astype(np.int8)
