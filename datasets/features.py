"""`features:FILE.npz`: anyone's features with labels, no images.

Arrays train_features, train_labels, query_features, query_labels, database_features, database_labels; labels
as class numbers (-1: unlabelled) or multi-hot. Optional: map_cutoff (k of MAP@k), class_names, and train_ids,
query_ids, database_ids, the rows' names, by which the audit finds duplicates and overlap. With `imbalance` the
training rows are drawn anew from the database rows, as many as the file trains on or `train_size`.
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmark import Split, Splits, UsageError, register_dataset
from benchmark.data import (
    PARTS,
    FeatureFile,
    NamedDataset,
    cache_dir,
    class_sizes,
    draw_training,
    drawing_code,
    file_hash,
    file_title,
    given_path,
    joined_hash,
    need_file,
    replacing,
    whole_number,
    word,
)
from benchmark.registry import name_of_own

REQUIRED = [f"{part}_{kind}" for part in PARTS for kind in ("features", "labels")]
OPTIONAL = ["map_cutoff", "class_names", *(f"{part}_ids" for part in PARTS)]
OWN = "own"  # the training rows of the file


@register_dataset("features", title="Features from a file", takes="FILE.npz")
class FeaturesFile(NamedDataset):
    """Features and labels of all three splits in one npz file."""

    backbone = None
    protocol = "as given"

    def __init__(
        self,
        argument: str,
        data_root: Path | None = None,
        *,
        imbalance: str = OWN,  # own: the file's training rows; or balanced, paper, groups, exponential:RHO or zipf:MU
        train_size: int = 0,  # with another imbalance; 0: as many as the file trains on
        split_seed: int = 0,
    ) -> None:
        self._path = need_file("features file", given_path(argument))
        super().__init__(name_of_own("features", file_title("features file", self._path, stem=True)))
        self._imbalance = word("features.imbalance", imbalance)
        self._train_size = whole_number("features.train_size", train_size)
        self._split_seed = whole_number("features.split_seed", split_seed)
        if self._imbalance == OWN and (train_size or split_seed):
            raise UsageError("features.train_size and .split_seed draw training rows anew: give features.imbalance too")
        if self._imbalance != OWN:
            self._check_imbalance()
            size = f", {train_size} training rows" if train_size else ""
            drawn = f" (seed {split_seed})" if split_seed else ""
            self.protocol = f"as given, imbalance {imbalance}{size}{drawn}"
            self.title = f"{self.name}, imbalance {imbalance}{size}{drawn}"

    def _check_imbalance(self) -> None:
        try:
            class_sizes(self._imbalance, np.full(1000, 1000), 1000)
        except UsageError as error:
            raise UsageError(f"features.{error}; or {OWN}, the training rows of the file") from None

    @property
    def revision(self) -> str:
        """The file alone, where the training rows are its own."""
        if self._imbalance == OWN:
            return file_hash(self._path)
        drawn = [self._imbalance, str(self._train_size), str(self._split_seed), *drawing_code()]
        return joined_hash([file_hash(self._path), *drawn])[:16]

    @cached_property
    def map_cutoff(self) -> int:
        return FeatureFile.read(self._path, (), ["map_cutoff"]).map_cutoff()

    def check(self) -> None:
        """Everything is read and examined once; the file's hash remembers that it was found sound."""
        note = cache_dir() / "checked" / f"features-{self.revision}"
        if not note.is_file():
            self.load()
            with contextlib.suppress(OSError), replacing(note) as temporary:  # without a cache it is only slower
                temporary.write_text(self._path.name)

    def load(self) -> Splits:
        file = FeatureFile.read(self._path, REQUIRED, OPTIONAL)
        file.map_cutoff()
        features, labels = file.features(PARTS), file.labels(PARTS)
        train, query, database = (
            Split(features=features[part], labels=labels[part], ids=file.names(f"{part}_ids", len(labels[part])))
            for part in PARTS
        )
        if self._imbalance != OWN:
            train = self._drawn(database, self._train_size or len(train))
        return Splits(train, query, database, class_names=file.names("class_names", labels["train"].shape[1]))

    def _drawn(self, database: Split, size: int) -> Split:
        labels = np.asarray(database.labels)
        if (labels.sum(axis=1) > 1).any():
            told = f"{self._path} has rows of several labels, which cannot be drawn class by class"
            raise UsageError(f"features.imbalance={self._imbalance}: {told}; leave the option out")
        rows = draw_training(labels, self._imbalance, size, "features", self._split_seed)
        return database.take(rows)
