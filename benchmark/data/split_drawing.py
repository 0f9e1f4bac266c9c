"""The paper's protocol as code: drawing queries, database and training set from all images of a data set.

Everything is drawn from a seed and named parts, so that the same images give the same splits anywhere. Where
images come from, and how the lists are written, is `benchmark.data.official`'s part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmark.errors import UsageError
from benchmark.seeds import generator

PROFILES = "paper, groups, balanced or exponential:RHO"
# The published ImageNet list, per image: a class of 1300, nine of 385 to 422, ninety of 7 to 104; low, mean, high.
HEAD, MIDDLE, TAIL = 0.13, (0.0385, 0.04108, 0.0422), (0.0007, 0.00556, 0.0104)


@dataclass(frozen=True)
class Drawn:
    """Row numbers of the three parts; training rows are database rows."""

    train: np.ndarray
    query: np.ndarray
    database: np.ndarray


def draw_multi_label(labels: np.ndarray, per_class: int, train: int, *seed: object) -> Drawn:
    """`per_class` queries of each class, the rarest class first, no image twice; the rest is the database, of
    which `train` random rows are the training set."""
    query = draw_queries(labels, per_class, *seed)
    database = np.setdiff1d(np.arange(len(labels)), query)
    if len(database) < train:
        raise UsageError(f"{len(database):,} images remain for the database, too few for {train:,} training images")
    chosen = generator("train", *seed).choice(len(database), train, replace=False)
    return Drawn(database[np.sort(chosen)], query, database)


def draw_queries(labels: np.ndarray, per_class: int, *seed: object) -> np.ndarray:
    """Row numbers of the queries. A class with too few images gives at most half of what it has."""
    random = generator("query", *seed)
    counts = labels.sum(axis=0)
    free = np.ones(len(labels), bool)
    for column in np.argsort(counts, kind="stable"):
        candidates = np.flatnonzero(labels[:, column] & free)
        wanted = min(per_class, int(counts[column]) // 2, len(candidates))
        free[random.choice(candidates, wanted, replace=False)] = False
    return np.flatnonzero(~free)


def class_sizes(profile: str, available: np.ndarray, total: int, *seed: object) -> np.ndarray:
    """How many training images each class gives, about `total` in all; which classes are large is drawn.

    `paper`: a head class of 13 % of all, the next 9 % of the classes with about 4 % each, the others with
    0.07 to 1.04 % each, as in the published ImageNet list. `groups`: the same three groups, all classes of a
    group alike. `exponential:RHO`: sizes fall geometrically, the largest is RHO times the smallest.
    `balanced`: all alike.
    """
    classes = len(available)
    random = generator("imbalance", profile, *seed)
    name, _, argument = profile.partition(":")
    if name == "balanced" and not argument:
        shares = np.ones(classes)
    elif name == "exponential":
        shares = _ratio(profile, argument) ** -np.linspace(0, 1, classes)
    elif name in ("paper", "groups") and not argument:
        shares = _three_groups(classes, name == "paper", random)
    else:
        raise UsageError(f"imbalance '{profile}': expected {PROFILES}")
    order = random.permutation(classes) if name != "balanced" else np.arange(classes)
    sizes = np.empty(classes, np.int64)
    sizes[order] = _rounded(shares / shares.sum() * total)
    return np.minimum(np.maximum(sizes, 1), available)


def _ratio(profile: str, argument: str) -> float:
    try:
        ratio = float(argument)
    except ValueError:
        ratio = 0.0
    if not 1 <= ratio < float("inf"):
        raise UsageError(f"imbalance '{profile}': expected exponential:RHO with a number RHO of 1 or more")
    return ratio


def _three_groups(classes: int, spread: bool, random: np.random.Generator) -> np.ndarray:
    """Shares of 1 %, 9 % and 90 % of the classes, at least one class each."""
    head, middle = max(1, round(0.01 * classes)), max(1, round(0.09 * classes))
    tail = classes - head - middle
    if tail < 1:
        raise UsageError(f"imbalance in three groups: {classes} classes, expected at least 3")
    shares = [np.full(head, HEAD)]
    for count, (low, mean, high) in ((middle, MIDDLE), (tail, TAIL)):
        drawn = random.uniform(low, high, count) if spread else np.ones(count)
        shares.append(drawn * mean / drawn.mean())
    return np.concatenate(shares)


def _rounded(sizes: np.ndarray) -> np.ndarray:
    """Whole numbers of the same sum: the largest remainders are rounded up."""
    floor = np.floor(sizes).astype(np.int64)
    up = round(float(sizes.sum())) - int(floor.sum())
    floor[np.argsort(floor - sizes, kind="stable")[:up]] += 1
    return floor


def draw_training(labels: np.ndarray, profile: str, total: int, *seed: object) -> np.ndarray:
    """Rows of a single-label set that form a training set of this imbalance."""
    per_row = labels.sum(axis=1)
    if (per_row > 1).any():
        raise UsageError("imbalance: images with several labels cannot be drawn class by class")
    sizes = class_sizes(profile, labels.sum(axis=0), total, *seed)
    random = generator("train", profile, *seed)
    rows = [random.choice(np.flatnonzero(labels[:, c]), size, replace=False) for c, size in enumerate(sizes)]
    return np.sort(np.concatenate(rows))
