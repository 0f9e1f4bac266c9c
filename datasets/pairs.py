"""`pairs:FILE`: training from an explicit list of similar and dissimilar pairs, without any training labels.

FILE.npz with features: train_features, train_pairs (m, 2) row numbers, train_similar (m,) 0/1, and for the
evaluation query_features, query_labels, database_features, database_labels. Or FILE.txt with images: one pair
per line, two paths and 0 or 1, separated by spaces (by tabs where paths hold spaces); beside it query.txt and
database.txt, as for `lists:DIR`. Pairs that are not listed are unknown, neither similar nor dissimilar.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmark import PairSimilarity, Split, Splits, UsageError, register_dataset
from benchmark.data import (
    FeatureFile,
    ImageFiles,
    ListSplits,
    NamedDataset,
    cut_off,
    file_hash,
    file_title,
    given_path,
    images_under,
    joined_hash,
    need_file,
    read_text,
)
from benchmark.registry import name_of_own

SCORED = ("query", "database")
REQUIRED = [
    "train_features", "train_pairs", "train_similar",
    *(f"{part}_{kind}" for part in SCORED for kind in ("features", "labels")),
]  # fmt: skip


@register_dataset("pairs", title="Pairs from a file", takes="FILE")
class PairsFile(NamedDataset):
    """Pairs to learn from, labels to score by."""

    protocol = "as given"

    def __init__(
        self,
        argument: str,
        data_root: Path | None = None,
        *,
        map_cutoff: int | str = 1000,  # k of MAP@k, or all
    ) -> None:
        self._path = need_file("pairs file", given_path(argument))
        super().__init__(name_of_own("pairs", file_title("pairs file", self._path, stem=True)))
        self.map_cutoff = cut_off("pairs.map_cutoff", map_cutoff)
        self._root = data_root
        self.backbone = None if self._path.suffix == ".npz" else "alexnet"

    @property
    def revision(self) -> str:
        if self.backbone is None:
            return file_hash(self._path)
        return joined_hash([file_hash(self._path), self._scored.revision, *self._training_images.hashes])

    def check(self) -> None:
        if self.backbone is not None:
            self._scored.check()
        self.load()

    def load(self) -> Splits:
        return self._load_features() if self.backbone is None else self._load_images()

    def _load_features(self) -> Splits:
        file = FeatureFile.read(self._path, REQUIRED, ["class_names"])
        features, labels = file.features(("train", *SCORED)), file.labels(SCORED)
        pairs, similar = file.arrays["train_pairs"], file.arrays["train_similar"]
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or not len(pairs):
            file.fault("train_pairs", f"shape {pairs.shape} of {pairs.dtype}, expected (m, 2) row numbers")
        if similar.shape != (len(pairs),) or not np.isin(similar, (0, 1)).all():
            file.fault("train_similar", f"expected {len(pairs)} values of 0 or 1, one per row of train_pairs")
        rows = len(features["train"])
        if pairs.min() < 0 or pairs.max() >= rows:
            file.fault("train_pairs", f"row {pairs.max()} or {pairs.min()} named, expected 0 to {rows - 1}")
        _refuse_contradictions(pairs, similar, lambda row: f"features file {self._path}, array train_pairs: row {row}")
        train = Split(features=features["train"], similarity=PairSimilarity(rows, pairs, similar == 1))
        query, database = (Split(features=features[part], labels=labels[part]) for part in SCORED)
        names = file.names("class_names", labels["query"].shape[1])
        return Splits(train, query, database, class_names=names)

    @cached_property
    def _scored(self) -> ListSplits:
        """Query and database; nothing is read from a training list."""
        roots = (self._path.parent, *([self._root] if self._root else []))
        query, database = (self._path.parent / f"{part}.txt" for part in SCORED)
        files = {"train": database, "query": query, "database": database}
        return ListSplits(f"pairs:{self._path}", roots, files, whole_paths=True)

    @cached_property
    def _rows(self) -> list[tuple[str, str, bool, int]]:
        return _read_pairs(self._path)

    @cached_property
    def _entries(self) -> dict[str, int]:
        """Each image that is named, with the line that names it first."""
        first: dict[str, int] = {}
        for one, other, _, line in self._rows:
            first.setdefault(one, line)
            first.setdefault(other, line)
        return first

    @cached_property
    def _training_images(self) -> ImageFiles:
        root, lines = self._scored.root, np.array(list(self._entries.values()))
        found = images_under(root).find_all(list(self._entries), lines, self._path, whole=True)
        for (entry, line), path in zip(self._entries.items(), found, strict=True):
            if path is None:
                raise UsageError(f"pairs file {self._path} line {line}: image {entry} is not under {root}")
        return ImageFiles(root, [path for path in found if path is not None], f"pairs file {self._path}", lines)

    def _load_images(self) -> Splits:
        scored, rows = self._scored.load(), self._rows
        numbers = {entry: number for number, entry in enumerate(self._entries)}
        pairs = np.array([(numbers[one], numbers[other]) for one, other, _, _ in rows])
        similar = np.array([value for _, _, value, _ in rows])
        _refuse_contradictions(pairs, similar, lambda row: f"pairs file {self._path} line {rows[row][3]}")
        images = self._training_images
        train = Split(images=images, similarity=PairSimilarity(len(images), pairs, similar), ids=images.paths)
        return Splits(train, scored.query, scored.database, notes=scored.notes)


def _read_pairs(path: Path) -> list[tuple[str, str, bool, int]]:
    """(path, path, similar, line number) per line."""
    rows = []
    for line, content in enumerate(read_text("pairs file", path).split("\n"), 1):
        if not content.strip():
            continue
        words = [word.strip() for word in content.split("\t" if "\t" in content else None)]
        if len(words) != 3:
            raise UsageError(
                f"pairs file {path} line {line} has {len(words)} columns, expected 3: two paths and 0 or 1 "
                "(separated by tabs where a path holds spaces)"
            )
        if words[2] not in ("0", "1"):
            raise UsageError(f"pairs file {path} line {line}: '{words[2]}', expected 1 (similar) or 0 (dissimilar)")
        rows.append((words[0], words[1], words[2] == "1", line))
    if not rows:
        raise UsageError(f"pairs file {path} is empty, expected one pair per line: two paths and 0 or 1")
    return rows


def _refuse_contradictions(pairs: np.ndarray, similar: np.ndarray, where: Callable[[int], str]) -> None:
    """A pair that is given as both similar and dissimilar."""
    told: dict[tuple[int, int], tuple[int, bool]] = {}
    for row, (one, other) in enumerate(np.sort(pairs, axis=1).tolist()):
        before, value = told.setdefault((one, other), (row, bool(similar[row])))
        if value != bool(similar[row]):
            raise UsageError(f"{where(row)} contradicts {where(before)}: the same pair, the other value")
