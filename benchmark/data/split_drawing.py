"""The protocols of the papers as code: drawing queries, database and training set from all images of a data set.

Everything is drawn from a seed and named parts, so that the same images give the same splits anywhere. Where
images come from, and how the lists are written, is `benchmark.data.official`'s part.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmark.errors import UsageError
from benchmark.seeds import generator

PROFILES = "paper, groups, balanced, exponential:RHO or zipf:MU"
# The published ImageNet list, per image: a class of 1300, nine of 385 to 422, ninety of 7 to 104; low, mean, high.
HEAD, MIDDLE, TAIL = 0.13, (0.0385, 0.04108, 0.0422), (0.0007, 0.00556, 0.0104)


@dataclass(frozen=True)
class Drawn:
    """Row numbers of the three parts."""

    train: np.ndarray
    query: np.ndarray
    database: np.ndarray


@dataclass(frozen=True)
class MultiLabelSizes:
    """How many rows each part gets. Of queries and of training rows, what is per class goes before what is in all."""

    queries_per_class: int = 0
    queries: int = 0  # of all images, whatever their classes
    train_per_class: int = 0
    train_size: int = 0  # of all that remain
    train_in_database: bool = True
    unlabelled: Literal["keep", "drop"] = "keep"

    def __str__(self) -> str:
        queries = f"{self.queries_per_class} queries per class" if self.queries_per_class else f"{self.queries} queries"
        per_class = f"{self.train_per_class} training images per class"
        training = per_class if self.train_per_class else f"{self.train_size} training images"
        apart = "" if self.train_in_database else " outside the database"
        return f"{queries}, {training}{apart}, unlabelled {self.unlabelled}"


@dataclass(frozen=True)
class SingleLabelSizes:
    """The same where an image has one class. With `official`, queries are of the test part and the rest of it is left
    out; else they are drawn from all images."""

    queries_per_class: int = 0  # 0, with `official`: all of the test part
    train_size: int = 0  # 0: the whole database
    imbalance: str = "balanced"
    train_in_database: bool = True
    official: bool = False

    def __str__(self) -> str:
        queries = f"{self.queries_per_class} queries per class" if self.queries_per_class else "all of it queries"
        part = f"official test part, {queries}" if self.official else queries
        apart = "" if self.train_in_database else " outside the database"
        drawn = f"imbalance {self.imbalance}, {self.train_size} training images{apart}"
        return f"{part}, {drawn if self.train_size else 'all of the database training'}"


def draw_multi_label(labels: np.ndarray, sizes: MultiLabelSizes, *seed: object) -> Drawn:
    """Queries first; the rest is the database, of which the training rows are drawn. Per class means: the rarest class
    first, no image twice."""
    if sizes.queries_per_class:
        query = draw_queries(labels, sizes.queries_per_class, *seed)
    else:
        query = _chosen(np.arange(len(labels)), sizes.queries, "queries", generator("query", *seed))
    database = np.setdiff1d(np.arange(len(labels)), query)
    random = generator("train", *seed)
    if sizes.train_per_class:
        train = database[_rarest_first(labels[database], np.full(labels.shape[1], sizes.train_per_class), random)]
    else:
        train = _chosen(database, sizes.train_size, "training images", random)
    return Drawn(train, query, database if sizes.train_in_database else np.setdiff1d(database, train))


def _chosen(rows: np.ndarray, wanted: int, what: str, random: np.random.Generator) -> np.ndarray:
    if len(rows) < wanted:
        raise UsageError(f"{len(rows):,} images remain, too few for {wanted:,} {what}")
    return rows[np.sort(random.choice(len(rows), wanted, replace=False))]


def draw_single_label(labels: np.ndarray, in_test: np.ndarray, sizes: SingleLabelSizes, *seed: object) -> Drawn:
    """Queries from all images, or from those of the official test part; training rows by imbalance."""
    if sizes.official:
        test, database = np.flatnonzero(in_test), np.flatnonzero(~in_test)
        per_class = np.full(labels.shape[1], sizes.queries_per_class)
        drawn = sizes.queries_per_class > 0
        query = test[_rarest_first(labels[test], per_class, generator("query", *seed))] if drawn else test
    else:
        query = draw_queries(labels, sizes.queries_per_class, *seed)
        database = np.setdiff1d(np.arange(len(labels)), query)
    if not sizes.train_size:
        return Drawn(database, query, database)
    train = database[draw_training(labels[database], sizes.imbalance, sizes.train_size, *seed)]
    return Drawn(train, query, database if sizes.train_in_database else np.setdiff1d(database, train))


def draw_queries(labels: np.ndarray, per_class: int, *seed: object) -> np.ndarray:
    """Row numbers of the queries. A class with too few images gives at most half of what it has."""
    return _rarest_first(labels, np.minimum(per_class, labels.sum(axis=0) // 2), generator("query", *seed))


def _rarest_first(labels: np.ndarray, wanted: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Row numbers of so many images of each class, or as many as it has left; no image twice."""
    free = np.ones(len(labels), bool)
    for column in np.argsort(labels.sum(axis=0), kind="stable"):
        candidates = np.flatnonzero(labels[:, column] & free)
        free[random.choice(candidates, min(int(wanted[column]), len(candidates)), replace=False)] = False
    return np.flatnonzero(~free)


