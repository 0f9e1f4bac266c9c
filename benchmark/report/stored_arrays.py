"""The arrays behind the records, read once per key and averaged over seeds. Only the store opens files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.execution.record import Record

if TYPE_CHECKING:
    import pandas as pd

KEPT = ("ap", "recall", "precision", "precision_at_radius", "recall_at_radius", "n", "precision_at_n", "class_ap")


class StoredArrays:
    """Arrays by record key. Codes are large and read again when asked for; the rest stays in memory."""

    def __init__(self, store: Any, records: list[Record], at_hand: Mapping[str, Any] | None = None) -> None:
        self.store = store
        self.at_hand = at_hand or {}  # revision -> data set whose images can be shown
        self.records = {record.key: record for record in records}
        self._kept: dict[str, dict[str, np.ndarray]] = {}
        self._datasets: dict[str, dict[str, np.ndarray]] = {}

    def of(self, key: str) -> dict[str, np.ndarray]:
        """Scores and curve points of one record; empty where its payload is missing."""
        if key not in self._kept:
            arrays = {name: np.asarray(array) for name, array in self._read(key).items() if name in KEPT}
            self._kept[key] = {name: array for name, array in arrays.items() if _is_curve(array)}
        return self._kept[key]

    def codes(self, key: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Packed codes (query, database) of one record."""
        arrays = self._read(key)
        if "query_codes" not in arrays or "database_codes" not in arrays:
            return None
        return np.asarray(arrays["query_codes"]), np.asarray(arrays["database_codes"])

    def _read(self, key: str) -> dict[str, np.ndarray]:
        try:
            return dict(self.store.payload(self.records[key]))
        except (OSError, KeyError, ValueError):
            return {}  # a lost payload costs its curves, not the report

    def dataset(self, revision: str) -> dict[str, np.ndarray]:
        """Labels, ids and class names of one split; empty where they were not kept."""
        if revision not in self._datasets:
            try:
                self._datasets[revision] = dict(self.store.dataset(revision))
            except (OSError, KeyError, ValueError):
                self._datasets[revision] = {}
        return self._datasets[revision]

    def labels(self, revision: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Multi-hot labels (query, database)."""
        arrays = self.dataset(revision)
        if "query_labels" not in arrays or "database_labels" not in arrays:
            return None
        classes = int(arrays["classes"]) if "classes" in arrays else None
        return _unpack(arrays["query_labels"], classes), _unpack(arrays["database_labels"], classes)

    def mean(self, cells: pd.DataFrame, name: str, *, of_all: bool = False) -> np.ndarray | None:
        """An array averaged over the given cells; None where none has it, lengths differ, or `of_all` and one lacks it.

        A test or an interval speaks of the very cells whose mean stands in the table: it needs them all.
        """
        arrays = [self.of(key)[name] for key in cells["key"] if name in self.of(key)]
        if not arrays or len({array.shape for array in arrays}) > 1 or (of_all and len(arrays) < len(cells)):
            return None
        return arrays[0] if len(arrays) == 1 else np.mean(arrays, axis=0)

    def by_seed(self, cells: pd.DataFrame, name: str) -> np.ndarray | None:
        """An array of each seed, averaged over code lengths (seeds x values); None unless every cell has it.

        Where lengths were not run with the same seeds, one row, whose spread is not known: the mean over lengths of
        the mean over the seeds of each, as tables have it.
        """
        if self.mean(cells, name, of_all=True) is None:
            return None
        lengths = cells["bits"].nunique()
        rows = [own for _, own in cells.groupby("seed") if own["bits"].nunique() == lengths == len(own)]
        if len(rows) * lengths == len(cells):
            return np.stack([self._plain_mean(own["key"], name) for own in rows])
        return np.mean([self._plain_mean(own["key"], name) for _, own in cells.groupby("bits")], axis=0)[None]

    def _plain_mean(self, keys: Iterable[str], name: str) -> np.ndarray:
        return np.asarray(np.mean([self.of(key)[name] for key in keys], axis=0))

    def chance_by_group(self, cells: pd.DataFrame) -> dict[str, float]:
        """Group of classes -> macro MAP of a random ranking: all items at one distance, so exact."""
        from benchmark.evaluation.counting import count
        from benchmark.evaluation.metrics import score_counts

        for key, revision, k in zip(cells["key"], cells["revision"], cells["cutoff"], strict=True):
            groups = (self.records[key].audit or {}).get("groups")
            labels = self.labels(revision)
            if groups and labels is not None and k == k:
                same = count(np.ones((len(labels[0]), 1)), np.ones((len(labels[1]), 1)), *labels)
                return score_counts(same, int(k) or None).group_map(groups)
        return {}


def _is_curve(array: np.ndarray) -> bool:
    """A row of numbers, as all kept arrays are meant to be; anything else is treated as lost."""
    return array.ndim == 1 and array.dtype.kind in "biuf" and len(array) > 0


def _unpack(packed: np.ndarray, classes: int | None) -> np.ndarray:
    packed = np.asarray(packed)
    if packed.dtype == bool:
        return packed
    return np.unpackbits(packed.view(np.uint8), axis=1, count=classes).astype(bool)
