"""Closed forms over tied levels: AP@k, hits in the first N, precision-recall and discounted gain from counts.

A *level* is one distance of one query: its items have no order. What is here takes counts per level and gives exact
expectations over all orders within levels, or bounds over them. What the numbers are called is up to `metrics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

Ties = Literal["expected", "stable", "best", "worst"]
Denominator = Literal["hits", "min_k_relevant", "relevant"]
Curve = tuple[np.ndarray, np.ndarray]

RECALL_POINTS = 101
CHUNK = 32_768  # numbers in an intermediate array


class Levels:
    """Items and relevant items per level, [queries, levels], nearest first, and their running sums."""

    def __init__(self, items: np.ndarray, relevant: np.ndarray) -> None:
        self.items, self.relevant = items, relevant
        self.upto = items.cumsum(axis=1)  # items at this level or nearer
        self.hits = relevant.cumsum(axis=1)  # relevant among them

    def __len__(self) -> int:
        return len(self.items)

    def chunks(self) -> Iterator[Levels]:
        """The same, some queries at a time: intermediate arrays then stay in the cache, which halves the time."""
        size = max(1, CHUNK // self.items.shape[1])
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield Levels(self.items[rows], self.relevant[rows])

    @cached_property
    def precision(self) -> np.ndarray:
        """Of each ball; 0 where it is empty."""
        return self.hits / np.maximum(self.upto, 1)

    def at(self, cut_offs: np.ndarray) -> Crossing:
        """The level into which each (ascending) cut-off falls, for every query: [queries, len(cut_offs)]."""
        reached = np.searchsorted(cut_offs, self.upto, side="right")
        reached[:, -1] = len(cut_offs)
        place = np.repeat(np.arange(self.items.size), np.diff(reached, axis=1, prepend=0).ravel())
        return self._crossing(place.reshape(len(self.items), -1), cut_offs)

    def inside(self, k: int) -> tuple[np.ndarray, Crossing]:
        """(query, level) of the levels with something relevant that lie wholly in the top k, as a flat list."""
        place = np.flatnonzero((self.relevant > 0) & (self.upto <= k))
        return place // self.items.shape[1], self._crossing(place, self.upto.ravel()[place])

    def _crossing(self, place: np.ndarray, cut_off: np.ndarray) -> Crossing:
        items, relevant = self.items.ravel()[place], self.relevant.ravel()[place]
        before, hits_before = self.upto.ravel()[place] - items, self.hits.ravel()[place] - relevant
        return Crossing(before, hits_before, items, relevant, cut_off - before)


@dataclass(frozen=True, eq=False)
class Crossing:
    """Levels (one per element) of which the first `slots` places lie before a cut-off; all of them, perhaps."""

    before: np.ndarray  # N: items nearer than this level
    hits_before: np.ndarray  # R: relevant among them
    items: np.ndarray
    relevant: np.ndarray
    slots: np.ndarray  # t

    @property
    def fewest(self) -> np.ndarray:
        """Least number of hits in the slots over all tie orders."""
        return np.maximum(0, self.slots - (self.items - self.relevant))

    @property
    def most(self) -> np.ndarray:
        return np.minimum(self.slots, self.relevant)

    @classmethod
    def joined(cls, parts: Sequence[Crossing]) -> Crossing:
        """Of queries one after the other."""
        return cls(*(np.concatenate(part) for part in zip(*(one._parts() for one in parts), strict=True)))

    def take(self, rows: np.ndarray) -> Crossing:
        return Crossing(*(part[rows] for part in self._parts()))

    def column(self, index: int) -> Crossing:
        return Crossing(*(part[:, index] for part in self._parts()))

    def _parts(self) -> tuple[np.ndarray, ...]:
        return self.before, self.hits_before, self.items, self.relevant, self.slots

    def expected_hits(self) -> np.ndarray:
        return self.slots * self.relevant / np.maximum(self.items, 1)

    def expected_sum(self) -> np.ndarray:
        """E[sum of rel P(i) over the slots], the relevant items placed uniformly in the level (design.md 3).

        (m/t) [(R+1) A + (m-1)/(t-1) B], A = sum_j 1/(N+j), B = t - (N+1) A. For a whole level m/t and (m-1)/(t-1)
        are the chances that one place, and another one given the first, hold a relevant item; for part of a level
        those chances are the same, and the hits among the slots average out.
        """
        harmonic = harmonic_span(self.before, self.slots)
        first = self.relevant / np.maximum(self.items, 1)
        second = np.maximum(self.relevant - 1, 0) / np.maximum(self.items - 1, 1)
        return first * ((self.hits_before + 1) * harmonic + second * (self.slots - (self.before + 1) * harmonic))

    def best_sum(self, found: np.ndarray) -> np.ndarray:
        """`found` relevant items first: sum_j (R+j) / (N+j) = m - (N-R) [H(N+m) - H(N)]."""
        return found - (self.before - self.hits_before) * harmonic_span(self.before, found)

    def worst_sum(self, found: np.ndarray) -> np.ndarray:
        """`found` relevant items last in the slots."""
        start = self.before + self.slots - found
        return found - (start - self.hits_before) * harmonic_span(start, found)

    def sum(self, ties: Ties) -> np.ndarray:
        """Sum of rel P(i) over the slots: its expectation, or its bound over tie orders."""
        if ties == "best":
            return self.best_sum(self.most)
        if ties == "worst":
            return self.worst_sum(self.fewest)
        return self.expected_sum()


_SMALL = 64
_HARMONIC = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, _SMALL + 1))])


def harmonic_span(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """H(start + length) - H(start) to full relative precision: a short table, Euler-Maclaurin beyond it."""
    end = start + length
    table = _HARMONIC[np.minimum(end, _SMALL)] - _HARMONIC[np.minimum(start, _SMALL)]
    low, high = np.maximum(start, _SMALL), np.maximum(end, _SMALL)
    return table + np.log1p((high - low) / low) + (_tail(1.0 / high) - _tail(1.0 / low))


def _tail(inverse: np.ndarray) -> np.ndarray:
    """H(n) - ln n - Euler's constant = 1/2n - 1/12n^2 + 1/120n^4 - 1/252n^6 + ...; what is left out is below 2e-17."""
    square = inverse * inverse
    return inverse / 2 - square * (1 / 12 - square * (1 / 120 - square / 252))


