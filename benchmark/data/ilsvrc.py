"""ImageNet as the hashing literature uses it: HashNet's 100 classes of ILSVRC, validation images as queries.

What `imagenet` (the paper's skewed training set) and `imagenet-balanced` (HashNet's) share: the classes, the
published lists, and the official folders by WordNet id. Only how the training set is drawn sets them apart.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmark.contracts import Splits, as_multi_hot
from benchmark.data.hashing import file_hash
from benchmark.data.image_index import image_index
from benchmark.data.list_files import read_list
from benchmark.data.list_splits import ListSplits
from benchmark.data.official import DrawnLists, Piece, draw_lists, find_published, first_file, refuse_missing
from benchmark.data.split_drawing import class_sizes, draw_training
from benchmark.errors import UsageError

FOLDERS = ("imagenet", "ImageNet", "ILSVRC2012", "ILSVRC2015", "ILSVRC", "data/imagenet", "ILSVRC/Data/CLS-LOC")
TRAIN, VAL = ("train", "ILSVRC2012_img_train"), ("val", "ILSVRC2012_img_val", "validation")
SIGN_UP = "https://image-net.org/download-images, after signing up"
CLASSES = tuple(
    """
n01514668 n01537544 n01560419 n01629819 n01632458 n01664065 n01685808 n01687978 n01698640 n01729322
n01774750 n01797886 n01819313 n01828970 n01944390 n01986214 n02017213 n02018207 n02077923 n02088466
n02093256 n02094114 n02096177 n02096294 n02097209 n02098105 n02102177 n02105162 n02106550 n02111129
n02111277 n02113023 n02128385 n02256656 n02281787 n02346627 n02391049 n02408429 n02415577 n02454379
n02488291 n02526121 n02655020 n02834397 n02840245 n02841315 n02865351 n02871525 n02895154 n02939185
n02948072 n02965783 n02992211 n03018349 n03045698 n03047690 n03196217 n03223299 n03272562 n03291819
n03345487 n03445924 n03483316 n03584829 n03680355 n03690938 n03733131 n03743016 n03803284 n03814639
n03838899 n03857828 n03891332 n03895866 n03899768 n03902125 n03944341 n04026417 n04153751 n04201297
n04238763 n04254120 n04344873 n04350905 n04366367 n04404412 n04417672 n04435653 n04486054 n04548362
n04560804 n04579432 n04596742 n07583066 n07584110 n07753113 n07754684 n07836838 n12057211 n13044778
""".split()  # noqa: SIM905
)


@dataclass(frozen=True, eq=False)
class Ilsvrc:
    """The splits of one variant under a data root: published lists where they are there, else drawn ones.

    `listed` is the imbalance that the published training list has; any other is drawn from the database.
    """

    dataset: str
    root: Path
    list_names: Mapping[str, Sequence[str]]
    listed: str
    imbalance: str
    train_size: int
    split_seed: int
    skip_broken: bool
    drop_overlap: bool

    @cached_property
    def published(self) -> dict[str, Path]:
        found = find_published(self.root, FOLDERS, self.list_names)
        return found if "database" in found else {}

    @property
    def as_published(self) -> bool:
        """Whether the published training list is the one that is asked for."""
        return "train" in self.published and self.imbalance == self.listed

    @property
    def protocol(self) -> str:
        if self.as_published:
            return "published lists"
        return f"drawn, imbalance {self.imbalance}, {self.train_size} training images, seed {self.split_seed}"

    @cached_property
    def listing(self) -> ListSplits:
        files = self.published
        if not files:
            refuse_missing(self.dataset, self.root, self.pieces())
            files = draw_lists(self.dataset, {**self._drawing, "files": self._files_hash}, self._from_folders)
        elif not self.as_published:
            identity = {**self._drawing, "published": [file_hash(files[part]) for part in ("query", "database")]}
            files = draw_lists(self.dataset, identity, self._from_lists)
        return ListSplits(
            dataset=self.dataset,
            roots=(self.root,),
            files=files,
            classes=len(CLASSES),
            class_names=CLASSES,
            whole_paths=not self.published,
            skip_broken=self.skip_broken,
            drop_overlap=self.drop_overlap,
            remedy=f"the images come from {SIGN_UP}",
        )

    def check(self) -> None:
        class_sizes(self.imbalance, np.full(len(CLASSES), 1300), self.train_size)  # refuses a wrong profile
        self.listing.check()

    def load(self) -> Splits:
        return self.listing.load()

    def pieces(self) -> list[Piece]:
        """What is needed where there are no lists."""
        kinds = (("train", TRAIN, 128_503, "138 GB"), ("val", VAL, 5_000, "6.3 GB"))
        found = []
        for name, spellings, expected, size in kinds:
            folder = first_file(self.root, FOLDERS, spellings)
            files = None if folder is None else sum(map(len, self._class_files(folder).values()))
            what = f"{name}/ with a folder per WordNet id ({len(CLASSES)} of them are used)"
            found.append(Piece(what, folder, size, SIGN_UP, files, expected))
        return found

    @property
    def _drawing(self) -> dict[str, object]:
        return {"imbalance": self.imbalance, "train_size": self.train_size, "seed": self.split_seed}

    def _class_files(self, folder: Path) -> dict[str, list[str]]:
        """WordNet id -> image paths relative to the root."""
        below = folder.relative_to(self.root).as_posix()
        prefix = "" if below == "." else f"{below}/"
        folders = image_index(self.root).folders
        return {wnid: [f"{prefix}{wnid}/{name}" for name in folders.get(f"{prefix}{wnid}", ())] for wnid in CLASSES}

    @cached_property
    def _official(self) -> dict[str, dict[str, list[str]]]:
        """Both folders, each with all classes; else UsageError."""
        both = {}
        for piece, name in zip(self.pieces(), ("train", "val"), strict=True):
            if piece.found is None:  # refuse_missing has spoken before
                raise UsageError(f"{self.dataset}: {piece.what} is missing under {self.root}")
            both[name] = self._class_files(piece.found)
            empty = [wnid for wnid, files in both[name].items() if not files]
            if empty:
                flat = any(re.match(r"ILSVRC2012_val_\d+", p.name) for p in piece.found.glob("ILSVRC2012_val_0000000*"))
                hint = "sort the validation images into folders by WordNet id" if flat else f"see {SIGN_UP}"
                raise UsageError(
                    f"{self.dataset}: {piece.found} has no images of {len(empty)} of {len(CLASSES)} classes, "
                    f"the first is {empty[0]}; {hint}"
                )
        return both

    @property
    def _files_hash(self) -> str:
        digest = hashlib.sha256()
        for classes in self._official.values():
            for files in classes.values():
                digest.update("\n".join(files).encode())
        return digest.hexdigest()

    def _from_folders(self) -> DrawnLists:
        """Queries are the validation images, the database is the training folder."""
        rows = {}
        for part, name in (("database", "train"), ("query", "val")):
            files = self._official[name]
            entries = [path for paths in files.values() for path in paths]
            numbers = np.repeat(np.arange(len(CLASSES)), [len(paths) for paths in files.values()])
            rows[part] = (entries, as_multi_hot(numbers, len(CLASSES)))
        return self._with_training(rows)

    def _from_lists(self) -> DrawnLists:
        """The published queries and database, with another training set drawn from the database."""
        rows = {}
        for part in ("database", "query"):
            read = read_list(self.published[part], len(CLASSES))
            rows[part] = (read.entries, as_multi_hot(read.labels, len(CLASSES)))
        return self._with_training(rows)

    def _with_training(self, rows: dict[str, tuple[list[str], np.ndarray]]) -> DrawnLists:
        entries, labels = rows["database"]
        chosen = draw_training(labels, self.imbalance, self.train_size, "imagenet", self.split_seed)
        train = ([entries[row] for row in chosen], labels[chosen])
        return DrawnLists({**rows, "train": train}, CLASSES)
