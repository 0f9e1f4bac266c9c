"""The audit of a data set's splits: what a reader must know before believing any number computed on them.

Sizes, duplicates, query rows inside the database, training rows outside it, unlabelled rows, class histogram
and its head, middle and tail, the fraction of similar pairs, and the MAP that a random ranking would get. A
wrong split is an error, a doubtful one a warning. Nothing is repaired here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmark.contracts import Split, Splits
from benchmark.evaluation.counting import count
from benchmark.evaluation.metrics import chance_map

GROUPS = ("head", "middle", "tail")
SHARES = (0.01, 0.09)  # of the classes are head and middle: 1, 9 and 90 of ImageNet's 100, as in the paper
SKEWED = 2.0  # below this ratio of the largest to the smallest class there is no head and no tail


@dataclass(frozen=True)
class PartAudit:
    """One split: rows, rows whose name occurred before, rows without a label, and images per class."""

    rows: int
    duplicates: int | None  # None where rows have no names
    unlabelled: int | None  # None where there are no labels
    labels_per_row: float | None
    class_counts: list[int] | None


@dataclass(frozen=True)
class Audit:
    """What was found. `errors` make a split unusable unless the user insists; `warnings` go into every
    record."""

    parts: dict[str, PartAudit]
    classes: int | None
    overlap: int | None  # query rows that are database rows too, by name
    same_features: int | None  # query rows whose features equal those of a database row
    train_in_query: int | None
    train_outside_database: int | None
    similar_pairs: float | None  # fraction of the training pairs, no row paired with itself
    groups: dict[str, list[int]]  # class numbers of head, middle, tail; empty where classes are balanced
    map_cutoff: int
    chance_map: float | None
    class_names: list[str] | None = None
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def audit(splits: Splits, map_cutoff: int, allow_overlap: bool = False) -> Audit:
    """Examine the splits; with `allow_overlap`, queries inside the database are a warning."""
    parts = {name: _audit_part(split) for name, split in splits.parts().items()}
    counts = parts["train"].class_counts
    labels = splits.query.labels
    found = Audit(
        parts=parts,
        classes=None if labels is None else labels.shape[1],
        overlap=_shared(splits.query, splits.database),
        same_features=_same_features(splits.query.features, splits.database.features),
        train_in_query=_shared(splits.train, splits.query),
        train_outside_database=_outside(splits.train, splits.database),
        similar_pairs=_similar_pairs(splits.train),
        groups={} if counts is None else class_groups(counts),
        map_cutoff=map_cutoff,
        chance_map=_chance(splits.query, splits.database, map_cutoff),
        class_names=None if splits.class_names is None else [str(name) for name in splits.class_names],
    )
    _judge(found, allow_overlap)
    found.notes.extend(splits.notes)
    return found


def _audit_part(split: Split) -> PartAudit:
    duplicates = None if split.ids is None else len(split) - len(set(split.ids))
    if split.labels is None:
        return PartAudit(len(split), duplicates, None, None, None)
    per_row = split.labels.sum(axis=1)
    mean = float(per_row.mean()) if len(split) else 0.0
    return PartAudit(len(split), duplicates, int((per_row == 0).sum()), mean, split.labels.sum(axis=0).tolist())


def _shared(one: Split, other: Split) -> int | None:
    if one.ids is None or other.ids is None:
        return None
    names = set(other.ids)
    return sum(name in names for name in one.ids)


def _outside(train: Split, database: Split) -> int | None:
    shared = _shared(train, database)
    return None if shared is None else len(train) - shared


def _row_keys(features: np.ndarray) -> np.ndarray:
    """Equal rows have equal keys, others almost surely not: exact arithmetic modulo 2^64 over the rows'
    bits."""
    multipliers = np.random.default_rng(0).integers(1, 2**63, features.shape[1], np.uint64) | np.uint64(1)
    keys = np.empty(len(features), np.uint64)
    for start in range(0, len(features), 4096):
        block = np.ascontiguousarray(features[start : start + 4096], np.float32) + np.float32(0)  # -0 equals 0
        keys[start : start + 4096] = (block.view(np.uint32) * multipliers).sum(axis=1, dtype=np.uint64)
    return keys


def _same_features(query: np.ndarray | None, database: np.ndarray | None) -> int | None:
    if query is None or database is None or query.shape[1] != database.shape[1]:
        return None
    return int(np.isin(_row_keys(query), _row_keys(database)).sum())


def _similar_pairs(train: Split) -> float | None:
    """Of the known pairs of different training rows, the fraction that is similar."""
    if train.similarity is None or len(train) < 2:
        return None
    if train.labels is None:
        degrees = train.similarity.degrees()
        similar, total = int(degrees.similar.sum()), int(degrees.total.sum())
    else:  # counted as relevant items are; a labelled row is similar to itself, and not counted
        alike = np.ones((len(train), 1), np.int8)
        shared = int(count(alike, alike, train.labels, train.labels).counts[:, :, 1].sum())
        similar, total = shared - int(train.labels.any(axis=1).sum()), len(train) * (len(train) - 1)
    return similar / total if total else None


def class_groups(train_counts: Sequence[int] | np.ndarray) -> dict[str, list[int]]:
    """Classes by their number of training images: the top 1 %, the next 9 %, the rest (each at least one).

    Empty where the largest class has less than twice the images of the smallest: then nothing is rare.
    """
    counts = np.asarray(train_counts)
    if len(counts) < len(GROUPS) or counts.max() < SKEWED * max(1, counts.min()):
        return {}
    order = np.argsort(-counts, kind="stable")
    head = max(1, round(SHARES[0] * len(counts)))
    middle = max(1, round(SHARES[1] * len(counts)))
    pieces = np.split(order, [head, head + middle])
    return {name: sorted(piece.tolist()) for name, piece in zip(GROUPS, pieces, strict=True)}


def _chance(query: Split, database: Split, k: int) -> float | None:
    """MAP@k of a random ranking, exactly; None where there are no labels, or nothing is relevant to any query."""
    if query.labels is None or database.labels is None or not len(query) or not len(database):
        return None
    value = chance_map(query.labels, database.labels, k)
    return value if np.isfinite(value) else None


def _judge(found: Audit, allow_overlap: bool) -> None:
    """Turn what was counted into errors and warnings."""
    errors, warnings = found.errors, found.warnings
    for name, part in found.parts.items():
        if not part.rows:
            errors.append(f"{name} is empty")
        if part.duplicates:
            warnings.append(f"{part.duplicates:,} duplicate rows in {name}")
        if part.unlabelled:
            warnings.append(f"{part.unlabelled:,} of {part.rows:,} rows in {name} have no label")
    if found.overlap:
        (warnings if allow_overlap else errors).append(
            f"{found.overlap:,} of {found.parts['query'].rows:,} query rows are in the database too"
            + ("" if allow_overlap else "; leave them out (drop_overlap=true for lists), or --allow-overlap")
        )
    elif found.same_features:
        warnings.append(f"{found.same_features:,} query rows have the features of a database row")
    if found.train_in_query:
        warnings.append(f"{found.train_in_query:,} training rows are query rows too")
    if found.train_outside_database:
        warnings.append(f"{found.train_outside_database:,} training rows are outside the database")
    absent = [count for count in found.parts["train"].class_counts or [] if not count]
    if absent:
        warnings.append(f"{len(absent)} of {found.classes} classes have no training row")


def render(found: Audit) -> str:
    """The audit as text for a terminal: sizes, what is wrong or doubtful, the skew, and the level of
    chance."""
    lines = [f"  {'':10}{'rows':>9}{'duplicates':>12}{'unlabelled':>12}{'labels/row':>12}"]
    for name, part in found.parts.items():
        mean = "-" if part.labels_per_row is None else f"{part.labels_per_row:.3f}"
        cells = [_number(part.rows), _number(part.duplicates), _number(part.unlabelled), mean]
        lines.append(f"  {name:10}{cells[0]:>9}{cells[1]:>12}{cells[2]:>12}{cells[3]:>12}")
    facts = {
        "classes": _number(found.classes),
        "query rows in database": _number(found.overlap),
        "training rows outside database": _number(found.train_outside_database),
        "similar training pairs": "-" if found.similar_pairs is None else f"{100 * found.similar_pairs:.2f} %",
        f"MAP@{found.map_cutoff} of a random ranking": "-" if found.chance_map is None else f"{found.chance_map:.4f}",
    }
    lines += [f"  {name}: {value}" for name, value in facts.items()]
    lines += _render_classes(found)
    for kind in ("errors", "warnings", "notes"):
        lines += [f"  {kind[:-1]}: {text}" for text in getattr(found, kind)]
    return "\n".join(lines)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _render_classes(found: Audit) -> list[str]:
    """Training images per class, by group where there are groups."""
    counts = found.parts["train"].class_counts
    if not counts:
        return []
    groups = found.groups or {"all": list(range(len(counts)))}
    lines = ["  training images per class:"]
    for name, members in groups.items():
        sizes = sorted((counts[number] for number in members), reverse=True)
        spread = f"{sizes[0]:,}" if sizes[0] == sizes[-1] else f"{sizes[0]:,} down to {sizes[-1]:,}"
        median = sizes[len(sizes) // 2]
        lines.append(f"    {name:7}{len(sizes):>4} classes: {spread} (median {median:,}, sum {sum(sizes):,})")
    return lines
