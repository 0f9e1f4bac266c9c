"""`folder:DIR`: anyone's images with one sub-folder per class; queries and training set are drawn.

A class is a sub-folder, whatever lies below it belongs to it. 50 queries per class (at most half of a class),
the rest is the database; all of the database is the training set, or a part of it of the wanted size and
imbalance.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmark import Splits, UsageError, as_multi_hot, register_dataset
from benchmark.data.image_index import image_index
from benchmark.data.list_splits import ListSplits, read_class_names
from benchmark.data.official import CLASS_NAMES, DrawnLists, draw_lists
from benchmark.data.split_drawing import class_sizes, draw_queries, draw_training
from benchmark.registry import name_of_own


@register_dataset("folder", title="Images in class folders", takes="DIR")
class ClassFolders:
    """A folder of class folders."""

    miniature = False
    backbone = "alexnet"

    def __init__(
        self,
        argument: str,
        data_root: Path | None = None,
        *,
        queries_per_class: int = 50,
        train_size: int = 0,  # 0: the whole database
        imbalance: str = "",  # with train_size: balanced, paper, groups or exponential:RHO
        map_cutoff: int = 1000,  # k of MAP@k
        split_seed: int = 0,
        skip_broken: bool = False,  # leave out images that do not decode
    ) -> None:
        self._folder = Path(argument).expanduser()
        if not self._folder.is_dir():
            raise UsageError(f"folder {self._folder} does not exist")
        if bool(imbalance) != bool(train_size):
            raise UsageError("folder: imbalance and train_size go together; give both or neither")
        self.name = self.title = name_of_own("folder", self._folder.resolve().name)
        self.map_cutoff = map_cutoff
        self._drawing: dict[str, Any] = {
            "queries": queries_per_class,
            "train": train_size,
            "imbalance": imbalance,
            "seed": split_seed,
        }
        self._skip_broken = skip_broken
        training = f"{train_size} training images, imbalance {imbalance}" if train_size else "all of it training"
        self.protocol = f"drawn, {queries_per_class} queries per class, {training}, seed {split_seed}"

    @property
    def revision(self) -> str:
        return self._listing.revision

    def check(self) -> None:
        if self._drawing["imbalance"]:
            class_sizes(str(self._drawing["imbalance"]), np.full(len(self._classes), 1000), 1000)
        self._listing.check()

    def load(self) -> Splits:
        return self._listing.load()

    def lists(self) -> dict[str, Path]:
        """Its list files, for `prepare`."""
        return dict(self._listing.files)

    @cached_property
    def _classes(self) -> dict[str, list[str]]:
        """Class name -> image paths relative to the folder."""
        folders = image_index(self._folder).folders
        below = sorted(path.name for path in self._folder.iterdir() if path.is_dir() and path.name[0] != ".")
        if len(below) < 2:
            raise UsageError(f"folder {self._folder} has {len(below)} sub-folders, expected one per class")
        classes: dict[str, list[str]] = {name: [] for name in below}
        for folder, names in folders.items():
            if folder:
                classes[folder.partition("/")[0]] += [f"{folder}/{name}" for name in names]
        for name, paths in classes.items():
            if not paths:
                raise UsageError(f"folder {self._folder / name} holds no image; remove it or fill it")
        folded = [name.casefold() for name in below]
        twice = next((name for name in below if folded.count(name.casefold()) > 1), None)
        if twice:
            raise UsageError(f"folder {self._folder / twice}: another class differs from it in capitals only")
        return classes

    @cached_property
    def _listing(self) -> ListSplits:
        digest = hashlib.sha256("\n".join(p for paths in self._classes.values() for p in paths).encode())
        identity = {**self._drawing, "files": digest.hexdigest()}
        files = draw_lists("folder", identity, self._draw)
        return ListSplits(
            dataset=f"folder:{self._folder}",
            roots=(self._folder,),
            files=files,
            classes=len(self._classes),
            class_names=read_class_names(files["train"].parent / CLASS_NAMES),
            whole_paths=True,
            skip_broken=self._skip_broken,
        )

    def _draw(self) -> DrawnLists:
        paths = [path for class_paths in self._classes.values() for path in class_paths]
        numbers = np.repeat(np.arange(len(self._classes)), [len(p) for p in self._classes.values()])
        labels = as_multi_hot(numbers, len(self._classes))
        query = draw_queries(labels, int(self._drawing["queries"]), "folder", self._drawing["seed"])
        database = train = np.setdiff1d(np.arange(len(labels)), query)
        if self._drawing["train"]:
            size, imbalance = int(self._drawing["train"]), str(self._drawing["imbalance"])
            train = database[draw_training(labels[database], imbalance, size, "folder", self._drawing["seed"])]
        rows = {"train": train, "query": query, "database": database}
        parts = {part: ([paths[row] for row in chosen], labels[chosen]) for part, chosen in rows.items()}
        return DrawnLists(parts, list(self._classes))
