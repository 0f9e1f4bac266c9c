"""The query side of a count: codes and labels of the queries, checked, and how the database must be laid out for them.

The database side is `shards`; counting is `counting`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.errors import UsageError
from benchmark.evaluation.codes import pack_any
from benchmark.evaluation.shards import Layout, Shard, are_packed
from benchmark.labels import (
    LabelLists,
    as_multi_hot,
    could_be_lists,
    holds_class_numbers,
    read_labels,
    warn_if_ambiguous,
)
from benchmark.wording import counted


@dataclass(frozen=True, eq=False)
class Queries:
    """The query side, ready to be counted against any part of a database laid out as told."""

    packed: np.ndarray  # (q, bytes) uint8
    labels: np.ndarray  # (q, classes) bool
    grades: int  # 2, or 1 + the most labels a query has
    layout: Layout

    @property
    def bits(self) -> int:
        return self.layout.bits

    def empty_counts(self) -> np.ndarray:
        return np.zeros((len(self.packed), self.bits + 1, self.grades), np.int64)


def read_queries(
    codes: Any, labels: Any, bits: int | None, classes: int | None, example: Shard | None, graded: bool
) -> Queries:
    """Check the query side; `example` tells the number of classes where query labels are class numbers."""
    packed, width = pack_any(codes, bits, "query codes")
    if not len(packed):
        raise UsageError("query codes: no rows, expected at least one query")
    try:
        hot, numbered = _multi_hot(labels, classes, example)
    except UsageError as error:
        raise UsageError(str(error).replace("labels", "query labels", 1)) from error
    if len(hot) != len(packed):
        raise UsageError(f"query labels: {counted(len(hot), 'row')}, expected {len(packed)} as the query codes have")
    most = int(hot.sum(axis=1).max(initial=0))
    layout = Layout(
        bits=width,
        classes=hot.shape[1],
        packed_codes=bits is not None,
        packed_labels=classes is not None,
        other_classes=classes is None and numbered,
    )
    return Queries(packed, hot, max(2, most + 1) if graded else 2, layout)


def _multi_hot(labels: Any, classes: int | None, example: Shard | None) -> tuple[np.ndarray, bool]:
    """Query labels as multi-hot bool, unpacked where they come packed; and whether they were class numbers."""
    found = read_labels(labels)
    if are_packed(found, classes):
        return np.unpackbits(np.asarray(found), axis=1, count=classes).astype(bool), False
    if example is not None:
        _refuse_two_forms(labels, found, example)
    numbered = isinstance(found, LabelLists) or holds_class_numbers(found)
    if classes is None and numbered and example is not None:
        classes = example.classes
        if isinstance(found, np.ndarray) and found.ndim == 2 and classes is None:  # one column
            warn_if_ambiguous(found, example.labels[:1000])
            found = found.reshape(-1)
    hot = as_multi_hot(found, classes)
    # No column at all: class numbers, all of them "unlabelled".
    return (hot if hot.shape[1] else np.zeros((len(hot), 1), bool)), numbered


def _refuse_two_forms(labels: Any, found: np.ndarray | LabelLists, example: Shard) -> None:
    """Lists of 0 and 1 are multi-hot by themselves; beside lists of class numbers they could be such lists too."""
    both = isinstance(found, LabelLists) and example.could_be_lists
    if both or (isinstance(example.labels, LabelLists) and could_be_lists(labels, found)):
        raise UsageError(
            "labels: lists of 0 and 1 on one side, of class numbers on the other; "
            "give multi-hot as an array, or else class numbers as sets"
        )