# --- AP@k ----------------------------------------------------------------------------------------------------------


def average_precision(levels: Levels, k: int, ties: Ties = "expected", denominator: Denominator = "hits") -> np.ndarray:
    """AP@k per query; 0 where there is no hit.

    Levels wholly inside the top k give a sum of precisions S over R hits. The level that k cuts gives its share
    according to `ties`; there the number of hits is itself open, which matters where it is the denominator.
    """
    return np.concatenate([_average_precision(chunk, k, ties, denominator) for chunk in levels.chunks()])


def _average_precision(levels: Levels, k: int, ties: Ties, denominator: Denominator) -> np.ndarray:
    query, inside = levels.inside(k)
    whole = np.bincount(query, inside.sum(ties), minlength=len(levels.items))
    cut = levels.at(np.array([k])).column(0)
    part = cut.slots < cut.items  # else the level is inside, or k is a boundary
    whole_hits = np.where(part, cut.hits_before, cut.hits_before + cut.relevant)
    if denominator != "hits":
        total = levels.hits[:, -1]
        bound = np.minimum(total, k) if denominator == "min_k_relevant" else total
        return (whole + np.where(part, cut.sum(ties), 0.0)) / np.maximum(bound, 1)
    result = whole / np.maximum(whole_hits, 1)
    open_ = np.flatnonzero(part & (cut.relevant > 0))
    result[open_] = _BY_HITS[ties](whole[open_], cut.take(open_))
    return result


def _expected_by_hits(whole: np.ndarray, cut: Crossing) -> np.ndarray:
    """E[(S + E[S_cut | m]) / (R + m)], m the hits among the slots, hypergeometric.

    The numerator is S + a m + b m (m-1), so the quotient is b m + c + d / (R+m) and only E[m] and E[1 / (R+m)] are
    needed; where R = 0 (then S = 0 too) the latter runs over m > 0, as a query without a hit scores 0.
    """
    harmonic = harmonic_span(cut.before, cut.slots)
    a = (cut.hits_before + 1) * harmonic / cut.slots
    b = (cut.slots - (cut.before + 1) * harmonic) / (cut.slots * np.maximum(cut.slots - 1.0, 1.0))
    c = a - b * (cut.hits_before + 1)
    inverse, none = _hypergeometric_means(cut)
    d = whole - cut.hits_before * c
    constant = np.where(cut.hits_before > 0, c, c * (1 - none))
    return b * cut.expected_hits() + constant + d * inverse


