"""The counting pass: codes and labels in, counts per query, Hamming distance and relevance out.

Everything a retrieval benchmark reports is a function of these counts (see `metrics`). They are integers and
additive over the database, so that one array, a stream of shards and a cluster give the same numbers exactly.
The numpy path below is the reference; `kernel` holds the compiled one, `queries` and `shards` the ways to give both
sides.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np

from benchmark.errors import UsageError
from benchmark.evaluation.codes import words
from benchmark.evaluation.queries import Queries, read_queries
from benchmark.evaluation.shards import Layout, Shard, Tile, shards_of
from benchmark.evaluation.ties import Levels

EVALUATOR_VERSION = 1
KERNEL_PAIRS = 5 * 10**7  # from this many on the compiled kernel pays for its start

Kernel = Literal["numpy", "numba"]


@dataclass(frozen=True, eq=False)
class Counts:
    """`counts[query, distance, g]`: database items at that distance that are not relevant (g = 0) or relevant (1).

    Counted with `graded=True`, g is the number of labels shared. `a + b` is the count over both databases. Scores are
    read off by `metrics.score_counts`; `query_labels` are kept for scores per class.
    """

    counts: np.ndarray
    graded: bool = False
    query_labels: np.ndarray | None = None  # (queries, classes) bool

    @property
    def bits(self) -> int:
        """0 where no codes were compared but vectors."""
        return self.counts.shape[1] - 1

    def levels(self) -> Levels:
        """What scores are computed from."""
        return Levels(self.items, self.relevant)

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

    def without_own(self) -> Counts:
        """Where every query stands in the database once: without that entry of its own, at distance 0."""
        if self.query_labels is None:
            raise UsageError("counts: no labels of queries, so that their own entries cannot be told")
        shared = self.query_labels.sum(axis=1)
        counts = self.counts.copy()
        counts[np.arange(len(counts)), 0, shared if self.graded else np.minimum(shared, 1)] -= 1
        return replace(self, counts=counts)

    def __add__(self, other: Counts) -> Counts:
        if self.counts.shape != other.counts.shape or self.graded != other.graded:
            raise UsageError(
                f"counts: shapes {self.counts.shape} and {other.counts.shape} cannot be added; "
                "expected the same queries, bits and grades"
            )
        return replace(self, counts=self.counts + other.counts)


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

    Relevant means: shares at least one label. Arrays may be numpy arrays, lists, or tensors of any type, device and
    graph. Codes are (n, bits) over {-1, +1} or {0, 1}. Labels are class numbers (n,) or (n, 1), -1 meaning unlabelled,
    lists of class numbers per row, or multi-hot (n, classes): see `as_multi_hot` for how each form is told apart.
    The database may also be paths of .npy files (read tile by tile), or an iterable of shards, each a pair (codes,
    labels) of any of those; then `database_labels` stays None.

    bits: where given, codes may be packed, `np.packbits(codes > 0, axis=1)`.
    classes: how many there are; where given (and more than 8), multi-hot labels may be packed in the same way.
    graded: count by the number of shared labels, which NDCG and ACG need.
    kernel: "numpy" or "numba"; None chooses by the number of pairs. threads: of the latter; None means all cores.
    client: a Dask client, whose workers then count the shards.
    """
    _check_options(bits, classes, kernel, threads)
    shards = shards_of(database_codes, database_labels)
    head = [shard for _, shard in zip(range(2), shards, strict=False)]
    queries = read_queries(query_codes, query_labels, bits, classes, head[0] if head else None, graded)
    if client is not None:
        totals = _count_on(client, queries, head, shards, kernel)
    else:
        totals = count_shards(queries, chain(head, shards), kernel, threads)
    return Counts(totals, graded, queries.labels)


def _check_options(bits: int | None, classes: int | None, kernel: str | None, threads: int | None) -> None:
    if kernel not in (None, *get_args(Kernel)):
        raise UsageError(f"kernel: {kernel!r}, expected 'numpy', 'numba' or None")
    for name, value in (("bits", bits), ("classes", classes), ("threads", threads)):
        if value is not None and not (isinstance(value, (int, np.integer)) and value >= 1):
            raise UsageError(f"{name}: {value!r}, expected a whole number of 1 or more, or None")


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
    queries = read_queries(query_codes, query_labels, bits, classes, shard, False)
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
