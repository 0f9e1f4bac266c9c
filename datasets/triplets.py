"""`triplets:FILE`: training from a list of triplets, "i is more like j than like k", without any training labels.

FILE.npz with train_features, train_triplets (m, 3) row numbers i, j, k, and for the evaluation query_features,
query_labels, database_features, database_labels. Triplets that are not listed are unknown. A triplet may be listed
twice, and contradict another one, as people's answers do: that is counted and told with every result.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmark import Split, Splits, TripletList, register_dataset
from benchmark.data import FeatureFile, NamedDataset, file_hash, file_title, given_path, need_file, whole_number
from benchmark.registry import name_of_own

SCORED = ("query", "database")
REQUIRED = [
    "train_features", "train_triplets",
    *(f"{part}_{kind}" for part in SCORED for kind in ("features", "labels")),
]  # fmt: skip


@register_dataset("triplets", title="Triplets from a file", takes="FILE.npz")
class TripletsFile(NamedDataset):
    """Triplets to learn from, labels to score by."""

    protocol = "as given"
    backbone = None

    def __init__(
        self,
        argument: str,
        data_root: Path | None = None,
        *,
        map_cutoff: int = 1000,  # k of MAP@k
    ) -> None:
        self._path = need_file("triplets file", given_path(argument))
        super().__init__(name_of_own("triplets", file_title("triplets file", self._path, stem=True)))
        self.map_cutoff = whole_number("triplets.map_cutoff", map_cutoff, least=1)

    @property
    def revision(self) -> str:
        return file_hash(self._path)

    def check(self) -> None:
        self.load()

    def load(self) -> Splits:
        file = FeatureFile.read(self._path, REQUIRED, ["class_names"])
        features, labels = file.features(("train", *SCORED)), file.labels(SCORED)
        triplets = _checked(file, len(features["train"]))
        train = Split(features=features["train"], triplets=TripletList(len(features["train"]), triplets))
        query, database = (Split(features=features[part], labels=labels[part]) for part in SCORED)
        names = file.names("class_names", labels["query"].shape[1])
        return Splits(train, query, database, class_names=names, notes=_notes(triplets, len(train)))


def _checked(file: FeatureFile, rows: int) -> np.ndarray:
    """The list, as int64; each fault names the first row of it that has it."""
    told = file.arrays["train_triplets"]
    if told.ndim != 2 or told.shape[1] != 3 or told.dtype.kind not in "iu" or not len(told):
        file.fault("train_triplets", f"shape {told.shape} of {told.dtype}, expected (m, 3) row numbers i, j, k")
    outside = ((told < 0) | (told >= rows)).any(axis=1)
    if outside.any():
        first = int(outside.argmax())
        file.fault("train_triplets", f"row {first} is {_shown(told[first])}, expected numbers from 0 to {rows - 1}")
    repeated = (told[:, 0] == told[:, 1]) | (told[:, 0] == told[:, 2]) | (told[:, 1] == told[:, 2])
    if repeated.any():
        first = int(repeated.argmax())
        file.fault("train_triplets", f"row {first} is {_shown(told[first])}, expected three different rows")
    return told.astype(np.int64)


def _shown(triplet: np.ndarray) -> str:
    return ", ".join(map(str, triplet.tolist()))


def _notes(triplets: np.ndarray, rows: int) -> list[str]:
    """How much is known, and how much of it speaks against itself."""
    anchors = len(np.unique(triplets[:, 0]))
    notes = [f"{len(triplets):,} triplets about {anchors:,} of {rows:,} training rows"]
    size = np.int64(rows)
    numbers, turned = (
        (triplets[:, 0] * size + triplets[:, one]) * size + triplets[:, two] for one, two in ((1, 2), (2, 1))
    )
    against = int(np.isin(numbers, turned).sum())
    return notes + ([f"{against:,} triplets are contradicted by another one, j and k exchanged"] if against else [])