def _hypergeometric_means(cut: Crossing) -> tuple[np.ndarray, np.ndarray]:
    """E[1 / (R+m); R+m > 0] and P(m = 0), in blocks of queries whose m spreads alike."""
    inverse, none = np.empty(len(cut.slots)), np.empty(len(cut.slots))
    share = cut.relevant / cut.items
    variance = cut.expected_hits() * (1 - share) * (cut.items - cut.slots) / np.maximum(cut.items - 1, 1)
    # A hypergeometric variable is a sum of independent Bernoulli variables, so Bernstein's bound holds: further from
    # its mean than w it lies with a chance below 2 exp(-w^2 / (2 (variance + w/3))) = 2e-16.
    reach = np.ceil(13 + np.sqrt(151 + 74 * variance)).astype(np.int64)
    for rows in np.array_split(np.argsort(reach), len(reach) // 128 + 1):
        if rows.size:
            inverse[rows], none[rows] = _means_in_window(cut.take(rows), int(reach[rows].max()))
    return inverse, none


def _means_in_window(cut: Crossing, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for one block, on a window around the means.

    Chances come from the ratios of neighbours, outward from the centre: full precision at any size, where
    logarithms of factorials would lose it. Past either end of the support a ratio is 0 and the product stays 0.
    """
    centre = np.clip(np.rint(cut.expected_hits()).astype(np.int64), cut.fewest, cut.most)
    width = int(min(reach, (cut.most - cut.fewest).max()))
    step, m = np.arange(width), centre[:, None].astype(float)
    relevant, slots, hits = cut.relevant[:, None], cut.slots[:, None], cut.hits_before[:, None]
    spare = cut.items[:, None] - relevant - slots  # may be negative; spare + m >= 0 within the support
    up, down = m + step, m - step
    above = np.cumprod((relevant - up) * (slots - up) / ((up + 1) * (spare + up + 1)), axis=1)
    below = np.cumprod(down * (spare + down) / ((relevant - down + 1) * (slots - down + 1)), axis=1)
    total = 1 + above.sum(axis=1) + below.sum(axis=1)
    inverse = (above / (hits + up + 1)).sum(axis=1) + (below / np.maximum(hits + down - 1, 1)).sum(axis=1)
    inverse += 1 / np.maximum(hits + m, 1)[:, 0]
    row, place = np.arange(len(centre)), np.minimum(centre, width)
    none = np.concatenate([np.ones((len(centre), 1)), below], axis=1)[row, place] * (place == centre)
    return (inverse - np.where(hits[:, 0] == 0, none, 0)) / total, none / total


def _best_by_hits(whole: np.ndarray, cut: Crossing) -> np.ndarray:
    """With hits as denominator one hit more can lower AP ([+--] beats [+-+]), so the bound is over m too.

    Relevant first, each further hit adds a larger precision than the last: the quotient falls, then rises, so its
    maximum lies at either end.
    """
    ends = [(whole + cut.best_sum(found)) / np.maximum(cut.hits_before + found, 1) for found in (cut.fewest, cut.most)]
    return np.maximum(*ends)


def _worst_by_hits(whole: np.ndarray, cut: Crossing) -> np.ndarray:
    """Relevant last, each further hit again adds more than the one before: bisect for the turning point."""

    def value(found: np.ndarray) -> np.ndarray:
        return (whole + cut.worst_sum(found)) / np.maximum(cut.hits_before + found, 1)

    low, high = cut.fewest, cut.most
    while (low < high).any():
        middle = (low + high) // 2
        rising = (value(middle + 1) >= value(middle)) | (middle >= high)
        low, high = np.where(rising, low, middle + 1), np.where(rising, middle, high)
    return np.where(cut.hits_before + cut.fewest == 0, 0.0, value(low))


_BY_HITS = {"expected": _expected_by_hits, "best": _best_by_hits, "worst": _worst_by_hits}


# --- curves --------------------------------------------------------------------------------------------------------


def hits_at(levels: Levels, n: np.ndarray, ties: Ties = "expected") -> np.ndarray:
    """[queries, len(n)]: relevant items among the first N; expected, or its bounds over tie orders."""
    found = []
    for chunk in levels.chunks():
        cut = chunk.at(n)
        part = {"best": cut.most, "worst": cut.fewest}.get(ties)
        found.append(cut.hits_before + (cut.expected_hits() if part is None else part.astype(float)))
    return np.concatenate(found)


def precision_recall_curve(levels: Levels) -> Curve:
    """Mean precision at recall 0, .01, ..., 1 over the queries that have a relevant item.

    Per query, each radius with at least one item is a point (recall, precision); of radii with the same recall the
    smallest counts. Precision is linear between points and constant left of the first.
    """
    grid = np.linspace(0, 1, RECALL_POINTS)
    queries = int((levels.hits[:, -1] > 0).sum())
    if not queries:
        return grid, np.full(RECALL_POINTS, np.nan)
    return grid, np.sum([_precision_on(grid, chunk) for chunk in levels.chunks()], axis=0) / queries


def _precision_on(grid: np.ndarray, levels: Levels) -> np.ndarray:
    """The sum over queries of their precision at each recall of the grid."""
    has = levels.hits[:, -1] > 0
    upto, hits, precision = levels.upto[has], levels.hits[has], levels.precision[has]
    total = hits[:, -1:]
    # The radius that first reaches each grid point, in integers: 100 * hits >= i * total.
    reached = np.where(upto > 0, (RECALL_POINTS - 1) * hits // total + 1, 0)
    times = np.diff(reached, axis=1, prepend=0).ravel()
    offset, slope = _segments(upto, hits, precision, hits / total)
    on_grid = [np.repeat(values.ravel(), times).reshape(-1, RECALL_POINTS).sum(axis=0) for values in (offset, slope)]
    return on_grid[0] + on_grid[1] * grid


def _segments(
    upto: np.ndarray, hits: np.ndarray, precision: np.ndarray, recall: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The straight line that ends at each radius' point, as (offset, slope): precision = offset + slope * recall."""
    size = hits.shape[1]
    is_point = upto > 0
    is_point[:, 1:] &= (upto[:, :-1] == 0) | (hits[:, 1:] > hits[:, :-1])
    place = np.arange(hits.size).reshape(hits.shape)
    newest = np.maximum.accumulate(np.where(is_point, place, place - place % size - 1), axis=1)
    left = place.copy()  # the point to the left; itself where there is none
    left[:, 1:] = np.where(newest[:, :-1] >= place[:, :1], newest[:, :-1], place[:, 1:])
    gap = recall - recall.ravel()[left]
    slope = np.where(gap > 0, precision - precision.ravel()[left], 0.0) / np.where(gap > 0, gap, 1.0)
    return precision - slope * recall, slope


def authors_curve(levels: Levels) -> Curve:
    """The curve of the DPH authors' script, for comparison with its plots: mean over all queries.

    Radii 0 to bits - 1, precision and recall both 0 where there is no hit (even where the ball is empty), then the
    point (1, last precision, or 0 where nothing is relevant), and np.interp over recalls that may repeat.
    """
    grid = np.linspace(0, 1, RECALL_POINTS)
    rows = []
    for hits, precision in zip(levels.hits, levels.precision, strict=True):
        recall = hits[:-1] / max(int(hits[-1]), 1)
        last = precision[-2] if hits[-1] and len(precision) > 1 else 0.0
        rows.append(np.interp(grid, np.append(recall, 1.0), np.append(precision[:-1], last)))
    return grid, np.mean(rows, axis=0)


# --- graded relevance ----------------------------------------------------------------------------------------------


def discounted_gain(counts: np.ndarray, levels: Levels, gains: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """DCG@k, sum of gain / log2(1 + place), per query: expected over ties, and that of the ideal ranking.

    counts: [queries, levels, grades]; gains: of each grade.
    """
    discount = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))])
    upto, before = np.minimum(levels.upto, k), np.minimum(levels.upto - levels.items, k)
    average = counts @ gains / np.maximum(levels.items, 1)
    found = (average * (discount[upto] - discount[before])).sum(axis=1)
    ranked = counts.sum(axis=1)[:, ::-1]  # ideal: by falling grade
    end = ranked.cumsum(axis=1)
    share = discount[np.minimum(end, k)] - discount[np.minimum(end - ranked, k)]
    return found, share @ gains[::-1]


def mean_gain(counts: np.ndarray, levels: Levels, k: int) -> np.ndarray:
    """Expected mean grade of the first k places, per query."""
    average = counts @ np.arange(counts.shape[2]) / np.maximum(levels.items, 1)
    places = np.minimum(levels.upto, k) - np.minimum(levels.upto - levels.items, k)
    return (average * places).sum(axis=1) / k
