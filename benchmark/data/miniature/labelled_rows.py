"""Which rows a miniature has: classes, splits, proportions and names, by the paper's protocol scaled down.

Single-label (ImageNet): class-sorted database, skewed training rows out of it, balanced queries. Multi-label
(NUS-WIDE, MS-COCO): label sets drawn from a long-tailed population, some queries per class, the rest database,
training rows at random out of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmark.contracts import Split, Splits
from benchmark.data.miniature.glyphs import Pool
from benchmark.data.miniature.pixels import Canvases
from benchmark.data.miniature.scenes import Palette, Variation, draw_scenes
from benchmark.seeds import generator

MOST_LABELS = 9  # the cells of a canvas
SMALL = Variation(sizes=(12, 15))  # glyphs that leave room for others


@dataclass(frozen=True)
class OneLabelProtocol:
    """One class per image. The training set takes `head` rows of one class, about `middle` of nine, and on
    average `tail` of the rest; the head class has that many database rows, every other `per_class`."""

    palette: Palette
    variation: Variation
    head: int
    middle: int
    tail: int
    per_class: int
    queries_per_class: int


@dataclass(frozen=True)
class ManyLabelsProtocol:
    """Several classes per image. `label_counts[n]` is how many images of the real training list have n labels;
    class frequency falls as rank ** -`decay`; class 0, if `dominant`, is in that share of images (of 1000)."""

    palette: Palette
    label_counts: tuple[int, ...]
    decay: float
    dominant: int = 0
    variation: Variation = SMALL
    population: int = 20_000
    database: int = 8_000
    train: int = 2_500
    queries_per_class: int = 10


RowProtocol = OneLabelProtocol | ManyLabelsProtocol


def miniature_splits(name: str, protocol: RowProtocol) -> Splits:
    """All rows of the miniature called `name`; its name seeds every number."""
    if isinstance(protocol, OneLabelProtocol):
        return _one_label_splits(name, protocol)
    return _many_labels_splits(name, protocol)


def _one_label_splits(name: str, protocol: OneLabelProtocol) -> Splits:
    """The skewed, single-label miniature; its database is sorted by class."""
    classes = len(protocol.palette.class_names)
    wanted = _skewed_counts(name, protocol, classes)
    held = np.maximum(wanted, protocol.per_class)
    database = np.repeat(np.arange(classes), held)
    query = np.repeat(np.arange(classes), protocol.queries_per_class)
    start = np.cumsum(held) - held
    rng = generator(name, "training rows")
    train = [start[c] + np.sort(rng.permutation(held[c])[: wanted[c]]) for c in range(classes)]
    return _splits(name, protocol, query[:, None], database[:, None], np.concatenate(train))


def _skewed_counts(name: str, protocol: OneLabelProtocol, classes: int) -> np.ndarray:
    """Training rows per class: one head class, nine middle ones within 5 %, tail ones from 1/8 to 15/8 of `tail`."""
    rng = generator(name, "class sizes")
    order = rng.permutation(classes)
    counts = np.empty(classes, np.int64)
    counts[order[0]] = protocol.head
    counts[order[1:10]] = protocol.middle + rng.permutation(9) - 4
    tail = order[10:]
    steps = 2 * np.arange(len(tail)) - (len(tail) - 1)  # odd numbers around 0: the mean stays `tail`
    counts[tail] = protocol.tail + np.sign(steps) * (np.abs(steps) * (7 * protocol.tail) // (8 * len(tail)))
    return counts


def _many_labels_splits(name: str, protocol: ManyLabelsProtocol) -> Splits:
    """The long-tailed, multi-label miniature. Queries are drawn per class, so every query has a label."""
    population = _label_sets(name, protocol)
    rng = generator(name, "splits")
    query = _query_rows(rng, population, protocol)
    rest = rng.permutation(np.setdiff1d(np.arange(len(population)), query))
    database = np.sort(rest[: protocol.database])
    train = np.sort(rng.permutation(protocol.database)[: protocol.train])
    return _splits(name, protocol, population[query], population[database], train)


def _label_sets(name: str, protocol: ManyLabelsProtocol) -> np.ndarray:
    """(population, MOST_LABELS) distinct class numbers, padded by -1."""
    rng = generator(name, "label sets")
    rows, classes = protocol.population, len(protocol.palette.class_names)
    counts = _draw(rng, np.array(protocol.label_counts), rows)
    ranks = np.arange(1, classes + 1, dtype=float) ** -protocol.decay
    weights = np.rint(ranks * 10_000).astype(np.int64)[rng.permutation(classes)]
    has_dominant = rng.integers(0, 1000, rows) < protocol.dominant
    if protocol.dominant:
        weights[0] = 0
    candidates = _draw(rng, weights, rows * 64).reshape(rows, 64)
    sets = np.full((rows, MOST_LABELS), -1)
    for row, (count, dominant) in enumerate(zip(counts, has_dominant, strict=True)):
        chosen = dict.fromkeys([0] * int(dominant) + candidates[row].tolist())
        sets[row, :count] = list(chosen)[:count]
    return sets


def _draw(rng: np.random.Generator, weights: np.ndarray, size: int) -> np.ndarray:
    """Numbers 0 to len(weights) - 1 with probability in proportion to integer weights."""
    edges = np.cumsum(weights)
    return np.searchsorted(edges, rng.integers(0, edges[-1], size), side="right")


def _query_rows(rng: np.random.Generator, population: np.ndarray, protocol: ManyLabelsProtocol) -> np.ndarray:
    """So many rows of each class, none twice; rare classes choose first, while their rows are free."""
    classes = len(protocol.palette.class_names)
    free = np.ones(len(population), bool)
    sizes = [np.count_nonzero(population == c) for c in range(classes)]
    for c in np.argsort(sizes, kind="stable"):
        rows = np.flatnonzero((population == c).any(1) & free)
        free[rng.permutation(rows)[: protocol.queries_per_class]] = False
    return np.flatnonzero(~free)


def _splits(
    name: str,
    protocol: RowProtocol,
    query: np.ndarray,
    database: np.ndarray,
    train: np.ndarray,
) -> Splits:
    query_split = _split(name, protocol, "query", query)
    database_split = _split(name, protocol, "database", database)
    return Splits(
        train=database_split.take(train),
        query=query_split,
        database=database_split,
        class_names=protocol.palette.class_names,
    )


def _split(name: str, protocol: RowProtocol, part: Pool, classes: np.ndarray) -> Split:
    scenes = draw_scenes(generator(name, "scenes", part), part, classes, protocol.palette, protocol.variation)
    labels = np.zeros((len(classes), len(protocol.palette.class_names) + 1), bool)
    labels[np.arange(len(classes))[:, None], classes] = True  # -1, an empty slot, lands in the spare column
    ids = [f"{name}/{part}/{row:05d}" for row in range(len(classes))]
    return Split(images=Canvases(scenes, name, part), labels=labels[:, :-1], ids=ids)
