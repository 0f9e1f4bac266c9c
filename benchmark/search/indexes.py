"""The ways to search by name: by faiss where it is installed, by our own code elsewhere; the answers are equal."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Protocol

import numpy as np

from benchmark.errors import UsageError
from benchmark.search.exact import ExactScan
from benchmark.search.multi_index import MultiIndex
from benchmark.search.neighbours import Neighbours
from benchmark.search.table_lookup import TableLookup

KINDS = ("scan", "lookup", "multi")


class Index(Protocol):
    """A database made ready for one query after the other; queries are packed codes."""

    bits: int

    def __len__(self) -> int: ...

    @property
    def bytes(self) -> int:
        """What it holds in memory."""
        ...

    def top(self, query: np.ndarray, n: int) -> Neighbours: ...

    def within(self, query: np.ndarray, radius: int) -> Neighbours: ...


Opened = Callable[[np.ndarray, int], Index]


def open_index(packed: np.ndarray, bits: int, kind: str = "scan", faiss: bool | None = None) -> Index:
    """An index of packed codes. `faiss`: whether to use it; None means where it is installed."""
    if kind not in KINDS:
        raise UsageError(f"search: no index '{kind}'; there are {', '.join(KINDS)}")
    if faiss is None:
        faiss = importlib.util.find_spec("faiss") is not None
    if not faiss:
        ours: dict[str, Opened] = {"scan": ExactScan, "lookup": TableLookup, "multi": MultiIndex}
        return ours[kind](packed, bits)
    from benchmark.search.faiss_indexes import FaissLookup, FaissMulti, FaissScan

    theirs: dict[str, Opened] = {"scan": FaissScan, "lookup": FaissLookup, "multi": FaissMulti}
    return theirs[kind](packed, bits)
