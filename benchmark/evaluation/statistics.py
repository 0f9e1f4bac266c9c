"""Are we sure? Paired tests and intervals on per-query scores of one seed or several, corrections for many tests,
ranks over data sets.

Arrays in, numbers out; nothing here knows about methods or records. Queries that are nan (skipped) in either of
two paired arrays are left out. Random draws are seeded, so a report says the same thing twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ROUNDS = 9999  # with the observed labelling itself: 10,000
LEVEL = 0.95
CHUNK = 512  # rounds drawn at once: bounds memory
ALIKE = 1e-12  # two scores of a query that differ by less differ by rounding
Interval = tuple[float, float]


def paired_difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b per query; 0, which no test sees, where either is nan or the two differ by rounding."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"paired scores of shapes {a.shape} and {b.shape}, expected the same queries in both")
    return without_rounding(np.nan_to_num(a - b, nan=0.0))


def without_rounding(differences: np.ndarray) -> np.ndarray:
    """Differences of scores; 0 where they are of rounding alone."""
    return np.where(np.abs(differences) < ALIKE, 0.0, differences)


def permutation_test(a: np.ndarray, b: np.ndarray, *, rounds: int = ROUNDS, seed: int = 0) -> float:
    """Two-sided p of "a and b score queries alike": under it, each query's difference may have either sign."""
    return float(permutation_tests(paired_difference(a, b)[:, None], rounds=rounds, seed=seed)[0])


