"""Counts in, scores out: MAP@k, precision-recall, P@H<=r, P@N and the rest, ties handled exactly.

Hamming distances tie massively. A *level* is one distance of one query; items in it have no order, so each score is
the exact expectation over all orders (`ties="expected"`), or its bound over them ("best", "worst"), or the order of
the database ("stable", which needs the codes: see `evaluate`). `Scores.to_dict` and `Scores.curves` are the one table
of metric names, that of records, of `score` and of reports. Counting lives in `counting`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from benchmark.arrays import as_array
from benchmark.errors import UsageError
from benchmark.evaluation.counting import Counts, Kernel, count, ranked_relevance
from benchmark.evaluation.ties import (
    Curve,
    Denominator,
    Levels,
    Ties,
    authors_curve,
    average_precision,
    discounted_gain,
    hits_at,
    mean_gain,
    precision_recall_curve,
)
from benchmark.wording import counted

Empty = Literal["zero", "skip", "zero_all"]

DEFAULT_N = tuple(range(100, 1001, 100))
BALL = 2  # the radius of the customary P@H<=2


def evaluate(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    k: int | None = None,
    *,
    ties: Ties = "expected",
    denominator: Denominator = "hits",
    empty: Empty = "zero",
    n: Sequence[int] | None = None,
    bits: int | None = None,
    classes: int | None = None,
    graded: bool = False,
    kernel: Kernel | None = None,
    threads: int | None = None,
    client: Any = None,
) -> Scores:
    """Score how well codes retrieve items that share a label with the query; nothing is sorted, ties are exact.

    query_codes, database_codes: (n, bits) over {-1, +1} or {0, 1}: arrays, lists, or tensors of any type, device and
        graph; with `bits`, packed ones. The database may also be the path of an .npy file, or an iterable of shards.
    query_labels, database_labels: class numbers, (n,) or a column (n, 1), -1 meaning unlabelled; lists of class
        numbers per row; or multi-hot (n, classes). How these are told apart is said at `as_multi_hot`: one column
        of numbers is class numbers, one column of bool is multi-hot. Leave out the latter where the database is an
        iterable of shards, pairs (codes, labels).
    k: cut-off of MAP@k, NDCG@k and ACG@k; None, or more than the database holds, means all of it.
    ties: of items at one distance: "expected", the exact mean over all their orders; "best" and "worst", the bounds
        over them; "stable", the order of the database, which needs all of it at hand.
    denominator: of AP@k: "hits", the relevant found in the top k (the literature's); "min_k_relevant", the lesser of
        k and all relevant; "relevant", all relevant.
    empty: a query without any relevant item in the database is skipped (nan in `ap`), one without any in its top k
        counts 0 ("zero"); "skip" leaves out both, the second where no tie order has a hit; "zero_all" counts both 0.
    n: the N of P@N and recall@N, default 100, 200, ..., 1000; values above the database size become that size.
    bits: codes may come packed, `np.packbits(codes > 0, axis=1)`, and have this many bits.
    classes: how many there are, where labels do not tell; more than 8, multi-hot labels may be packed likewise.
    graded: count by the number of shared labels, which `ndcg` and `acg` need.
    kernel: "numpy" or "numba"; None takes the compiled one where it pays. Both give the same integers.
    threads: of the compiled kernel; None means all cores.
    client: a Dask client, whose workers then count.
    """
    _check_conventions(k, ties, denominator, empty)
    if ties == "stable" and database_labels is None:
        raise UsageError('ties: "stable" ranks the whole database and cannot do so in shards; give arrays or files')
    arrays = query_codes, database_codes, query_labels, database_labels
    counts = count(*arrays, bits=bits, classes=classes, graded=graded, kernel=kernel, threads=threads, client=client)
    if ties != "stable":
        return score_counts(counts, k, ties=ties, denominator=denominator, empty=empty, n=n)
    scores = score_counts(counts, k, denominator=denominator, empty=empty, n=n)
    return in_database_order(scores, *arrays, bits=bits, classes=classes)


def score_counts(
    counts: Counts,
    k: int | None = None,
    *,
    ties: Ties = "expected",
    denominator: Denominator = "hits",
    empty: Empty = "zero",
    n: Sequence[int] | None = None,
) -> Scores:
    """Scores read off counts, under the conventions of `evaluate`; all but ties="stable", which needs the codes."""
    _check_conventions(k, ties, denominator, empty)
    if ties == "stable":
        raise UsageError('ties: "stable" needs the order of the database; call evaluate(..., ties="stable")')
    size = counts.database_size
    if not size:
        raise UsageError("database codes: no rows, expected at least one item to score against")
    return Scores(counts, min(int(k or size), size), ties, denominator, empty, _cut_offs(n, size))


def in_database_order(
    scores: Scores,
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any,
    bits: int | None = None,
    classes: int | None = None,
) -> Scores:
    """The same scores with ties in the order of the database, whose codes and labels must be those counted."""
    depth = max(scores.k, int(scores.n.max()))
    ranking = ranked_relevance(query_codes, database_codes, query_labels, database_labels, depth, bits, classes)
    return replace(scores, ties="stable", order=StableOrder.of(ranking, scores.k, scores.n))


@dataclass(frozen=True, eq=False)
class StableOrder:
    """What the ranking with ties in database order gives, per query."""

    precisions: np.ndarray  # sum of rel P(i) over the top k
    found: np.ndarray  # relevant in the top k
    hits: np.ndarray  # [queries, len(n)]: relevant in the first N
    k: int

    @classmethod
    def of(cls, ranking: Iterable[np.ndarray], k: int, n: np.ndarray) -> StableOrder:
        precisions, found, hits = [], [], []
        for relevance in ranking:
            running = relevance.cumsum()
            place = np.flatnonzero(relevance[:k])
            precisions.append((running[place] / (place + 1)).sum())
            found.append(len(place))
            hits.append(running[n - 1])
        return cls(np.array(precisions), np.array(found), np.array(hits, float), k)

    def ap(self, denominator: Denominator, total: np.ndarray) -> np.ndarray:
        bound = {"hits": self.found, "min_k_relevant": np.minimum(total, self.k), "relevant": total}[denominator]
        return self.precisions / np.maximum(bound, 1)


def _check_conventions(k: int | None, ties: Ties, denominator: Denominator, empty: Empty) -> None:
    for name, value, kind in (("ties", ties, Ties), ("denominator", denominator, Denominator), ("empty", empty, Empty)):
        if value not in get_args(kind):
            raise UsageError(f"{name}: {value!r}, expected one of {', '.join(map(repr, get_args(kind)))}")
    if k is not None and not (isinstance(k, (int, np.integer)) and k >= 1):
        raise UsageError(f"k: {k!r}, expected a whole number of 1 or more, or None for the whole database")


def _cut_offs(n: Sequence[int] | None, size: int) -> np.ndarray:
    wanted = as_array(DEFAULT_N if n is None else n, "n")
    if wanted.ndim != 1 or not wanted.size or wanted.dtype.kind not in "iu" or wanted.min() < 1:
        raise UsageError(f"n: {n}, expected a list of cut-offs, whole numbers of 1 or more")
    return np.unique(np.minimum(wanted, size)).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Every metric of one counting pass, computed when asked for.

    Means of AP and recall run over the queries that have a relevant item (but see `empty`), means of precision over
    all queries. With no such query at all they are nan, and `queries` is 0. `print(scores)` shows the single numbers
    with their conventions, `to_dict()` gives them, `curves()` the arrays.
    """

    counts: Counts
    k: int
    ties: Ties
    denominator: Denominator
    empty: Empty
    n: np.ndarray
    order: StableOrder | None = None  # what the database order gave; `ties="stable"` only

    @cached_property
    def _levels(self) -> Levels:
        return self.counts.levels()

    @property
    def _total(self) -> np.ndarray:
        return self._levels.hits[:, -1]

    @cached_property
    def ap(self) -> np.ndarray:
        """AP@k of each query, nan where the query is skipped."""
        if self.order is not None:
            return self._with_empty(self.order.ap(self.denominator, self._total), self.order.found > 0)
        values = average_precision(self._levels, self.k, self.ties, self.denominator)
        cut = self._levels.at(np.array([self.k]))
        return self._with_empty(values, (cut.hits_before + cut.relevant)[:, 0] > 0)

    def _with_empty(self, values: np.ndarray, can_hit: np.ndarray) -> np.ndarray:
        if self.empty == "zero_all":
            return values
        return np.where(self._total > 0 if self.empty == "zero" else can_hit, values, np.nan)

    @property
    def map(self) -> float:
        """MAP@k: the mean of `ap` over the queries not skipped."""
        return _mean(self.ap)

    @property
    def queries(self) -> int:
        """How many queries `map` is the mean of."""
        return int(np.isfinite(self.ap).sum())

    @property
    def skipped(self) -> int:
        return len(self.ap) - self.queries

    @cached_property
    def chance_map(self) -> float:
        """MAP@k of a random ranking, under the same denominator and rule for empty queries."""
        alike = Levels(self._levels.upto[:, -1:], self._total[:, None])
        values = average_precision(alike, self.k, "expected", self.denominator)
        return _mean(self._with_empty(values, self._total > 0))

    @cached_property
    def precision_recall(self) -> Curve:
        """(recall, precision) at recall 0, .01, ..., 1: see `precision_recall_curve`."""
        return precision_recall_curve(self._levels)

    @cached_property
    def precision_recall_authors(self) -> Curve:
        """The same after the DPH authors' script, whose empty balls drag the left end down: see `authors_curve`."""
        return authors_curve(self._levels)

    @cached_property
    def precision_at_radius(self) -> np.ndarray:
        """P@H<=r for r = 0..bits; an empty ball counts as 0."""
        return self._levels.precision.mean(axis=0)

    @cached_property
    def recall_at_radius(self) -> np.ndarray:
        """Recall within H<=r for r = 0..bits."""
        return _mean_rows(self._levels.hits, self._total)

    @cached_property
    def items_at_radius(self) -> np.ndarray:
        """Mean number of items within H<=r for r = 0..bits."""
        return self._levels.upto.mean(axis=0)

    @cached_property
    def empty_balls_at_radius(self) -> np.ndarray:
        """Share of queries with no item within H<=r, for r = 0..bits."""
        return (self._levels.upto == 0).mean(axis=0)

    @property
    def _ball(self) -> int:
        return min(BALL, self.counts.bits)

    @property
    def empty_ball_share(self) -> float:
        """Share of queries with no item within H<=2."""
        return float(self.empty_balls_at_radius[self._ball])

    @cached_property
    def _hits_at_n(self) -> np.ndarray:
        if self.order is not None:
            return self.order.hits
        return hits_at(self._levels, self.n, self.ties)

    @cached_property
    def precision_at_n(self) -> np.ndarray:
        """P@N for each N of `n`."""
        return (self._hits_at_n / self.n).mean(axis=0)

    @cached_property
    def recall_at_n(self) -> np.ndarray:
        """Share of the relevant items found in the first N, for each N of `n`."""
        return _mean_rows(self._hits_at_n, self._total)

    @cached_property
    def ndcg_per_query(self) -> np.ndarray:
        """NDCG@k by the number of shared labels, gain 2^shared - 1, expected over ties; nan where nothing is relevant.

        Needs counts made with `graded=True`, as does `acg`.
        """
        self._need_grades("NDCG")
        gains = 2.0 ** np.arange(self.counts.counts.shape[2]) - 1
        found, ideal = discounted_gain(self.counts.counts, self._levels, gains, self.k)
        return np.where(ideal > 0, found / np.where(ideal > 0, ideal, 1), np.nan)

    @property
    def ndcg(self) -> float:
        """NDCG@k, the mean over queries that have a relevant item."""
        return _mean(self.ndcg_per_query)

    @cached_property
    def acg(self) -> float:
        """ACG@k: the mean number of shared labels in the top k, over all queries."""
        self._need_grades("ACG")
        return float(mean_gain(self.counts.counts, self._levels, self.k).mean())

    def _need_grades(self, name: str) -> None:
        if not self.counts.graded:
            raise UsageError(f"{name}: needs counts by the number of shared labels; count with graded=True")

    @cached_property
    def class_map(self) -> np.ndarray:
        """MAP@k over the queries of each class, nan for a class without; a query counts in each of its classes."""
        if self.counts.query_labels is None:
            raise UsageError("class_map: these counts came without the queries' labels; count with them")
        member = self.counts.query_labels & np.isfinite(self.ap)[:, None]
        size = member.sum(axis=0)
        total = np.where(member, np.nan_to_num(self.ap)[:, None], 0.0).sum(axis=0)
        return np.where(size > 0, total / np.maximum(size, 1), np.nan)

    @property
    def macro_map(self) -> float:
        """The mean of the classes' MAP@k: what MAP@k is where queries are balanced over single classes."""
        return _mean(self.class_map)

    def group_map(self, groups: Mapping[str, Sequence[int]]) -> dict[str, float]:
        """Macro MAP@k per group of classes (`{"head": [3, 7], ...}`): the mean of the group's class MAPs."""
        return {name: _mean(self.class_map[np.asarray(members, np.int64)]) for name, members in groups.items()}

    # --- under the names of a record ---

    def to_dict(self) -> dict[str, float | int | str | None]:
        """The single numbers and the conventions they follow, as JSON can hold them; None where a number is nan, and
        for what is said of a Hamming radius where vectors were ranked."""
        found: dict[str, float | int | str | None] = {
            "map": self.map,
            "k": self.k,
            "ties": self.ties,
            "denominator": self.denominator,
            "empty": self.empty,
            "precision_at_radius_2": float(self.precision_at_radius[self._ball]) if self.counts.bits else None,
            "empty_ball_share": self.empty_ball_share if self.counts.bits else None,
            "chance_map": self.chance_map,
            "queries": self.queries,
            "skipped_queries": self.skipped,
        }
        if self.counts.graded:
            found |= {"ndcg": self.ndcg, "acg": self.acg}
        return {name: None if value != value else value for name, value in found.items()}

    def other_maps(self) -> dict[str, float]:
        """The same codes under other rules: MAP over the whole database, and the bounds of MAP@k over tie orders."""
        rules: dict[str, dict[str, Any]] = {
            "map_all": {"k": self.counts.database_size, "ties": "expected"},
            "map_best": {"ties": "best"},
            "map_worst": {"ties": "worst"},
        }
        return {name: replace(self, order=None, **rule).map for name, rule in rules.items()}

    def curves(self) -> dict[str, np.ndarray]:
        """AP per query and the points of every curve; those against a radius where codes were compared."""
        recall, precision = self.precision_recall
        names = ("precision_at_radius", "recall_at_radius", "items_at_radius") if self.counts.bits else ()
        return {
            "ap": self.ap,
            "recall": recall,
            "precision": precision,
            **{name: getattr(self, name) for name in names},
            "n": self.n,
            "precision_at_n": self.precision_at_n,
            "recall_at_n": self.recall_at_n,
        }

    def __repr__(self) -> str:
        """One line per number, each with its convention."""
        rule = f"ties: {self.ties}, denominator: {self.denominator}, empty: {self.empty}"
        asked = f"mean of {counted(self.queries, 'query', 'queries')}, {self.skipped} skipped"
        ball = self._ball
        rows = [
            (f"MAP@{self.k}", self.map, f"{rule}; {asked}"),
            (f"MAP@{self.k} by chance", self.chance_map, "a random ranking"),
        ]
        if self.counts.bits:
            rows.append((f"P@H<={ball}", float(self.precision_at_radius[ball]), "empty balls count 0"))
            rows.append(("empty balls", self.empty_ball_share, f"share of queries with no item in H<={ball}"))
        rows.append((f"P@{self.n[-1]}", float(self.precision_at_n[-1]), f"ties: {self.ties}; curves() has all N"))
        if self.counts.graded:
            rows.append((f"NDCG@{self.k}", self.ndcg, "gain 2^shared - 1, ties: expected"))
            rows.append((f"ACG@{self.k}", self.acg, "mean number of shared labels, ties: expected"))
        return "\n".join(f"{name:20} {value:.4f}  ({about})" for name, value, about in rows)


def map_name(k: int) -> str:
    """What a table calls the score of a data set whose cut-off is `k`; 0 means the whole database."""
    return f"MAP@{k or 'all'}"


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def _mean_rows(hits: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Mean recall over the queries that have something to recall."""
    has = total > 0
    if not has.any():
        return np.full(hits.shape[1], np.nan)
    return (hits[has] / total[has, None]).mean(axis=0)


def chance_map(query_labels: Any, database_labels: Any, k: int | None = None, **conventions: Any) -> float:
    """MAP@k of a random ranking: everything at one distance, so exact in closed form."""
    codes = np.ones((len(query_labels), 1)), np.ones((len(database_labels), 1))
    same = count(*codes, query_labels, database_labels)
    return score_counts(same, k, **conventions).map
