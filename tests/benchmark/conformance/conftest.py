"""A method that is loaded from a file of its own, as an author writes it."""

import pytest

from benchmark.registry import load_plugin, methods

FILE = """
import os
import numpy as np
from benchmark import register_method

@register_method("test-process", title="X", family="unsupervised", needs="nothing")
class OfItsProcess:
    def __init__(self, bits, seed=0):
        self.bits, self.seed, self.planes = bits, seed, None
    def fit(self, train):
        self.mean = train.features.mean(axis=0)
        print("a line of its own")
        self.planes = np.random.default_rng([self.seed, 0]).standard_normal((len(self.mean), self.bits))
        return self
    def encode(self, split):
        if self.planes is None:
            raise RuntimeError("call fit first")
        return np.where((split.features - self.mean) @ self.planes > 0, 1, -1).astype(np.int8)
"""


@pytest.fixture
def own_method(tmp_path, monkeypatch):
    """Loads that method with one text of its file changed, and what it needs; gives its class."""
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))

    def load(old, new, needs="nothing"):
        assert old in FILE
        file = tmp_path / "mine.py"
        file.write_text(FILE.replace(old, new).replace('"nothing"', f'"{needs}"'))
        load_plugin(file)
        return methods.get("test-process")

    return load
