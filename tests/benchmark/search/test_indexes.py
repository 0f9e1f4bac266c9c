"""An index by its name, by faiss or without it."""

import numpy as np
import pytest

from benchmark.errors import UsageError
from benchmark.search import KINDS, ExactScan, indexes, open_index

CODES = np.random.default_rng(0).integers(0, 256, (50, 4), np.uint8)


@pytest.mark.parametrize("kind", KINDS)
def test_without_faiss_our_own_index_answers(kind, monkeypatch):
    monkeypatch.setattr(indexes.importlib.util, "find_spec", lambda name: None)
    index = open_index(CODES, 32, kind)
    assert type(index).__module__.startswith("benchmark.search.")
    assert "Faiss" not in type(index).__name__
    assert index.top(CODES[3], 4).rows.tolist() == ExactScan(CODES, 32).top(CODES[3], 4).rows.tolist()


def test_with_faiss_installed_it_is_used():
    pytest.importorskip("faiss", reason="faiss is optional")
    assert [type(open_index(CODES, 32, kind)).__name__ for kind in KINDS] == ["FaissScan", "FaissLookup", "FaissMulti"]


def test_an_unknown_kind_is_refused_by_name():
    with pytest.raises(UsageError, match="no index 'tree'; there are scan, lookup, multi"):
        open_index(CODES, 32, "tree")
