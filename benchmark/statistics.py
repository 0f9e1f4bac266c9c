"""Are we sure? Paired tests and intervals on per-query scores, corrections for many tests, ranks over data sets.

Arrays in, numbers out; nothing here knows about methods or records. Queries that are nan (skipped) in either of
two paired arrays are left out. Random draws are seeded, so a report says the same thing twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ROUNDS = 9999  # with the observed labelling itself: 10,000
LEVEL = 0.95


def paired_difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b for the queries scored in both."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(
            f"paired scores of shapes {a.shape} and {b.shape}, expected the same queries in both"
        )
    difference = a - b
    return difference[np.isfinite(difference)]


def permutation_test(a: np.ndarray, b: np.ndarray, *, rounds: int = ROUNDS, seed: int = 0) -> float:
    """Two-sided p of "a and b score queries alike": under it, each query's difference may have either sign.

    p = (1 + sign flips at least as extreme as what was seen) / (1 + rounds): never zero, and valid for any
    number of rounds.
    """
    difference = paired_difference(a, b)
    if not difference.any():
        return 1.0
    observed = abs(difference.sum())
    slack = (
        1e-9 * np.abs(difference).sum()
    )  # a flip equal to the observation must count as such despite rounding
    extreme, done, rng = 0, 0, np.random.default_rng(seed)
    while done < rounds:
        now = min(rounds - done, 2048)
        bits = np.unpackbits(rng.integers(0, 256, (now, -(-len(difference) // 8)), np.uint8), axis=1)
        flipped = difference.sum() - 2.0 * (bits[:, : len(difference)] @ difference)
        extreme += int((np.abs(flipped) >= observed - slack).sum())
        done += now
    return (1 + extreme) / (1 + rounds)


def bootstrap_interval(
    values: np.ndarray, *, level: float = LEVEL, rounds: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of the mean over queries, queries drawn again with replacement."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    if not len(values):
        return (float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), size=rounds)
    low, high = np.quantile(weights @ values / len(values), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


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
