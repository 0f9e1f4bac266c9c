"""nus: NUS-WIDE, all 81 concepts, as the paper uses it.

Under the data root: published lists (train_new.txt or train.txt, test_new.txt or test.txt, database_new.txt
or database.txt), in nuswide_81/ or beside the images; or the official ImageList and ground truth, from which
the paper's protocol is drawn: 50 queries per concept, the rest database, 10,000 training images. MAP@5000.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmark import Splits, UsageError, register_dataset
from benchmark.data.image_index import image_index
from benchmark.data.list_splits import read_class_names
from benchmark.data.multi_label import Collected, Drawing, MultiLabel
from benchmark.data.official import Piece, first_file, need_root

FOLDERS = ("nuswide_81", "nus", "nuswide", "nus-wide", "NUS-WIDE", "NUS_WIDE", "data/nuswide_81")
LISTS = {
    "train": ("train_new.txt", "train.txt"),
    "query": ("test_new.txt", "test.txt", "query.txt"),
    "database": ("database_new.txt", "database.txt"),
}
CONCEPTS = 81
IMAGES = 269_648
SITE = "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html"


@register_dataset("nus", title="NUS-WIDE", stand_in="nus-mini")
class NusWide:
    """The paper's NUS-WIDE."""

    name = "nus"
    title = "NUS-WIDE"
    map_cutoff = 5000
    miniature = False
    backbone = "alexnet"

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        queries_per_class: int = 50,  # where splits are drawn
        train_size: int = 10_000,
        unlabelled: str = "keep",  # as the authors do; or drop; where splits are drawn
        split_seed: int = 0,
        skip_broken: bool = False,  # leave out rows whose image is missing or does not decode
        drop_overlap: bool = False,  # leave query rows out of the database
    ) -> None:
        self._root = need_root(self.name, data_root)
        self._splits = MultiLabel(
            dataset=self.name,
            root=self._root,
            folders=FOLDERS,
            list_names=LISTS,
            classes=CONCEPTS,
            drawing=Drawing(queries_per_class, train_size, unlabelled, split_seed),
            pieces=self.pieces,
            sources=self._sources,
            collect=self._collect,
            images_from=f"{SITE}, on request",
            skip_broken=skip_broken,
            drop_overlap=drop_overlap,
        )
        self.protocol = self._splits.protocol

    @property
    def revision(self) -> str:
        return self._splits.listing.revision

    def check(self) -> None:
        self._splits.check()

    def load(self) -> Splits:
        return self._splits.load()

    def lists(self) -> dict[str, Path]:
        """Its list files, for `prepare`."""
        return dict(self._splits.listing.files)

    def pieces(self) -> list[Piece]:
        """What the data set needs on disk where there are no lists."""
        truth = self._ground_truth()
        files = None if truth is None else len(list(truth.glob("Labels_*.txt")))
        anywhere = self._root if len(image_index(self._root)) else None
        flickr = first_file(self._root, FOLDERS, ["Flickr", "images", "image"]) or anywhere
        return [
            Piece("ImageList/Imagelist.txt", self._image_list(), "8 MB", SITE),
            Piece("Groundtruth/AllLabels/Labels_*.txt", truth, "44 MB", SITE, files, CONCEPTS),
            Piece("Flickr/ (the images)", flickr, "about 30 GB", f"{SITE}, on request"),
        ]

    def _image_list(self) -> Path | None:
        return first_file(self._root, FOLDERS, ["ImageList/Imagelist.txt", "Imagelist.txt"])

    def _ground_truth(self) -> Path | None:
        return first_file(self._root, FOLDERS, ["Groundtruth/AllLabels", "AllLabels"])

    def _sources(self) -> list[Path]:
        images, truth = self._image_list(), self._ground_truth()
        return ([images] if images else []) + (sorted(truth.glob("Labels_*.txt")) if truth else [])

    def _collect(self) -> Collected:
        """Image list and ground truth as one table; columns follow Concepts81.txt, or else the alphabet."""
        images, truth = self._image_list(), self._ground_truth()
        if images is None or truth is None:
            raise UsageError(f"nus: the image list or the ground truth is missing under {self._root}")
        entries = images.read_text(encoding="utf-8-sig").split()
        files = {path.stem.removeprefix("Labels_"): path for path in truth.glob("Labels_*.txt")}
        listed = first_file(self._root, FOLDERS, ["ConceptsList/Concepts81.txt", "Concepts81.txt"])
        concepts = (read_class_names(listed) if listed else None) or sorted(files)
        missing = [name for name in concepts if name not in files]
        if missing or len(concepts) != CONCEPTS:
            first = f", the first missing is Labels_{missing[0]}.txt" if missing else ""
            raise UsageError(f"nus: {truth} has {len(files)} of {CONCEPTS} ground-truth files{first}")
        columns = [_read_labels(files[name], len(entries), images) for name in concepts]
        return Collected(entries, np.stack(columns, axis=1), concepts, images)


def _read_labels(path: Path, rows: int, images: Path) -> np.ndarray:
    """One 0 or 1 per line, as many as there are images."""
    content = path.read_bytes()
    digits = np.frombuffer(content.translate(None, b" \t\r\n"), np.uint8)
    if len(digits) == rows and ((digits | 1) == ord("1")).all():
        return digits == ord("1")
    words = content.split()
    for line, word in enumerate(words, 1):
        if word not in (b"0", b"1"):
            raise UsageError(f"ground truth {path} line {line}: '{word.decode(errors='replace')}', expected 0 or 1")
    raise UsageError(f"ground truth {path} has {len(words):,} lines, expected {rows:,} as in {images.name}")
