"""A cache of each test's own, and a clock whose grain does not matter."""

import pytest

from benchmark.data import hashing, image_index


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def settled(monkeypatch):
    """Files made a moment ago count as old: what is remembered of them is trusted."""
    for module in (hashing, image_index):
        monkeypatch.setattr(module, "SETTLED", -(10**18))
