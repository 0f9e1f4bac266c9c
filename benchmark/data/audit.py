"""The audit of a data set's splits: what a reader must know before believing any number computed on them.

Sizes, duplicates, query rows inside the database, training rows outside it, unlabelled rows, class histogram
and its head, middle and tail, the fraction of similar pairs, and the MAP that a random ranking would get. A
wrong split is an error, a doubtful one a warning. Nothing is repaired here. When two rows are the same image is
decided by `benchmark.data.row_identity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmark.contracts import Split, Splits
from benchmark.data.row_identity import RowIdentity, row_keys
from benchmark.evaluation.counting import count
from benchmark.evaluation.metrics import chance_map, map_name
from benchmark.wording import counted

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
    same_bytes: int | None = None  # files whose bytes occurred before under another name; None without files


@dataclass(frozen=True)
class Audit:
    """What was found. `errors` make a split unusable unless the user insists; `warnings` go into every
    record."""

    parts: dict[str, PartAudit]
    classes: int | None
    overlap: int | None  # query rows that are database rows too
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
    overlap_by_base_name: int | None = None  # of those of `overlap`, how many can be compared by base name only
    same_bytes: int | None = None  # query files whose bytes are those of a database file of another name

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def audit(splits: Splits, map_cutoff: int, allow_overlap: bool = False) -> Audit:
    """Examine the splits; with `allow_overlap`, queries inside the database are a warning."""
    rows = {name: RowIdentity.of(split) for name, split in splits.parts().items()}
    parts = {name: _audit_part(split, rows[name]) for name, split in splits.parts().items()}
    counts = parts["train"].class_counts
    labels = splits.query.labels
    found = Audit(
        parts=parts,
        classes=None if labels is None else labels.shape[1],
        **_common_rows(rows),
        same_features=_same_features(splits, rows),
        similar_pairs=_similar_pairs(splits.train),
        groups={} if counts is None or _all_unseen(labels, counts) else class_groups(counts),
        map_cutoff=map_cutoff,
        chance_map=_chance(splits.query, splits.database, map_cutoff),
        class_names=None if splits.class_names is None else [str(name) for name in splits.class_names],
    )
    _judge(found, allow_overlap)
    found.notes.extend(splits.notes)
    return found


def _audit_part(split: Split, rows: RowIdentity) -> PartAudit:
    duplicates = None if split.ids is None else len(split) - len(set(split.ids))
    same_bytes = _same_bytes_within(rows)
    if split.labels is None:
        return PartAudit(len(split), duplicates, None, None, None, same_bytes)
    per_row = split.labels.sum(axis=1)
    mean = float(per_row.mean()) if len(split) else 0.0
    counts = split.labels.sum(axis=0).tolist()
    return PartAudit(len(split), duplicates, int((per_row == 0).sum()), mean, counts, same_bytes)


def _same_bytes_within(rows: RowIdentity) -> int | None:
    """How many files have the bytes of another one of the same part."""
    if not rows.files or rows.contents is None or rows.ids is None:
        return None
    files = {name: content for name, content in zip(rows.ids, rows.contents, strict=True) if content is not None}
    return len(files) - len(set(files.values()))


def _common_rows(rows: Mapping[str, RowIdentity]) -> dict[str, Any]:
    """How many rows two parts have in common, of those pairs of parts that should, or should not, have any."""
    train, query, database = rows["train"], rows["query"], rows["database"]
    overlap, kept = query.shared_with(database), train.shared_with(database)
    alike = query.same_content(database) if query.files and overlap is not None else None
    return {
        "overlap": _number_of(overlap),
        "overlap_by_base_name": None if overlap is None else _number_of(query.shared_base_names(database)),
        "same_bytes": None if alike is None else _number_of(alike & ~np.asarray(overlap)),
        "train_in_query": _number_of(train.shared_with(query)),
        "train_outside_database": None if kept is None else _number_of(~kept),
    }


def _number_of(rows: np.ndarray | None) -> int | None:
    return None if rows is None else int(rows.sum())


def _same_features(splits: Splits, rows: Mapping[str, RowIdentity]) -> int | None:
    query, database = splits.query.features, splits.database.features
    if query is None or database is None or query.shape[1] != database.shape[1]:
        return None
    if rows["query"].files or rows["database"].files:  # their contents are known by the files
        return _number_of(np.isin(row_keys(query), row_keys(database)))
    return _number_of(rows["query"].same_content(rows["database"]))


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


def _all_unseen(query_labels: np.ndarray | None, train_counts: Sequence[int]) -> bool:
    """Whether queries are of classes alone that no training row has: then none of these is a head or a tail."""
    if query_labels is None or query_labels.shape[1] != len(train_counts):
        return False
    return not query_labels[:, np.asarray(train_counts) > 0].any()


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
    value = chance_map(query.labels, database.labels, k or None)
    return value if np.isfinite(value) else None


def _judge(found: Audit, allow_overlap: bool) -> None:
    """Turn what was counted into errors and warnings."""
    errors, warnings = found.errors, found.warnings
    for name, part in found.parts.items():
        if not part.rows:
            errors.append(f"{name} is empty")
        if part.duplicates:
            warnings.append(f"{counted(part.duplicates, 'duplicate row')} in {name}")
        if part.same_bytes:
            warnings.append(
                f"{counted(part.same_bytes, 'image')} of {name} with the bytes of another one, under another name"
            )
        if part.unlabelled:
            warnings.append(f"{part.unlabelled:,} of {part.rows:,} rows in {name} without a label")
    if found.overlap:
        (warnings if allow_overlap else errors).append(
            f"{found.overlap:,} of {found.parts['query'].rows:,} query rows also in the database"
            + ("" if allow_overlap else "; leave them out (drop_overlap=true for lists), or --allow-overlap")
        )
    elif found.same_features:
        warnings.append(f"{counted(found.same_features, 'query row')} with the features of a database row")
    if found.overlap_by_base_name:
        warnings.append(
            f"{found.overlap_by_base_name:,} of these were compared by base name only: path prefixes differ between "
            "query and database, and the files are not here to compare"
        )
    if found.same_bytes:
        warnings.append(
            f"{counted(found.same_bytes, 'query image')} with the bytes of a database image of another name"
        )
    if found.train_in_query:
        warnings.append(f"{counted(found.train_in_query, 'training row')} also among the queries")
    if found.train_outside_database:
        warnings.append(f"{counted(found.train_outside_database, 'training row')} outside the database")
    absent = [count for count in found.parts["train"].class_counts or [] if not count]
    if absent:
        warnings.append(f"{len(absent)} of {found.classes} classes have no training row")


def audit_text(found: Audit) -> str:
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
        f"{map_name(found.map_cutoff)} of a random ranking": "-"
        if found.chance_map is None
        else f"{found.chance_map:.4f}",
    }
    lines += [f"  {name}: {value}" for name, value in facts.items()]
    lines += _class_lines(found)
    for kind in ("errors", "warnings", "notes"):
        lines += [f"  {kind[:-1]}: {text}" for text in getattr(found, kind)]
    return "\n".join(lines)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _class_lines(found: Audit) -> list[str]:
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
