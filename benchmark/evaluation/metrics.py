"""Counts in, scores out: MAP@k, precision-recall, P@H<=r, P@N and the rest, ties handled exactly.

Hamming distances tie massively. A *level* is one distance of one query; items in it have no order, so each score is
the exact expectation over all orders (`ties="expected"`), or its bound over them ("best", "worst"), or the order of
the database ("stable", which needs the codes: see `evaluate`). Counting lives in `evaluator`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from benchmark.contracts import as_multi_hot
from benchmark.errors import UsageError
from benchmark.evaluation.counting import Counts, count, ranked_relevance
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
    **counting: Any,
) -> Scores:
    """Score codes against labels: `count`, then `score_counts`. `counting` goes to `count`."""
    if ties == "stable" and database_labels is None:
        raise UsageError('ties: "stable" ranks the whole database and cannot do so in shards; give arrays or files')
    counts = count(query_codes, database_codes, query_labels, database_labels, **counting)
    if ties != "stable":
        return score_counts(counts, k, ties=ties, denominator=denominator, empty=empty, n=n)
    scores = score_counts(counts, k, denominator=denominator, empty=empty, n=n)
    depth = max(scores.k, int(scores.n.max()))
    given = {name: counting[name] for name in ("bits", "classes") if name in counting}
    ranking = ranked_relevance(query_codes, database_codes, query_labels, database_labels, depth, **given)
    return replace(scores, ties=ties, order=StableOrder.of(ranking, scores.k, scores.n))


def score_counts(
    counts: Counts,
    k: int | None = None,
    *,
    ties: Ties = "expected",
    denominator: Denominator = "hits",
    empty: Empty = "zero",
    n: Sequence[int] | None = None,
) -> Scores:
    """Scores under named conventions.

    k: cut-off of AP; None, or more than the database holds, means all of it.
    denominator: of AP@k: "hits" (relevant found in the top k, the literature's), "min_k_relevant" (the lesser of k
    and all relevant) or "relevant" (all relevant).
    empty: a query without any relevant item in the database is skipped (nan in `ap`), one without any in its top k
    counts 0 ("zero"); "skip" leaves out both, the second where no tie order has a hit; "zero_all" counts both as 0.
    n: the N of P@N, default 100 to 1000; values above the database size become that size.
    """
    _check_choice("ties", ties, Ties)
    _check_choice("denominator", denominator, Denominator)
    _check_choice("empty", empty, Empty)
    if ties == "stable":
        raise UsageError('ties: "stable" needs the order of the database; call evaluate(..., ties="stable")')
    size = counts.database_size
    if not size:
        raise UsageError("database codes: no rows, expected at least one item to score against")
    if k is not None and k < 1:
        raise UsageError(f"k: {k}, expected 1 or more, or None for the whole database")
    return Scores(counts, min(k or size, size), ties, denominator, empty, _cut_offs(n, size))


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


def _check_choice(name: str, value: str, kind: Any) -> None:
    if value not in get_args(kind):
        raise UsageError(f"{name}: {value!r}, expected one of {', '.join(map(repr, get_args(kind)))}")


def _cut_offs(n: Sequence[int] | None, size: int) -> np.ndarray:
    wanted = np.asarray(DEFAULT_N if n is None else n, np.int64)
    if wanted.ndim != 1 or not wanted.size or wanted.min() < 1:
        raise UsageError(f"n: {n}, expected a list of cut-offs of 1 or more")
    return np.unique(np.minimum(wanted, size))


@dataclass(frozen=True, eq=False)
class Scores:
    """Every metric of one counting pass, computed when asked for.

    Means of AP and recall run over the queries that have a relevant item (but see `empty`), means of precision over
    all queries. With no such query at all they are nan, and `queries` is 0.
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
        return Levels(self.counts.items, self.counts.relevant)

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
    def empty_ball_share(self) -> float:
        """Share of queries with no item within H<=2."""
        return float(self.empty_balls_at_radius[min(BALL, self.counts.bits)])

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


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def _mean_rows(hits: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Mean recall over the queries that have something to recall."""
    has = total > 0
    if not has.any():
        return np.full(hits.shape[1], np.nan)
    return (hits[has] / total[has, None]).mean(axis=0)


# --- macro scores --------------------------------------------------------------------------------------------------


def class_map(ap: np.ndarray, query_labels: Any) -> np.ndarray:
    """Mean of `ap` over the queries of each class, nan for a class without; a query counts in each of its classes."""
    member = as_multi_hot(query_labels) & np.isfinite(ap)[:, None]
    size = member.sum(axis=0)
    total = np.where(member, np.nan_to_num(ap)[:, None], 0.0).sum(axis=0)
    return np.where(size > 0, total / np.maximum(size, 1), np.nan)


def group_map(ap: np.ndarray, query_labels: Any, groups: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Macro MAP per group of classes (`{"head": [3, 7], ...}`): the mean of the group's class MAPs."""
    per_class = class_map(ap, query_labels)
    return {name: _mean(per_class[np.asarray(members, np.int64)]) for name, members in groups.items()}


def chance_map(query_labels: Any, database_labels: Any, k: int | None = None, **conventions: Any) -> float:
    """MAP@k of a random ranking: everything at one distance, so exact in closed form."""
    queries, database = len(np.asarray(query_labels)), len(np.asarray(database_labels))
    same = count(np.ones((queries, 1)), np.ones((database, 1)), query_labels, database_labels)
    return score_counts(same, k, **conventions).map
