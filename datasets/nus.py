"""nus and nus21: NUS-WIDE with all 81 concepts, as the paper uses it, or with the 21 most frequent, as most papers do.

Under the data root: published lists (train_new.txt or train.txt, test_new.txt or test.txt, database_new.txt
or database.txt), in nuswide_81/ or beside the images, those of nus21 in nuswide_21/; or the official ImageList and
ground truth, from which splits are drawn. nus: 50 queries per concept, the rest database, 10,000 training images of it;
protocol "m": 5,000 queries whatever their concepts. nus21: of the images with one of the 21 concepts, 100 queries and
500 training images per concept, the rarest concept first. MAP@5000.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from benchmark import UsageError, register_dataset
from benchmark.data import (
    MultiLabelDataset,
    MultiLabelSizes,
    OfficialImages,
    Piece,
    find_published,
    first_file,
    images_under,
    read_bytes,
    read_class_names,
    read_text,
)

SITE = "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html"
CONCEPTS = 81

# Columns of the published lists, in alphabetical order: images are numbered by the word they were found by, and those
# of a column crowd where its name stands in the alphabet.
NAMES = tuple(
    """
airport animal beach bear birds boats book bridge buildings cars castle cat cityscape clouds computer coral cow
dancing dog earthquake elk fire fish flags flowers food fox frost garden glacier grass harbor horses house lake leaf
map military moon mountain nighttime ocean person plane plants police protest railroad rainbow reflection road rocks
running sand sign sky snow soccer sports statue street sun sunset surf swimmers tattoo temple tiger tower town toy
train tree valley vehicle water waterfall wedding whales window zebra
""".split()  # noqa: SIM905
)


@register_dataset("nus", title="NUS-WIDE", stand_in="nus-mini")
class NusWide(MultiLabelDataset):
    """The paper's NUS-WIDE.

    @inproceedings{chua2009nuswide, title={{NUS-WIDE}: A Real-World Web Image Database from {National University of
      Singapore}}, author={Chua, Tat-Seng and Tang, Jinhui and Hong, Richang and Li, Haojie and Luo, Zhiping and Zheng,
      Yantao}, booktitle={ACM International Conference on Image and Video Retrieval}, year={2009}}
    """

    classes = CONCEPTS
    folders = ("nuswide_81", "nus", "nuswide", "nus-wide", "NUS-WIDE", "NUS_WIDE", "data/nuswide_81")
    list_names = {
        "train": ("train_new.txt", "train.txt"),
        "query": ("test_new.txt", "test.txt", "query.txt"),
        "database": ("database_new.txt", "database.txt"),
    }
    listed_names = NAMES
    named_lists = (
        "0c67d2aab4f9ef297d049bcb2bb42dc1e72b9959625d58e86aaabddbe217b67a",  # train_new.txt
        "832d9542d91d3b7aa4ba85ce6973046ee837381bdb850612f78a0060bbe0bd0d",  # test_new.txt
    )
    images_from = f"{SITE}, on request"
    protocols = {  # unlabelled images are kept, as the authors do
        "paper": MultiLabelSizes(queries_per_class=50, train_size=10_000),
        "m": MultiLabelSizes(queries=5000, train_size=10_000),  # DeepHash-pytorch's nuswide_81_m
    }

    def pieces(self) -> list[Piece]:
        truth = self._ground_truth()
        files = None if truth is None else len(list(truth.glob("Labels_*.txt")))
        anywhere = self.root if len(images_under(self.root)) else None
        flickr = first_file(self.root, self.folders, ["Flickr", "images", "image"]) or anywhere
        return [
            Piece("ImageList/Imagelist.txt", self._image_list(), "8 MB", SITE),
            Piece("Groundtruth/AllLabels/Labels_*.txt", truth, "44 MB", SITE, files, CONCEPTS),
            Piece("Flickr/ (the images)", flickr, "about 30 GB", f"{SITE}, on request"),
        ]

    def _image_list(self) -> Path | None:
        return first_file(self.root, self.folders, ["ImageList/Imagelist.txt", "Imagelist.txt"])

    def _ground_truth(self) -> Path | None:
        return first_file(self.root, self.folders, ["Groundtruth/AllLabels", "AllLabels"])

    def sources(self) -> list[Path]:
        images, truth = self._image_list(), self._ground_truth()
        return ([images] if images else []) + (sorted(truth.glob("Labels_*.txt")) if truth else [])

    def collect(self) -> OfficialImages:
        """Image list and ground truth as one table; columns follow Concepts81.txt, or else the alphabet."""
        images, truth = self._image_list(), self._ground_truth()
        if images is None or truth is None:
            raise UsageError(f"{self.name}: the image list or the ground truth is missing under {self.root}")
        entries = read_text("image list", images).split()
        files = {path.stem.removeprefix("Labels_"): path for path in truth.glob("Labels_*.txt")}
        listed = first_file(self.root, self.folders, ["ConceptsList/Concepts81.txt", "Concepts81.txt"])
        concepts = (read_class_names(listed) if listed else None) or sorted(files)
        missing = [name for name in concepts if name not in files]
        if missing or len(concepts) != CONCEPTS:
            first = f", the first missing is Labels_{missing[0]}.txt" if missing else ""
            raise UsageError(f"{self.name}: {truth} has {len(files)} of {CONCEPTS} ground-truth files{first}")
        columns = [_read_labels(files[name], len(entries), images) for name in concepts]
        return OfficialImages(entries, np.stack(columns, axis=1), concepts, images)


@register_dataset("nus21", title="NUS-WIDE-21")
class NusWide21(NusWide):
    """The images with one of the 21 most frequent concepts; of concepts as frequent as each other, the first in the
    order of Concepts81.txt. The columns keep that order."""

    classes = 21
    list_folders = ("nuswide_21", "nus21", "nuswide21", "nus-wide-21", "data/nuswide_21")
    list_names = {
        "train": ("train.txt",),
        "query": ("test.txt", "query.txt"),
        "database": ("database.txt",),
    }
    protocols = {"usual": MultiLabelSizes(queries_per_class=100, train_per_class=500, unlabelled="drop")}

    @cached_property
    def published(self) -> dict[str, Path]:
        """In folders of their own: what lies elsewhere are lists of all 81 concepts."""
        found = (find_published(self.root / name, (), self.list_names) for name in self.list_folders)
        return next((files for files in found if self.needed_list in files), {})

    def collect(self) -> OfficialImages:
        """Images with none of the concepts are then unlabelled, and left out by the protocol."""
        found = super().collect()
        frequent = np.sort(np.argsort(-found.labels.sum(axis=0), kind="stable")[: self.classes])
        names = [found.class_names[column] for column in frequent]
        return OfficialImages(found.entries, found.labels[:, frequent], names, found.origin)


def _read_labels(path: Path, rows: int, images: Path) -> np.ndarray:
    """One 0 or 1 per line, as many as there are images."""
    content = read_bytes("ground truth", path)
    digits = np.frombuffer(content.translate(None, b" \t\r\n"), np.uint8)
    if len(digits) == rows and ((digits | 1) == ord("1")).all():
        return digits == ord("1")
    words = content.split()
    for line, word in enumerate(words, 1):
        if word not in (b"0", b"1"):
            raise UsageError(f"ground truth {path} line {line}: '{word.decode(errors='replace')}', expected 0 or 1")
    raise UsageError(f"ground truth {path} has {len(words):,} lines, expected {rows:,} as in {images.name}")
