"""Real-valued vectors ranked by their cosine, and counted as codes are: what making them binary has cost.

Each distinct cosine of a query is a level of its own, and equal ones are ties, so that `metrics.score_counts` reads the
same scores off these counts under the same conventions. There is no Hamming radius: what is said of one is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmark.arrays import as_array
from benchmark.errors import UsageError
from benchmark.evaluation.counting import Counts
from benchmark.evaluation.metrics import Scores, StableOrder
from benchmark.evaluation.ties import CHUNK, Crossing, Levels
from benchmark.wording import counted

PAIRS = 2**24  # of a query and an item, at a time
ROWS = 8192  # of the database, at a time
STEPS = 2**23  # of the cosine from 0 to 1


@dataclass(frozen=True, eq=False)
class CosineCounts(Counts):
    """The items of every query by falling cosine, ties in the order of the database. `counts` has one level only."""

    relevant_places: np.ndarray = field(kw_only=True)  # (queries, items), packed: whether a place is relevant
    level_starts: np.ndarray = field(kw_only=True)  # the same: whether its cosine is below that before it

    def levels(self) -> Levels:
        return CosineLevels(self)

    def places(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """(relevant, starts) of some queries, (queries, items) bool."""
        size = self.database_size
        both = (self.relevant_places, self.level_starts)
        relevant, starts = (np.unpackbits(part[first:last], axis=1, count=size).astype(bool) for part in both)
        return relevant, starts


class CosineLevels(Levels):
    """Levels that are made some queries at a time: all together they may exceed the memory."""

    def __init__(self, counts: CosineCounts) -> None:
        super().__init__(counts.items, counts.relevant)
        self._counts = counts

    def chunks(self) -> Iterator[Levels]:
        size = max(1, CHUNK // self._counts.database_size)
        for first in range(0, len(self), size):
            yield _levels(*self._counts.places(first, first + size))

    def at(self, cut_offs: np.ndarray) -> Crossing:
        return Crossing.joined([chunk.at(cut_offs) for chunk in self.chunks()])


def _levels(relevant: np.ndarray, starts: np.ndarray) -> Levels:
    """Places of a ranking, (queries, items), as levels."""
    level = starts.cumsum(axis=1) - 1
    shape = len(level), int(level.max()) + 1
    flat = (level + shape[1] * np.arange(len(level))[:, None]).ravel()
    items = np.bincount(flat, minlength=shape[0] * shape[1])
    hits = np.bincount(flat[relevant.ravel()], minlength=shape[0] * shape[1])
    return Levels(items.reshape(shape), hits.reshape(shape))


def count_vectors(query: Any, database: Any, query_labels: np.ndarray, database_labels: np.ndarray) -> CosineCounts:
    """Rank all items for every query by cosine; a vector of length 0 has cosine 0 with all.

    query, database: (n, d) finite numbers; query_labels, database_labels: multi-hot, of the same classes. Cosines are
    whole multiples of 1e-7 or so: how a product is rounded depends on a row's place, and must not part equal vectors.
    """
    rows = [_checked(vectors, name) for vectors, name in ((query, "query"), (database, "database"))]
    if rows[0].shape[1] != rows[1].shape[1]:
        told = f"{counted(rows[1].shape[1], 'column')}, expected {rows[0].shape[1]}"
        raise UsageError(f"database vectors: {told} as the queries")
    hot = [np.asarray(labels, bool) for labels in (query_labels, database_labels)]
    if [len(labels) for labels in hot] != [len(part) for part in rows]:
        raise UsageError(f"labels: {len(hot[0])} and {len(hot[1])} rows, expected {len(rows[0])} and {len(rows[1])}")
    step = max(1, PAIRS // len(rows[1]))
    parts = [
        _ranked(rows[0][first : first + step], rows[1], _shared(hot[0][first : first + step], hot[1]))
        for first in range(0, len(rows[0]), step)
    ]
    relevant, starts, hits = (np.concatenate(part) for part in zip(*parts, strict=True))
    totals = np.stack([len(rows[1]) - hits, hits], axis=1)[:, None, :]
    return CosineCounts(totals, query_labels=hot[0], relevant_places=relevant, level_starts=starts)


def _checked(vectors: Any, name: str) -> np.ndarray:
    array = as_array(vectors, f"{name} vectors")
    if array.ndim != 2 or not array.size or array.dtype.kind not in "fiu":
        raise UsageError(f"{name} vectors: {array.dtype} of shape {array.shape}, expected numbers, (rows, columns)")
    if not np.isfinite(array).all():
        raise UsageError(f"{name} vectors: NaN or infinity, expected finite numbers")
    return array


def _shared(query_labels: np.ndarray, database_labels: np.ndarray) -> np.ndarray:
    return query_labels.astype(np.float32) @ database_labels.astype(np.float32).T > 0


def _ranked(query: np.ndarray, database: np.ndarray, relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Packed places and level starts of some queries, and how many items are relevant to each."""
    directions, cosine = _directions(query), np.empty((len(query), len(database)), np.int32)
    for first in range(0, len(database), ROWS):
        product = directions @ _directions(database[first : first + ROWS]).T
        cosine[:, first : first + ROWS] = np.rint(STEPS * product)
    starts = np.ones(cosine.shape, bool)
    for row, values in enumerate(cosine):
        order = np.argsort(-values, kind="stable")
        relevant[row] = relevant[row, order]
        starts[row, 1:] = np.diff(values[order]) != 0
    return np.packbits(relevant, axis=1), np.packbits(starts, axis=1), relevant.sum(axis=1)


def _directions(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1; those of length 0 stay 0."""
    rows = vectors.astype(np.float64)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


def cosine_in_database_order(scores: Scores, counts: CosineCounts) -> Scores:
    """The same scores with ties in the order of the database."""
    ranking = (counts.places(row, row + 1)[0][0] for row in range(len(counts.relevant_places)))
    return replace(scores, ties="stable", order=StableOrder.of(ranking, scores.k, scores.n))
