"""Are we sure? Paired tests and intervals on per-query scores, corrections for many tests, ranks over data sets.

Arrays in, numbers out; nothing here knows about methods or records. Queries that are nan (skipped) in either of
two paired arrays are left out. Random draws are seeded, so a report says the same thing twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ROUNDS = 9999  # with the observed labelling itself: 10,000
LEVEL = 0.95
CHUNK = 512  # rounds drawn at once: bounds memory
Interval = tuple[float, float]


def paired_difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b per query; 0, which no test sees, where either is nan."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"paired scores of shapes {a.shape} and {b.shape}, expected the same queries in both")
    return np.nan_to_num(a - b, nan=0.0)


def permutation_test(a: np.ndarray, b: np.ndarray, *, rounds: int = ROUNDS, seed: int = 0) -> float:
    """Two-sided p of "a and b score queries alike": under it, each query's difference may have either sign."""
    return float(permutation_tests(paired_difference(a, b)[:, None], rounds=rounds, seed=seed)[0])


def permutation_tests(differences: np.ndarray, *, rounds: int = ROUNDS, seed: int = 0) -> np.ndarray:
    """The p of each column of paired differences (queries x tests), all by the same sign flips.

    p = (1 + flips at least as extreme as what was seen) / (1 + rounds): never zero, valid for any rounds.
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
    return (1 + extreme) / (1 + rounds)


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
    """Rank of each method (column) in each block (row), 1 for the highest score, ties averaged."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.asarray(scores, float), axis=1))


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
