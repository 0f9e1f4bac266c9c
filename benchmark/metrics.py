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
from benchmark.evaluator import Counts, count, ranked_relevance

Ties = Literal["expected", "stable", "best", "worst"]
Denominator = Literal["hits", "min_k_relevant", "relevant"]
Empty = Literal["zero", "skip", "zero_all"]
Curve = tuple[np.ndarray, np.ndarray]

DEFAULT_N = tuple(range(100, 1001, 100))
RECALL_POINTS = 101
BALL = 2  # the radius of the customary P@H<=2


def evaluate(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any,
    k: int | None = None,
    *,
    ties: Ties = "expected",
    denominator: Denominator = "hits",
    empty: Empty = "zero",
    n: Sequence[int] | None = None,
    **counting: Any,
) -> Scores:
    """Score codes against labels: `count`, then `score_counts`. `counting` goes to `count`."""
    counts = count(query_codes, database_codes, query_labels, database_labels, **counting)
    if ties != "stable":
        return score_counts(counts, k, ties=ties, denominator=denominator, empty=empty, n=n)
    scores = score_counts(counts, k, denominator=denominator, empty=empty, n=n)
    depth = max(scores.k, int(scores.n.max()))
    ranking = ranked_relevance(query_codes, database_codes, query_labels, database_labels, depth, counting.get("bits"))
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
    def _items(self) -> np.ndarray:
        return self.counts.items

    @cached_property
    def _relevant(self) -> np.ndarray:
        return self.counts.relevant

    @cached_property
    def _total(self) -> np.ndarray:
        return self._relevant.sum(axis=1)

    @cached_property
    def ap(self) -> np.ndarray:
        """AP@k of each query, nan where the query is skipped."""
        if self.order is not None:
            return self._with_empty(self.order.ap(self.denominator, self._total), self.order.found > 0)
        values = average_precision(self._items, self._relevant, self.k, self.ties, self.denominator)
        reachable = self._items.cumsum(axis=1) - self._items < self.k
        return self._with_empty(values, (self._relevant * reachable).any(axis=1))

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
        items = self._items.sum(axis=1, keepdims=True)
        values = average_precision(items, self._total[:, None], self.k, "expected", self.denominator)
        return _mean(self._with_empty(values, self._total > 0))

    @cached_property
    def precision_recall(self) -> Curve:
        """(recall, precision) at recall 0, .01, ..., 1: see `precision_recall_curve`."""
        return precision_recall_curve(self._items, self._relevant)

    @cached_property
    def precision_at_radius(self) -> np.ndarray:
        """P@H<=r for r = 0..bits; an empty ball counts as 0."""
        items, relevant = self._items.cumsum(axis=1), self._relevant.cumsum(axis=1)
        return (relevant / np.maximum(items, 1)).mean(axis=0)

    @cached_property
    def recall_at_radius(self) -> np.ndarray:
        """Recall within H<=r for r = 0..bits."""
        return _mean_rows(self._relevant.cumsum(axis=1), self._total)

    @cached_property
    def items_at_radius(self) -> np.ndarray:
        """Mean number of items within H<=r for r = 0..bits."""
        return self._items.cumsum(axis=1).mean(axis=0)

    @cached_property
    def empty_balls_at_radius(self) -> np.ndarray:
        """Share of queries with no item within H<=r, for r = 0..bits."""
        return (self._items.cumsum(axis=1) == 0).mean(axis=0)

    @property
    def empty_ball_share(self) -> float:
        """Share of queries with no item within H<=2."""
        return float(self.empty_balls_at_radius[min(BALL, self.counts.bits)])

    @cached_property
    def _hits_at_n(self) -> np.ndarray:
        if self.order is not None:
            return self.order.hits
        return hits_at(self._items, self._relevant, self.n, self.ties)

    @cached_property
    def precision_at_n(self) -> np.ndarray:
        """P@N for each N of `n`."""
        return (self._hits_at_n / self.n).mean(axis=0)

    @cached_property
    def recall_at_n(self) -> np.ndarray:
        """Share of the relevant items found in the first N, for each N of `n`."""
        return _mean_rows(self._hits_at_n, self._total)


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def _mean_rows(hits: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Mean recall over the queries that have something to recall."""
    has = total > 0
    if not has.any():
        return np.full(hits.shape[1], np.nan)
    return (hits[has] / total[has, None]).mean(axis=0)


# --- AP@k ----------------------------------------------------------------------------------------------------------


def average_precision(
    items: np.ndarray, relevant: np.ndarray, k: int, ties: Ties = "expected", denominator: Denominator = "hits"
) -> np.ndarray:
    """AP@k per query from items and relevant items per level, [queries, levels]; 0 where there is no hit.

    Levels wholly inside the top k give a sum of precisions S over R hits. The level that k cuts gives its share
    according to `ties`; there the number of hits is itself open, which matters where it is the denominator.
    """
    before = items.cumsum(axis=1) - items
    hits_before = relevant.cumsum(axis=1) - relevant
    inside = before + items <= k
    level_sum = _LEVEL_SUMS[ties]
    whole = np.where(inside, level_sum(before, hits_before, items, relevant, items, relevant), 0.0).sum(axis=1)
    hits = np.where(inside, relevant, 0).sum(axis=1)
    cut = _Cut.at(items, relevant, before, hits_before, k)
    if denominator == "hits":
        return _CUT_BY_HITS[ties](whole, hits, cut)
    total = relevant.sum(axis=1)
    bound = np.minimum(total, k) if denominator == "min_k_relevant" else total
    return (whole + cut.linear_sum(ties)) / np.maximum(bound, 1)


@dataclass(frozen=True, eq=False)
class _Cut:
    """The level that the cut-off falls into, per query; `slots` is 0 where it falls between levels."""

    before: np.ndarray  # items nearer than this level
    hits: np.ndarray  # relevant among them
    items: np.ndarray
    relevant: np.ndarray
    slots: np.ndarray  # places of this level in the top k

    @classmethod
    def at(cls, items: np.ndarray, relevant: np.ndarray, before: np.ndarray, hits: np.ndarray, k: int) -> _Cut:
        row = np.arange(len(items))
        level = (before + items <= k).sum(axis=1)  # levels inside are a prefix
        level = np.minimum(level, items.shape[1] - 1)
        pick = (row, level)
        crosses = (before[pick] < k) & (before[pick] + items[pick] > k)
        slots = np.where(crosses, k - before[pick], 0)
        return cls(before[pick], hits[pick], items[pick], relevant[pick], slots)

    @property
    def fewest(self) -> np.ndarray:
        """Least number of hits in the slots over all tie orders."""
        return np.maximum(0, self.slots - (self.items - self.relevant))

    @property
    def most(self) -> np.ndarray:
        return np.minimum(self.slots, self.relevant)

    def take(self, rows: np.ndarray) -> _Cut:
        return _Cut(self.before[rows], self.hits[rows], self.items[rows], self.relevant[rows], self.slots[rows])

    def linear_sum(self, ties: Ties) -> np.ndarray:
        """Sum of precisions of the slots where the denominator does not depend on the hits among them."""
        if ties == "best":
            return _best_sum(self.before, self.hits, self.slots, self.most, self.items, self.relevant)
        if ties == "worst":
            return _worst_sum(self.before, self.hits, self.slots, self.fewest, self.items, self.relevant)
        return _expected_sum(self.before, self.hits, self.slots, self.relevant, self.items, self.relevant)


def _expected_sum(
    before: np.ndarray,
    hits: np.ndarray,
    slots: np.ndarray,
    found: np.ndarray,
    items: np.ndarray,
    relevant: np.ndarray,
) -> np.ndarray:
    """E[sum of rel P(i) over `slots` places of a level], `relevant` of `items` placed uniformly (design.md 3).

    (m/t) [(R+1) A + (m-1)/(t-1) B], A = sum_j 1/(N+j), B = t - (N+1) A, where m/t and (m-1)/(t-1) are the chances
    that one place, and another given that one, hold a relevant item: the same for a part of the level's places.
    """
    harmonic = _harmonic_span(before, slots)
    first = relevant / np.maximum(items, 1)
    second = np.maximum(relevant - 1, 0) / np.maximum(items - 1, 1)
    return first * ((hits + 1) * harmonic + second * (slots - (before + 1) * harmonic))


def _best_sum(
    before: np.ndarray,
    hits: np.ndarray,
    slots: np.ndarray,
    found: np.ndarray,
    items: np.ndarray,
    relevant: np.ndarray,
) -> np.ndarray:
    """The `found` relevant items first: sum_j (R+j) / (N+j) = m - (N-R) [H(N+m) - H(N)]."""
    return found - (before - hits) * _harmonic_span(before, found)


def _worst_sum(
    before: np.ndarray,
    hits: np.ndarray,
    slots: np.ndarray,
    found: np.ndarray,
    items: np.ndarray,
    relevant: np.ndarray,
) -> np.ndarray:
    """The `found` relevant items last in the slots."""
    return _best_sum(before + slots - found, hits, slots, found, items, relevant)


_LEVEL_SUMS = {"expected": _expected_sum, "best": _best_sum, "worst": _worst_sum}


def _expected_by_hits(whole: np.ndarray, hits: np.ndarray, cut: _Cut) -> np.ndarray:
    """E[(S + S_cut) / (R + m)] with m, the hits among the slots, hypergeometric."""
    result = whole / np.maximum(hits, 1)
    crossing = np.flatnonzero((cut.slots > 0) & (cut.relevant > 0))
    reach = _hypergeometric_reach(cut.take(crossing))
    for rows in np.array_split(np.argsort(reach, kind="stable"), max(1, len(crossing) // 256)):
        if rows.size:
            chosen = crossing[rows]
            result[chosen] = _expected_cut(whole[chosen], hits[chosen], cut.take(chosen), int(reach[rows].max()))
    return result


def _hypergeometric_reach(cut: _Cut) -> np.ndarray:
    """How far from its mean the number of hits may lie with a chance above 1e-18.

    A hypergeometric variable is a sum of independent Bernoulli variables, so Bernstein's bound holds:
    exp(-w^2 / (2 (variance + w/3))) = 1e-18 solved for w.
    """
    share = cut.relevant / cut.items
    variance = cut.slots * share * (1 - share) * (cut.items - cut.slots) / np.maximum(cut.items - 1, 1)
    return np.ceil(14 + np.sqrt(191 + 83 * variance)).astype(np.int64)


def _expected_cut(whole: np.ndarray, hits: np.ndarray, cut: _Cut, reach: int) -> np.ndarray:
    """The expectation over m for a block of queries, on a window of +-reach around each mean."""
    centre = np.clip(np.rint(cut.slots * (cut.relevant / cut.items)).astype(np.int64), cut.fewest, cut.most)
    width = int(min(reach, (cut.most - cut.fewest).max()))
    chance = _hypergeometric(cut, centre, width)
    found = np.clip(centre[:, None] + np.arange(-width, width + 1), 0, None)
    slots, before = cut.slots[:, None], cut.before[:, None]
    harmonic = _harmonic_span(cut.before, cut.slots)[:, None]
    rest = slots - (before + 1) * harmonic
    placed = found / slots * ((hits[:, None] + 1) * harmonic + (found - 1) / np.maximum(slots - 1, 1) * rest)
    return (chance * (whole[:, None] + placed) / np.maximum(hits[:, None] + found, 1)).sum(axis=1)


def _hypergeometric(cut: _Cut, centre: np.ndarray, width: int) -> np.ndarray:
    """P(m) for m = centre - width .. centre + width, by the ratio of neighbours outward from the centre.

    Ratios keep full precision for levels of any size, where logarithms of factorials would lose it.
    """
    step = np.arange(width)
    items, relevant = cut.items[:, None].astype(float), cut.relevant[:, None].astype(float)
    slots, centre = cut.slots[:, None].astype(float), centre[:, None].astype(float)
    spare = items - relevant - slots  # may be negative; spare + m >= 0 within the support
    m = np.minimum(centre + step, np.minimum(relevant, slots))
    up = (relevant - m) * (slots - m) / ((m + 1) * (spare + m + 1))
    m = np.maximum(centre - step, np.maximum(0, -spare))
    down = m * (spare + m) / ((relevant - m + 1) * (slots - m + 1))
    above, below = np.cumprod(up, axis=1), np.cumprod(down, axis=1)
    chance = np.concatenate([below[:, ::-1], np.ones((len(centre), 1)), above], axis=1)
    return chance / chance.sum(axis=1, keepdims=True)


def _best_by_hits(whole: np.ndarray, hits: np.ndarray, cut: _Cut) -> np.ndarray:
    """With hits as denominator one hit more can lower AP ([+--] beats [+-+]), so the bound is over m too.

    Relevant first, each further hit adds a larger precision than the last: the quotient falls, then rises, so its
    maximum lies at either end.
    """
    few = (whole + _best_sum(cut.before, cut.hits, cut.slots, cut.fewest, cut.items, cut.relevant)) / np.maximum(
        hits + cut.fewest, 1
    )
    many = (whole + _best_sum(cut.before, cut.hits, cut.slots, cut.most, cut.items, cut.relevant)) / np.maximum(
        hits + cut.most, 1
    )
    return np.maximum(few, many)


def _worst_by_hits(whole: np.ndarray, hits: np.ndarray, cut: _Cut) -> np.ndarray:
    """Relevant last, each further hit again adds more than the one before: bisect for the turning point."""

    def value(found: np.ndarray) -> np.ndarray:
        placed = _worst_sum(cut.before, cut.hits, cut.slots, found, cut.items, cut.relevant)
        return (whole + placed) / np.maximum(hits + found, 1)

    low, high = cut.fewest, cut.most
    while (low < high).any():
        middle = (low + high) // 2
        rising = (value(middle + 1) >= value(middle)) | (middle >= high)
        low, high = np.where(rising, low, middle + 1), np.where(rising, middle, high)
    return np.where(hits + cut.fewest == 0, 0.0, value(low))


_CUT_BY_HITS = {"expected": _expected_by_hits, "best": _best_by_hits, "worst": _worst_by_hits}

_SMALL = 1024
_HARMONIC = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, _SMALL + 1))])


def _harmonic_span(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """H(start + length) - H(start) to full relative precision: a table below 1024, Euler-Maclaurin above."""
    end = start + length
    table = _HARMONIC[np.minimum(end, _SMALL)] - _HARMONIC[np.minimum(start, _SMALL)]
    low, high = np.maximum(start, _SMALL).astype(float), np.maximum(end, _SMALL).astype(float)
    inverse_low, inverse_high = 1 / low, 1 / high
    tail = (inverse_high - inverse_low) / 2 - (inverse_high**2 - inverse_low**2) / 12
    tail += (inverse_high**4 - inverse_low**4) / 120
    return table + np.log1p((high - low) / low) + tail


# --- curves --------------------------------------------------------------------------------------------------------


def hits_at(items: np.ndarray, relevant: np.ndarray, n: np.ndarray, ties: Ties = "expected") -> np.ndarray:
    """[queries, len(n)]: relevant items among the first N, linear in the level that N cuts."""
    before = items.cumsum(axis=1) - items
    hits_before = relevant.cumsum(axis=1) - relevant
    columns = []
    for cut_off in n:
        inside = np.where(before + items <= cut_off, relevant, 0).sum(axis=1)
        cut = _Cut.at(items, relevant, before, hits_before, int(cut_off))
        expected = cut.slots * cut.relevant / np.maximum(cut.items, 1)
        columns.append(inside + {"best": cut.most, "worst": cut.fewest}.get(ties, expected))
    return np.stack(columns, axis=1).astype(float)


def precision_recall_curve(items: np.ndarray, relevant: np.ndarray) -> Curve:
    """Mean precision at recall 0, .01, ..., 1 over the queries that have a relevant item.

    Per query, each radius with at least one item is a point (recall, precision); of radii with the same recall the
    smallest counts. Precision is linear between points and constant left of the first.
    """
    grid = np.linspace(0, 1, RECALL_POINTS)
    has = relevant.any(axis=1)
    if not has.any():
        return grid, np.full(RECALL_POINTS, np.nan)
    items, hits = items[has].cumsum(axis=1), relevant[has].cumsum(axis=1)
    precision = hits / np.maximum(items, 1)
    total = hits[:, -1:]
    steps = RECALL_POINTS - 1
    # The radius that first reaches each grid point, in integers: 100 * hits >= i * total.
    reached = np.where(items > 0, steps * hits // total + 1, 0)
    levels = np.broadcast_to(np.arange(items.shape[1]), items.shape)
    right = np.repeat(levels.ravel(), np.diff(reached, axis=1, prepend=0).ravel()).reshape(-1, RECALL_POINTS)
    left = np.take_along_axis(_point_before(items, hits), right, axis=1)
    return grid, _interpolate(grid, hits / total, precision, left, right).mean(axis=0)


def _point_before(items: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """For each radius the radius of the point to its left: smaller recall, smallest such radius; itself if none."""
    earlier_items = np.concatenate([np.zeros_like(items[:, :1]), items[:, :-1]], axis=1)
    earlier_hits = np.concatenate([np.zeros_like(hits[:, :1]), hits[:, :-1]], axis=1)
    is_point = (items > 0) & ((earlier_items == 0) | (hits > earlier_hits))
    levels = np.arange(items.shape[1])
    newest = np.maximum.accumulate(np.where(is_point, levels, -1), axis=1)
    earlier = np.concatenate([np.full_like(newest[:, :1], -1), newest[:, :-1]], axis=1)
    return np.where(earlier < 0, levels, earlier)


def _interpolate(
    grid: np.ndarray, recall: np.ndarray, precision: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    recall_left, recall_right = (np.take_along_axis(recall, side, axis=1) for side in (left, right))
    precision_left, precision_right = (np.take_along_axis(precision, side, axis=1) for side in (left, right))
    gap = recall_right - recall_left
    weight = np.where(gap > 0, np.clip((grid - recall_left) / np.where(gap > 0, gap, 1), 0, 1), 1)
    return precision_left + weight * (precision_right - precision_left)


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
