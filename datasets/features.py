"""`features:FILE.npz`: anyone's features with labels, no images.

Arrays train_features, train_labels, query_features, query_labels, database_features, database_labels; labels
as class numbers (-1: unlabelled) or multi-hot. Optional: map_cutoff (k of MAP@k), class_names, and train_ids,
query_ids, database_ids, the rows' names, by which the audit finds duplicates and overlap.
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from pathlib import Path

from benchmark import Split, Splits, register_dataset
from benchmark.data import (
    PARTS,
    FeatureFile,
    NamedDataset,
    cache_dir,
    file_hash,
    file_title,
    given_path,
    need_file,
    replacing,
)
from benchmark.registry import name_of_own

REQUIRED = [f"{part}_{kind}" for part in PARTS for kind in ("features", "labels")]
OPTIONAL = ["map_cutoff", "class_names", *(f"{part}_ids" for part in PARTS)]


@register_dataset("features", title="Features from a file", takes="FILE.npz")
class FeaturesFile(NamedDataset):
    """Features and labels of all three splits in one npz file."""

    backbone = None
    protocol = "as given"

    def __init__(self, argument: str, data_root: Path | None = None) -> None:
        self._path = need_file("features file", given_path(argument))
        super().__init__(name_of_own("features", file_title("features file", self._path, stem=True)))

    @property
    def revision(self) -> str:
        return file_hash(self._path)

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
        return Splits(train, query, database, class_names=file.names("class_names", labels["train"].shape[1]))
