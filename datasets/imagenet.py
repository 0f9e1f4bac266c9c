"""imagenet, imagenet-balanced and imagenet-lt: HashNet's 100 classes, with the paper's skewed training set (one class
of 1300, nine of ~411, 90 of ~56), HashNet's balanced one (130 of each), or one of the long-tail papers: the i-th
largest class has floor(1300 i^-mu), 9,437 images at imbalance factor 50, 6,834 at 100.

Under the data root: the published lists train.txt (or train_balanced.txt), test.txt and database.txt, in imagenet/ or
beside the images; or the official folders train/ and val/ by WordNet id, from which the same protocol is drawn.
MAP@1000, imagenet-lt MAP@all.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmark import UsageError, as_multi_hot, register_dataset
from benchmark.data import (
    DrawnLists,
    ListSplits,
    PaperDataset,
    Piece,
    class_sizes,
    cut_off,
    draw_lists,
    draw_training,
    file_hash,
    first_file,
    images_under,
    joined_hash,
    read_list,
    refuse_missing,
    whole_number,
    word,
)

TRAIN, VAL = ("train", "ILSVRC2012_img_train"), ("val", "ILSVRC2012_img_val", "validation")
LONG_TAIL = {50: ("zipf:0.845", 9437), 100: ("zipf:0.99", 6834)}  # imbalance factor -> profile, training images
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


@register_dataset("imagenet", title="ImageNet", stand_in="imagenet-mini")
class ImageNet(PaperDataset):
    """The paper's ImageNet.

    @article{russakovsky2015imagenet, title={{ImageNet} Large Scale Visual Recognition Challenge}, author={Russakovsky,
      Olga and Deng, Jia and Su, Hao and Krause, Jonathan and Satheesh, Sanjeev and Ma, Sean and Huang, Zhiheng and
      Karpathy, Andrej and Khosla, Aditya and Bernstein, Michael and Berg, Alexander C. and Fei-Fei, Li},
      journal={International Journal of Computer Vision}, year={2015}}
    """

    class_names = CLASSES
    classes = len(CLASSES)
    folders = ("imagenet", "ImageNet", "ILSVRC2012", "ILSVRC2015", "ILSVRC", "data/imagenet", "ILSVRC/Data/CLS-LOC")
    list_names = {"train": ("train.txt",), "query": ("test.txt", "query.txt"), "database": ("database.txt",)}
    needed_list = "database"
    images_from = SIGN_UP
    map_cutoff: int = 1000
    listed_imbalance = "paper"  # what the published training list has
    listed_size = 10_000

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        imbalance: str | None = None,  # paper, groups, balanced, exponential:RHO or zipf:MU; default: as published
        train_size: int | None = None,  # where the training set is drawn; default: as published
        map_cutoff: int | str | None = None,  # k of MAP@k, or all
        split_seed: int = 0,  # where splits are drawn
        skip_broken: bool = False,  # leave out rows whose image is missing or does not decode
        drop_overlap: bool = False,  # leave query rows out of the database
    ) -> None:
        super().__init__(data_root, skip_broken, drop_overlap)
        chosen = self.listed_imbalance if imbalance is None else imbalance
        size = self.listed_size if train_size is None else train_size
        self.imbalance = word(self._option("imbalance"), chosen)
        self.train_size = whole_number(self._option("train_size"), size, least=1)
        self.split_seed = whole_number(self._option("split_seed"), split_seed)
        if map_cutoff is not None:
            self.map_cutoff = cut_off(self._option("map_cutoff"), map_cutoff)

    @property
    def as_published(self) -> bool:
        """Whether the published training list is the one that is asked for."""
        return "train" in self.published and self.imbalance == self.listed_imbalance

    @property
    def drawn_protocol(self) -> str:
        return f"drawn, imbalance {self.imbalance}, {self.train_size} training images, seed {self.split_seed}"

    @cached_property
    def splits(self) -> ListSplits:
        files = self.published
        drawing: dict[str, Any] = {
            "imbalance": self.imbalance,
            "train_size": self.train_size,
            "split_seed": self.split_seed,
            "plugin": self._code(),
        }
        if not files:
            refuse_missing(self.name, self.root, self.pieces())
            named = [path for classes in self._official.values() for paths in classes.values() for path in paths]
            files = draw_lists(self.name, {**drawing, "files": joined_hash(named)}, self._from_folders)
        elif not self.as_published:
            hashes = [file_hash(files[part]) for part in ("query", "database")]
            files = draw_lists(self.name, {**drawing, "published": hashes}, self._from_lists)
        return self._splits_of(files, CLASSES)

    def check(self) -> None:
        class_sizes(self.imbalance, np.full(len(CLASSES), 1300), self.train_size)  # refuses a wrong profile
        super().check()

    def pieces(self) -> list[Piece]:
        kinds = (("train", TRAIN, 128_503, "138 GB"), ("val", VAL, 5_000, "6.3 GB"))
        found = []
        for name, spellings, expected, size in kinds:
            folder = first_file(self.root, self.folders, spellings)
            files = None if folder is None else sum(map(len, self._class_files(folder).values()))
            what = f"{name}/ with a folder per WordNet id ({len(CLASSES)} of them are used)"
            found.append(Piece(what, folder, size, SIGN_UP, files, expected))
        return found

    def _class_files(self, folder: Path) -> dict[str, list[str]]:
        """WordNet id -> image paths relative to the root."""
        below = folder.relative_to(self.root).as_posix()
        prefix = "" if below == "." else f"{below}/"
        folders = images_under(self.root).folders
        return {wnid: [f"{prefix}{wnid}/{name}" for name in folders.get(f"{prefix}{wnid}", ())] for wnid in CLASSES}

    @cached_property
    def _official(self) -> dict[str, dict[str, list[str]]]:
        """Both folders, each with all classes; else UsageError."""
        both = {}
        for piece, name in zip(self.pieces(), ("train", "val"), strict=True):
            if piece.found is None:  # refuse_missing has spoken before
                raise UsageError(f"{self.name}: {piece.what} is missing under {self.root}")
            both[name] = self._class_files(piece.found)
            empty = [wnid for wnid, files in both[name].items() if not files]
            if empty:
                flat = any(piece.found.glob("ILSVRC2012_val_0000000*"))
                hint = "sort the validation images into folders by WordNet id" if flat else f"see {SIGN_UP}"
                raise UsageError(
                    f"{self.name}: {piece.found} has no images of {len(empty)} of {len(CLASSES)} classes, "
                    f"the first is {empty[0]}; {hint}"
                )
        return both

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


@register_dataset("imagenet-balanced", title="ImageNet, balanced")
class ImageNetBalanced(ImageNet):
    """ImageNet as in the HashNet paper."""

    list_names = {**ImageNet.list_names, "train": ("train_balanced.txt",)}
    listed_imbalance = "balanced"
    listed_size = 13_000


@register_dataset("imagenet-lt", title="ImageNet-LT")
class ImageNetLongTail(ImageNet):
    """ImageNet with a long-tailed training set, as in LTHNet and its successors; there is no published list of it."""

    list_names = {**ImageNet.list_names, "train": ()}
    map_cutoff = 0

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        imbalance_factor: int = 50,  # the largest class over the smallest: 50 or 100
        map_cutoff: int | str | None = None,  # k of MAP@k, or all
        split_seed: int = 0,
        skip_broken: bool = False,  # leave out rows whose image is missing or does not decode
        drop_overlap: bool = False,  # leave query rows out of the database
    ) -> None:
        factor = whole_number(self._option("imbalance_factor"), imbalance_factor)
        if factor not in LONG_TAIL:
            told = "expected 50 or 100, which papers use; any other: imagenet.imbalance=zipf:MU"
            raise UsageError(f"{self._option('imbalance_factor')}={factor}: {told}")
        imbalance, train_size = LONG_TAIL[factor]
        super().__init__(
            argument,
            data_root,
            imbalance=imbalance,
            train_size=train_size,
            map_cutoff=map_cutoff,
            split_seed=split_seed,
            skip_broken=skip_broken,
            drop_overlap=drop_overlap,
        )