def class_sizes(profile: str, available: np.ndarray, total: int, *seed: object) -> np.ndarray:
    """How many training images each class gives, about `total` in all; which classes are large is drawn.

    `paper`: a head class of 13 % of all, the next 9 % of the classes with about 4 % each, the others with
    0.07 to 1.04 % each, as in the published ImageNet list. `groups`: the same three groups, all classes of a
    group alike. `exponential:RHO`: sizes fall geometrically, the largest is RHO times the smallest.
    `zipf:MU`: the i-th largest class has floor(n i^-MU) images, as in the long-tail papers, with the largest n that
    takes no more than `total`. `balanced`: all alike.
    """
    classes = len(available)
    random = generator("imbalance", profile, *seed)
    name, _, argument = profile.partition(":")
    if name == "zipf":
        falling = _zipf_sizes(_number(profile, argument, "zipf:MU", 0), classes, total)
        return _dealt(np.maximum(falling, 1), available, random)
    if name == "balanced" and not argument:
        shares = np.ones(classes)
    elif name == "exponential":
        shares = _number(profile, argument, "exponential:RHO", 1) ** -np.linspace(0, 1, classes)
    elif name in ("paper", "groups") and not argument:
        shares = _three_groups(classes, name == "paper", random)
    else:
        raise UsageError(f"imbalance '{profile}': expected {PROFILES}")
    order = random.permutation(classes) if name != "balanced" else np.arange(classes)
    sizes = np.empty(classes, np.int64)
    sizes[order] = _rounded(shares / shares.sum() * total)
    return np.minimum(np.maximum(sizes, 1), available)


def _number(profile: str, argument: str, form: str, least: int) -> float:
    try:
        number = float(argument)
    except ValueError:
        number = float("nan")
    if not least <= number < float("inf"):
        word = form.partition(":")[2]
        raise UsageError(f"imbalance '{profile}': expected {form} with a number {word} of {least} or more")
    return number


def _zipf_sizes(exponent: float, classes: int, total: int) -> np.ndarray:
    """floor(n i^-exponent) for i = 1, 2, ...; the sum grows with n, so that its largest value is found by halving."""
    falling = np.arange(1, classes + 1) ** exponent

    def sizes(largest: int) -> np.ndarray:
        return np.asarray(np.floor(largest / falling), np.int64)

    return sizes(bisect.bisect_right(range(total + 1), total, key=lambda largest: int(sizes(largest).sum())) - 1)


def _dealt(falling: np.ndarray, available: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Which class has which size is drawn, the largest first, among the classes that have so many images."""
    sizes, waiting = np.empty(len(falling), np.int64), random.permutation(len(falling))
    for size in falling:
        stock = available[waiting]
        place = int(np.argmax(stock >= min(size, stock.max())))
        sizes[waiting[place]] = min(size, stock[place])
        waiting = np.delete(waiting, place)
    return sizes


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
