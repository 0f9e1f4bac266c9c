"""The counting pass: codes and labels in, counts per query, Hamming distance and relevance out.

Everything a retrieval benchmark reports is a function of these counts (see `metrics`). They are integers and
additive over the database, so that one array, a stream of shards and a cluster give the same numbers exactly.
The numpy path below is the reference; `kernel` holds the compiled one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark import codes as code_arrays
from benchmark.contracts import as_multi_hot
from benchmark.errors import UsageError

if TYPE_CHECKING:
    from benchmark.metrics import Scores

EVALUATOR_VERSION = 1
TILE = 65_536  # database items handled at a time: their bit planes stay in the second-level cache


@dataclass(frozen=True, eq=False)
class Counts:
    """`counts[query, distance, g]`: database items at that distance that are not relevant (g = 0) or relevant (1).

    Counted with `graded=True`, g is the number of labels shared. `a + b` is the count over both databases.
    """

    counts: np.ndarray

    @property
    def bits(self) -> int:
        return self.counts.shape[1] - 1

    @property
    def graded(self) -> bool:
        return self.counts.shape[2] > 2

    @property
    def items(self) -> np.ndarray:
        """[query, distance]: all items."""
        return self.counts.sum(axis=2)

    @property
    def relevant(self) -> np.ndarray:
        """[query, distance]: items that share at least one label."""
        return self.counts[:, :, 1:].sum(axis=2)

    @property
    def database_size(self) -> int:
        return int(self.counts[0].sum())

    def __add__(self, other: Counts) -> Counts:
        if self.counts.shape != other.counts.shape:
            raise UsageError(
                f"counts: shapes {self.counts.shape} and {other.counts.shape} cannot be added; "
                "expected the same queries, bits and grades"
            )
        return Counts(self.counts + other.counts)

    def score(self, k: int | None = None, **conventions: Any) -> Scores:
        """The metrics read off these counts; see `metrics.score_counts` for the conventions."""
        from benchmark.metrics import score_counts  # metrics is the later room

        return score_counts(self, k, **conventions)


@dataclass(frozen=True, eq=False)
class Queries:
    """The query side, ready to be counted against any part of a database."""

    packed: np.ndarray  # (q, bytes) uint8
    labels: np.ndarray  # (q, classes) bool
    bits: int
    grades: int  # 2, or 1 + the most labels a query has

    def empty_counts(self) -> np.ndarray:
        return np.zeros((len(self.packed), self.bits + 1, self.grades), np.int64)


@dataclass(frozen=True, eq=False)
class Tile:
    """Some database items: packed codes, and for each class the items that carry it."""

    packed: np.ndarray  # (n, bytes) uint8
    columns: np.ndarray  # (classes, n) bool


def count(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any,
    *,
    bits: int | None = None,
    graded: bool = False,
) -> Counts:
    """Count database items by Hamming distance and relevance for every query.

    Codes are (n, bits) over {-1, +1} or {0, 1}, or packed uint8 where `bits` is given; labels are class numbers
    (n,), -1 meaning unlabelled, or multi-hot (n, classes). Relevant means: shares at least one label.
    """
    queries = _queries(query_codes, query_labels, bits, graded, _width(database_labels))
    totals = queries.empty_counts()
    packed, width = code_arrays.pack_any(database_codes, bits, "database codes")
    if width != queries.bits:
        raise UsageError(f"database codes: {width} bits, expected {queries.bits} as the query codes have")
    columns = _label_columns(database_labels, len(packed), queries.labels.shape[1], np.ndim(query_labels) == 2)
    for start in range(0, len(packed), TILE):
        part = slice(start, start + TILE)
        count_tile_numpy(queries, Tile(packed[part], columns[:, part]), totals)
    return Counts(totals)


def ranked_relevance(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any,
    depth: int,
    bits: int | None = None,
) -> Iterator[np.ndarray]:
    """For each query whether the items of its first `depth` places are relevant, ties in database order."""
    queries = _queries(query_codes, query_labels, bits, False, _width(database_labels))
    packed, _ = code_arrays.pack_any(database_codes, bits, "database codes")
    columns = _label_columns(database_labels, len(packed), queries.labels.shape[1], np.ndim(query_labels) == 2)
    query_words = code_arrays.words(queries.packed, queries.bits)
    database_words = code_arrays.words(packed, queries.bits)
    for index in range(len(queries.packed)):
        distance = _distances(database_words, query_words[:, index])
        within = np.bincount(distance, minlength=1).cumsum()
        near = np.flatnonzero(distance <= np.searchsorted(within, min(depth, len(distance))))
        order = near[np.argsort(distance[near], kind="stable")[:depth]]
        yield columns[queries.labels[index]][:, order].any(axis=0)


def _distances(database_words: np.ndarray, query_word: np.ndarray) -> np.ndarray:
    """Hamming distances of one query to all items, uint16."""
    distance = np.zeros(database_words.shape[1], np.uint16)
    for column, own in zip(database_words, query_word, strict=True):
        distance += np.bitwise_count(column ^ own)
    return distance


def _width(labels: Any) -> int | None:
    """The number of classes of a multi-hot array; None for class numbers."""
    return np.shape(labels)[1] if np.ndim(labels) == 2 else None


def _queries(codes: Any, labels: Any, bits: int | None, graded: bool, classes: int | None) -> Queries:
    packed, width = code_arrays.pack_any(codes, bits, "query codes")
    if not len(packed):
        raise UsageError("query codes: no rows, expected at least one query")
    hot = as_multi_hot(labels, classes if np.ndim(labels) == 1 else None)
    if len(hot) != len(packed):
        raise UsageError(f"query labels: {len(hot)} rows, expected {len(packed)} as the query codes have")
    most = int(hot.sum(axis=1).max(initial=0))
    return Queries(packed, hot, width, max(2, most + 1) if graded else 2)


def _label_columns(labels: Any, rows: int, classes: int, all_classes: bool) -> np.ndarray:
    """Labels of the database as (classes, n) bool, over the classes that queries have.

    `all_classes`: there are no others, so that a higher class number is a mistake.
    """
    array = np.asarray(labels)
    if array.ndim == 1 and array.dtype.kind in "iu" and not all_classes:
        array = np.where(array < classes, array, -1)  # a class that no query has is relevant to none
    hot = as_multi_hot(array, classes)
    if len(hot) != rows:
        raise UsageError(f"database labels: {len(hot)} rows, expected {rows} as the database codes have")
    return np.ascontiguousarray(hot.T)


def count_tile_numpy(queries: Queries, tile: Tile, totals: np.ndarray) -> None:
    """Add the counts of one tile to `totals`, one query at a time. Slow, plain, and the oracle of the kernel."""
    query_words = code_arrays.words(queries.packed, queries.bits)
    tile_words = code_arrays.words(tile.packed, queries.bits)
    cells = (queries.bits + 1) * queries.grades
    key_type = np.uint16 if cells < 2**16 else np.uint32  # 2 * distance + relevant leaves uint8 at 128 bits
    for index in range(len(queries.packed)):
        key = _distances(tile_words, query_words[:, index]).astype(key_type)
        key *= queries.grades
        key += _grade(tile.columns, np.flatnonzero(queries.labels[index]), queries.grades)
        totals[index] += np.bincount(key, minlength=cells).reshape(queries.bits + 1, queries.grades)


def _grade(columns: np.ndarray, own: np.ndarray, grades: int) -> np.ndarray:
    """Per item: the number of shared labels, capped at 1 unless counted by grade."""
    kind = np.min_scalar_type(grades)
    if grades == 2:
        return columns[own].any(axis=0).astype(kind)
    return columns[own].sum(axis=0, dtype=kind)