def permutation_tests(differences: np.ndarray, *, rounds: int = ROUNDS, seed: int = 0) -> np.ndarray:
    """The p of each column of paired differences (queries x tests), all by the same sign flips.

    p = (1 + flips at least as extreme as what was seen) / (1 + rounds): never zero, valid for any rounds. Where that is
    more than Hoeffding's bound on the same chance, p is the bound: no correction for many tests may make a
    difference unsure because too few flips were drawn.
    """
    total = differences.sum(axis=0)
    # A flip equal to the observation must count as such despite rounding.
    threshold = np.abs(total) - 1e-9 * np.abs(differences).sum(axis=0)
    extreme = np.zeros(differences.shape[1], np.int64)
    rng, queries = np.random.default_rng(seed), len(differences)
    for start in range(0, rounds, CHUNK):
        drawn = rng.integers(0, 256, (min(CHUNK, rounds - start), -(-queries // 8)), np.uint8)
        flips = np.unpackbits(drawn, axis=1, count=queries).astype(float)
        extreme += (np.abs(total - 2 * (flips @ differences)) >= threshold).sum(axis=0)
    squares = np.maximum((differences**2).sum(axis=0), np.finfo(float).tiny)
    return np.minimum((1 + extreme) / (1 + rounds), 2 * np.exp(-(total**2) / (2 * squares)))


# --- several seeds -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A difference of two mean scores, and the parts of its variance: each (variance, degrees of freedom)."""

    mean: float
    parts: tuple[tuple[float, float], ...]

    @property
    def variance(self) -> float:
        return sum(variance for variance, _ in self.parts)

    @property
    def freedom(self) -> float:
        """Welch's and Satterthwaite's: near the freedom of the part that dominates."""
        doubt = sum(variance**2 / freedom for variance, freedom in self.parts if freedom > 0)
        return self.variance**2 / doubt if doubt > 0 else math.inf

    def p(self) -> float:
        """Two-sided p of "no difference" by the t distribution; 1 where nothing differs."""
        from scipy.stats import t

        if abs(self.mean) < 1e-12:
            return 1.0
        if self.variance == 0:
            return 0.0
        return float(2 * t.sf(abs(self.mean) / math.sqrt(self.variance), self.freedom))

    def interval(self, level: float = LEVEL) -> Interval:
        from scipy.stats import t

        reach = float(t.ppf((1 + level) / 2, self.freedom)) * math.sqrt(self.variance)
        return self.mean - reach, self.mean + reach


def seeded_difference(a: np.ndarray, b: np.ndarray) -> Difference:
    """Difference of two methods' scores (seeds x queries, the same queries; seeds of the two are not paired).

    Other queries and other seeds would both have given another difference: its variance is that of a mean over
    queries (paired, of scores averaged over seeds) and of a mean over seeds, of each method. Queries may be many; two
    seeds that disagree stay two. Of a method with one seed the spread over seeds is unknown: the other's stands for it.
    """
    a, b = np.atleast_2d(np.asarray(a, float)), np.atleast_2d(np.asarray(b, float))
    if a.shape[1:] != b.shape[1:] or a.ndim != 2:
        raise ValueError(f"paired scores of shapes {a.shape} and {b.shape}, expected the same queries in both")
    known = np.isfinite(a).all(axis=0) & np.isfinite(b).all(axis=0)
    a, b = a[:, known], b[:, known]
    queries = int(known.sum())
    if queries < 2:
        return Difference(0.0, ())
    per_query = without_rounding(a.mean(axis=0) - b.mean(axis=0))
    over_seeds = [float(one.mean(axis=1).var(ddof=1)) if len(one) > 1 else math.nan for one in (a, b)]
    parts = [(float(per_query.var(ddof=1)) / queries, queries - 1.0)]
    for one, own, other, rival in ((a, over_seeds[0], over_seeds[1], b), (b, over_seeds[1], over_seeds[0], a)):
        spread, seeds = (own, len(one)) if len(one) > 1 else (other, len(rival))
        parts += [(spread / len(one), seeds - 1.0)] if seeds > 1 else []
    return Difference(float(per_query.mean()), tuple(parts))


def mean_difference(differences: Sequence[Difference]) -> Difference:
    """The mean of independent differences, such as those on several data sets."""
    count = len(differences)
    parts = tuple((variance / count**2, freedom) for one in differences for variance, freedom in one.parts)
    return Difference(sum(one.mean for one in differences) / count, parts)


def paired_tests(scores: Sequence[np.ndarray], pairs: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """p and mean difference of each pair of methods, whose scores are arrays (seeds x queries) of the same queries.

    Where neither has a second seed, only queries vary, and their signs are permuted; otherwise as in
    `seeded_difference`, by the t distribution.
    """
    p, mean = np.ones(len(pairs)), np.zeros(len(pairs))
    single = [n for n, (i, j) in enumerate(pairs) if len(scores[i]) == len(scores[j]) == 1]
    if single:
        columns = [paired_difference(scores[pairs[n][0]][0], scores[pairs[n][1]][0]) for n in single]
        differences = np.stack(columns, axis=1)
        p[single], mean[single] = permutation_tests(differences), differences.mean(axis=0)
    for n in set(range(len(pairs))) - set(single):
        found = seeded_difference(*(scores[i] for i in pairs[n]))
        p[n], mean[n] = found.p(), found.mean
    return p, mean


# --- intervals by resampling -------------------------------------------------------------------------------


def bootstrap_means(values: np.ndarray, *, rounds: int = 2000, seed: int = 0) -> np.ndarray:
    """Means over queries drawn again with replacement, `rounds` times; nan queries are left out."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    if not len(values):
        return np.full(rounds, np.nan)
    rng = np.random.default_rng(seed)
    means = [
        values[rng.integers(0, len(values), (min(CHUNK, rounds - start), len(values)))].mean(axis=1)
        for start in range(0, rounds, CHUNK)
    ]
    return np.concatenate(means)


def interval(draws: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """Percentile interval of bootstrap draws."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bootstrap_interval(values: np.ndarray, *, level: float = LEVEL, rounds: int = 2000, seed: int = 0) -> Interval:
    """Interval of the mean over queries."""
    return interval(bootstrap_means(values, rounds=rounds, seed=seed), level)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Holm's step-down adjustment: controls the chance of any false claim among all tests made together."""
    p = np.asarray(p_values, float)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    result = np.empty(len(p))
    result[order] = np.minimum(adjusted, 1.0)
    return result


def ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each method (column) in each block (row), 1 for the highest; ties, and what rounding parts, averaged."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.round(np.asarray(scores, float), 9), axis=1))


def friedman(scores: np.ndarray) -> float:
    """p of "all methods rank alike" over blocks (rows); nan where there are too few to say."""
    scores = np.asarray(scores, float)
    if scores.shape[0] < 2 or scores.shape[1] < 3 or (np.ptp(scores, axis=1) == 0).all():
        return float("nan")
    from scipy.stats import friedmanchisquare

    return float(friedmanchisquare(*scores.T).pvalue)


def critical_difference(methods: int, blocks: int, level: float = LEVEL) -> float:
    """Nemenyi's: mean ranks further apart than this differ (Demsar 2006, section 3.2.2)."""
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(level, methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(methods * (methods + 1) / (6 * blocks)))


def cliques(mean_ranks: np.ndarray, difference: float) -> list[list[int]]:
    """Largest groups of methods whose mean ranks lie within `difference`, best first, none inside another."""
    order = np.argsort(mean_ranks, kind="stable")
    groups: list[list[int]] = []
    last = -1
    for start in range(len(order)):
        reach = mean_ranks[order] <= mean_ranks[order[start]] + difference
        end = int(np.flatnonzero(reach)[-1])
        if end > last and end > start:
            groups.append([int(index) for index in order[start : end + 1]])
        last = max(last, end)
    return groups
