"""`features:FILE.npz`: anyone's features with labels, no images.

Arrays train_features, train_labels, query_features, query_labels, database_features, database_labels; labels
as class numbers (-1: unlabelled) or multi-hot. Optional: map_cutoff (k of MAP@k), class_names, and train_ids,
query_ids, database_ids, the rows' names, by which the audit finds duplicates and overlap.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from benchmark import Split, Splits, UsageError, register_dataset
from benchmark.data.cache import cache_dir, replacing
from benchmark.data.feature_file import FeatureFile
from benchmark.data.hashing import file_hash
from benchmark.registry import name_of_own

PARTS = ("train", "query", "database")
REQUIRED = [f"{part}_{kind}" for part in PARTS for kind in ("features", "labels")]
OPTIONAL = ["map_cutoff", "class_names", *(f"{part}_ids" for part in PARTS)]


@register_dataset("features", title="Features from a file", takes="FILE.npz")
class FeaturesFile:
    """Features and labels of all three splits in one npz file."""

    miniature = False
    backbone = None
    protocol = "as given"

    def __init__(self, argument: str, data_root: Path | None = None) -> None:
        self._path = Path(argument).expanduser()
        self.name = self.title = name_of_own("features", self._path.stem)
        if not self._path.is_file():
            raise UsageError(f"features file {self._path} does not exist")

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
            with replacing(note) as temporary:
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
