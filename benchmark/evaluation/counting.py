"""The counting pass: codes and labels in, counts per query, Hamming distance and relevance out.

Everything a retrieval benchmark reports is a function of these counts (see `metrics`). They are integers and
additive over the database, so that one array, a stream of shards and a cluster give the same numbers exactly.
The numpy path below is the reference; `kernel` holds the compiled one, `shards` the ways to give a database.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from benchmark.contracts import as_multi_hot
from benchmark.errors import UsageError
from benchmark.evaluation.codes import pack_any, words
from benchmark.evaluation.shards import Layout, Shard, Tile, shards_of

if TYPE_CHECKING:
    from benchmark.evaluation.metrics import Scores

EVALUATOR_VERSION = 1
KERNEL_PAIRS = 5 * 10**7  # from this many on the compiled kernel pays for its start

Kernel = Literal["numpy", "numba"]


@dataclass(frozen=True, eq=False)
class Counts:
    """`counts[query, distance, g]`: database items at that distance that are not relevant (g = 0) or relevant (1).

    Counted with `graded=True`, g is the number of labels shared. `a + b` is the count over both databases.
    """

    counts: np.ndarray
    graded: bool = False

    @property
    def bits(self) -> int:
        return self.counts.shape[1] - 1

    @property
    def items(self) -> np.ndarray:
        """[query, distance]: all items."""
        return self.counts[:, :, 0] + self.relevant

    @property
    def relevant(self) -> np.ndarray:
        """[query, distance]: items that share at least one label."""
        if self.counts.shape[2] == 2:
            return np.ascontiguousarray(self.counts[:, :, 1])
        return self.counts[:, :, 1:].sum(axis=2)

    @property
    def database_size(self) -> int:
        return int(self.counts[0].sum())

    def __add__(self, other: Counts) -> Counts:
        if self.counts.shape != other.counts.shape or self.graded != other.graded:
            raise UsageError(
                f"counts: shapes {self.counts.shape} and {other.counts.shape} cannot be added; "
                "expected the same queries, bits and grades"
            )
        return Counts(self.counts + other.counts, self.graded)

    def score(self, k: int | None = None, **conventions: Any) -> Scores:
        """The metrics read off these counts; see `metrics.score_counts` for the conventions."""
        from benchmark.evaluation.metrics import score_counts  # metrics is the later room

        return score_counts(self, k, **conventions)


@dataclass(frozen=True, eq=False)
class Queries:
    """The query side, ready to be counted against any part of a database laid out as told."""

    packed: np.ndarray  # (q, bytes) uint8
    labels: np.ndarray  # (q, classes) bool
    grades: int  # 2, or 1 + the most labels a query has
    layout: Layout

    @property
    def bits(self) -> int:
        return self.layout.bits

    def empty_counts(self) -> np.ndarray:
        return np.zeros((len(self.packed), self.bits + 1, self.grades), np.int64)


def count(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    bits: int | None = None,
    classes: int | None = None,
    graded: bool = False,
    kernel: Kernel | None = None,
    threads: int | None = None,
    client: Any = None,
) -> Counts:
    """Count database items by Hamming distance and relevance for every query.

    Codes are (n, bits) over {-1, +1} or {0, 1}; where `bits` is given they may be packed (`codes.pack`). Labels are
    class numbers (n,), -1 meaning unlabelled, or multi-hot (n, classes); where `classes` is given the latter may be
    packed too. Relevant means: shares at least one label.

    The database may be arrays, paths of .npy files (read tile by tile), or an iterable of shards, each a pair (codes,
    labels) of those; then `database_labels` stays None. With a Dask `client` its workers count the shards.
    graded: count by the number of shared labels. kernel: "numpy" or "numba"; None chooses by the number of pairs.
    threads: of the compiled kernel; None means all cores.
    """
    if kernel not in (None, "numpy", "numba"):
        raise UsageError(f"kernel: {kernel!r}, expected 'numpy', 'numba' or None")
    shards = shards_of(database_codes, database_labels)
    head = [shard for _, shard in zip(range(2), shards, strict=False)]
    queries = _queries(query_codes, query_labels, bits, classes, head[0] if head else None, graded)
    if client is not None:
        return Counts(_count_on(client, queries, head, shards, kernel), graded)
    return Counts(count_shards(queries, chain(head, shards), kernel, threads), graded)


def count_shards(
    queries: Queries, shards: Iterable[Shard], kernel: Kernel | None = None, threads: int | None = None
) -> np.ndarray:
    """The sum of the counts of all shards. Both kernels give the same integers, so the choice may change midway."""
    totals = queries.empty_counts()
    pairs = 0
    for shard in shards:
        pairs += len(queries.packed) * len(shard)
        add = _tile_counter(queries, kernel or ("numba" if pairs >= KERNEL_PAIRS else "numpy"), threads)
        for tile in queries.layout.tiles(shard):
            add(tile, totals)
    return totals


def _queries(
    codes: Any, labels: Any, bits: int | None, classes: int | None, example: Shard | None, graded: bool
) -> Queries:
    """Check the query side; `example` tells the number of classes where query labels are class numbers."""
    packed, width = pack_any(codes, bits, "query codes")
    if not len(packed):
        raise UsageError("query codes: no rows, expected at least one query")
    known = classes
    if known is None and np.ndim(labels) == 1 and example is not None:
        known = example.classes
    hot = _multi_hot(labels, known)
    if len(hot) != len(packed):
        raise UsageError(f"query labels: {len(hot)} rows, expected {len(packed)} as the query codes have")
    most = int(hot.sum(axis=1).max(initial=0))
    layout = Layout(
        bits=width,
        classes=hot.shape[1],
        packed_codes=bits is not None,
        packed_labels=classes is not None,
        other_classes=classes is None and np.ndim(labels) == 1,
    )
    return Queries(packed, hot, max(2, most + 1) if graded else 2, layout)


def _multi_hot(labels: Any, classes: int | None) -> np.ndarray:
    """Query labels as multi-hot bool, unpacked where they come packed."""
    array = np.asarray(labels)
    if classes is not None and array.dtype == np.uint8 and array.shape[1:] == (-(-classes // 8),) != (classes,):
        return np.unpackbits(array, axis=1, count=classes).astype(bool)
    try:
        hot = as_multi_hot(array, classes)
    except UsageError as error:
        raise UsageError(f"query {error}") from error
    return hot if hot.shape[1] else np.zeros((len(hot), 1), bool)  # class numbers, all of them "unlabelled"


# --- kernels -------------------------------------------------------------------------------------------------------


def _tile_counter(queries: Queries, kernel: Kernel, threads: int | None) -> Callable[[Tile, np.ndarray], None]:
    compiled = compiled_kernel() if kernel == "numba" else None
    if compiled is not None:
        return compiled(queries, threads).add
    return lambda tile, totals: count_tile_numpy(queries, tile, totals)


@cache
def compiled_kernel() -> Any:
    """`kernel.KernelQueries`, tried once on a small case, or None (with a warning) where numba cannot compile."""
    try:
        from benchmark.evaluation.kernel import KernelQueries

        one = np.zeros((1, 1), np.uint8)
        trial = Queries(one, np.ones((1, 1), bool), 2, Layout(1, 1, True, True, False))
        KernelQueries(trial, 1).add(Tile(one, one), trial.empty_counts())
    except Exception as error:  # numba fails in many ways: missing, too old for this Python, no place for its cache
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        warnings.warn(f"counting in numpy, some 15 times slower: numba does not work here ({reason})", stacklevel=2)
        return None
    return KernelQueries


def count_tile_numpy(queries: Queries, tile: Tile, totals: np.ndarray) -> None:
    """Add the counts of one tile to `totals`, one query at a time. Slow, plain, and the oracle of the kernel."""
    query_words, tile_words = words(queries.packed, queries.bits), words(tile.packed, queries.bits)
    columns = _columns(tile.labels, queries.layout.classes)
    cells = (queries.bits + 1) * queries.grades
    for index in range(len(queries.packed)):
        # int64, which bincount wants anyway: 2 * distance + relevant leaves uint8 at 128 bits.
        key = queries.grades * _distances(tile_words, query_words[:, index]).astype(np.int64)
        shared = columns[queries.labels[index]]
        key += shared.any(axis=0) if queries.grades == 2 else shared.sum(axis=0)
        totals[index] += np.bincount(key, minlength=cells).reshape(queries.bits + 1, queries.grades)


def _columns(packed_labels: np.ndarray, classes: int) -> np.ndarray:
    """Packed labels as (classes, n) bool."""
    return np.ascontiguousarray(np.unpackbits(packed_labels, axis=1, count=classes).T).astype(bool)


def _distances(database_words: np.ndarray, query_words: np.ndarray) -> np.ndarray:
    """Hamming distances of one query to all items."""
    distance = np.zeros(database_words.shape[1], np.uint16)
    for column, own in zip(database_words, query_words, strict=True):
        distance += np.bitwise_count(column ^ own)
    return distance


# --- a cluster, and an order ---------------------------------------------------------------------------------------


def _count_on(
    client: Any, queries: Queries, head: list[Shard], rest: Iterator[Shard], kernel: Kernel | None
) -> np.ndarray:
    """Counts summed over a Dask cluster: queries go to every worker once, a few shards are under way at a time."""
    from distributed import as_completed

    workers = max(1, len(client.nthreads()))
    shared = client.scatter(queries, broadcast=True, hash=False)
    parts = head[0].split(workers) if len(head) == 1 else head
    totals = queries.empty_counts()
    running = as_completed()
    for shard in chain(parts, rest):
        data = client.scatter(shard, hash=False)
        running.add(client.submit(count_shards, shared, [data], kernel, 1, pure=False))
        if running.count() >= 2 * workers:
            totals += next(running).result()
    for future in running:
        totals += future.result()
    return totals


def ranked_relevance(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any,
    depth: int,
    bits: int | None = None,
    classes: int | None = None,
) -> Iterator[np.ndarray]:
    """For each query whether the items of its first `depth` places are relevant, ties in database order.

    Needs the whole database at hand, a few hundred bytes per item at most.
    """
    shard = next(shards_of(database_codes, database_labels))
    queries = _queries(query_codes, query_labels, bits, classes, shard, False)
    tiles = list(queries.layout.tiles(shard))
    columns = _columns(np.concatenate([tile.labels for tile in tiles]), queries.layout.classes)
    database_words = words(np.concatenate([tile.packed for tile in tiles]), queries.bits)
    query_words = words(queries.packed, queries.bits)
    for index in range(len(queries.packed)):
        distance = _distances(database_words, query_words[:, index])
        within = np.bincount(distance).cumsum()
        near = np.flatnonzero(distance <= np.searchsorted(within, min(depth, len(distance))))
        order = near[np.argsort(distance[near], kind="stable")[:depth]]
        yield columns[queries.labels[index]][:, order].any(axis=0)
