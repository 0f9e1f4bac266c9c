"""mirflickr: MIRFlickr-25K, 38 classes: 24 annotations and, of 14 of them, the strict ones (`*_r1.txt`).

Under the data root: published lists train.txt, test.txt and database.txt, in mirflickr/ or beside the images; or the
official images im1.jpg ... im25000.jpg and the annotations (v080), from which the protocol is drawn: 1,000 queries and
4,000 training images, whatever their classes; the database is the rest, without the training rows: 20,000, or 19,581
where images without any annotation are left out (protocol 19581, HASH-ZOO's). MAP@all.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from benchmark import UsageError, register_dataset
from benchmark.data import (
    MultiLabelDataset,
    MultiLabelSizes,
    OfficialImages,
    Piece,
    first_file,
    images_under,
    read_text,
)

SITE = "https://press.liacs.nl/mirflickr/mirdownload.html"
IMAGES = 25_000
DRAWN = MultiLabelSizes(queries=1000, train_size=4000, train_in_database=False)


@register_dataset("mirflickr", title="MIRFlickr-25K")
class MirFlickr(MultiLabelDataset):
    """MIRFlickr-25K; columns are the annotation files in the order of the alphabet.

    @inproceedings{huiskes2008mirflickr, title={The MIR Flickr Retrieval Evaluation}, author={Huiskes, Mark J. and Lew,
      Michael S.}, booktitle={ACM International Conference on Multimedia Information Retrieval}, year={2008}}
    """

    classes = 38
    map_cutoff = 0
    folders = ("mirflickr", "mirflickr25k", "MIRFlickr", "MIRFLICKR", "data/mirflickr")
    list_names = {"train": ("train.txt",), "query": ("test.txt", "query.txt"), "database": ("database.txt",)}
    images_from = SITE
    protocols = {
        "20000": DRAWN,  # DeepHash-pytorch
        "19581": MultiLabelSizes(**{**vars(DRAWN), "unlabelled": "drop"}),  # HASH-ZOO
    }

    def pieces(self) -> list[Piece]:
        numbers, folder = self._numbers(), self._annotations()
        files = None if folder is None else len(self.sources())
        images = self.root if numbers else None
        return [
            Piece("im1.jpg ... im25000.jpg", images, "3 GB", f"{SITE} (mirflickr25k.zip)", len(numbers), IMAGES),
            Piece("mirflickr25k_annotations_v080/*.txt", folder, "0.4 MB zipped", SITE, files, self.classes),
        ]

    def _numbers(self) -> list[int]:
        """Of the images that are there."""
        names = (re.fullmatch(r"im([0-9]{1,6})\.jpg", name) for name in images_under(self.root).by_name)
        return [int(found[1]) for found in names if found]

    def _annotations(self) -> Path | None:
        names = ["mirflickr25k_annotations_v080", "annotations"]
        return first_file(self.root, self.folders, names)

    def sources(self) -> list[Path]:
        folder = self._annotations()
        found = [] if folder is None else folder.glob("*.txt")
        return sorted(path for path in found if path.stem.lower() != "readme")

    def identity(self) -> dict[str, Any]:
        """No file lists the images: how many there are is part of it."""
        return {**super().identity(), "last image": max(self._numbers())}

    def collect(self) -> OfficialImages:
        files = self.sources()
        if len(files) != self.classes:
            raise UsageError(f"mirflickr: {self._annotations()} has {len(files)} of {self.classes} annotation files")
        named = [_read_numbers(path) for path in files]
        last = max(*self._numbers(), *(int(numbers.max(initial=0)) for numbers in named))
        labels = np.zeros((last, self.classes), bool)
        for column, numbers in enumerate(named):
            labels[numbers - 1, column] = True
        entries = [f"im{number}.jpg" for number in range(1, last + 1)]
        return OfficialImages(entries, labels, [path.stem for path in files], files[0].parent)


def _read_numbers(path: Path) -> np.ndarray:
    """One image number per line."""
    numbers = []
    for line, text in enumerate(read_text("annotations", path).split("\n"), 1):
        if not text.strip():
            continue
        if not re.fullmatch(r"[0-9]{1,6}", text.strip()) or not 1 <= int(text) <= IMAGES:
            raise UsageError(
                f"annotations {path} line {line}: '{text.strip()}', expected a number from 1 to {IMAGES:,}"
            )
        numbers.append(int(text))
    return np.array(numbers, np.int64)
