"""`folder:DIR`: anyone's images with one sub-folder per class; queries and training set are drawn.

A class is a sub-folder, whatever lies below it belongs to it. 50 queries per class (at most half of a class),
the rest is the database; all of the database is the training set, or a part of it of the wanted size and
imbalance.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmark import UsageError, as_multi_hot, register_dataset
from benchmark.data import (
    CLASS_NAMES,
    DrawnLists,
    ListedDataset,
    ListSplits,
    check_name,
    class_sizes,
    cut_off,
    draw_lists,
    draw_queries,
    draw_training,
    file_title,
    given_path,
    images_under,
    joined_hash,
    need_folder,
    read_class_names,
    whole_number,
    word,
    yes_or_no,
)
from benchmark.registry import name_of_own


@register_dataset("folder", title="Images in class folders", takes="DIR")
class ClassFolders(ListedDataset):
    """A folder of class folders."""

    def __init__(
        self,
        argument: str,
        data_root: Path | None = None,
        *,
        queries_per_class: int = 50,
        train_size: int = 0,  # 0: the whole database
        imbalance: str = "",  # with train_size: balanced, paper, groups, exponential:RHO or zipf:MU
        map_cutoff: int | str = 1000,  # k of MAP@k, or all
        split_seed: int = 0,
        skip_broken: bool = False,  # leave out images that do not decode
    ) -> None:
        self._folder = need_folder("folder", given_path(argument))
        super().__init__(name_of_own("folder", file_title("folder", self._folder)))
        self.map_cutoff = cut_off("folder.map_cutoff", map_cutoff)
        self._drawing: dict[str, Any] = {
            "queries": whole_number("folder.queries_per_class", queries_per_class, least=1),
            "train": whole_number("folder.train_size", train_size),
            "imbalance": word("folder.imbalance", imbalance),
            "seed": whole_number("folder.split_seed", split_seed),
        }
        if bool(imbalance) != bool(train_size):
            raise UsageError("folder: imbalance and train_size go together; give both or neither")
        self._skip_broken = yes_or_no("folder.skip_broken", skip_broken)
        training = f"{train_size} training images, imbalance {imbalance}" if train_size else "all of it training"
        self.protocol = f"drawn, {queries_per_class} queries per class, {training}, seed {split_seed}"

    def check(self) -> None:
        if self._drawing["imbalance"]:
            class_sizes(self._drawing["imbalance"], np.full(len(self._classes), 1000), 1000)
        super().check()

    @cached_property
    def _classes(self) -> dict[str, list[str]]:
        """Class name -> image paths relative to the folder."""
        folders = images_under(self._folder).folders
        below = sorted(path.name for path in self._folder.iterdir() if path.is_dir() and path.name[0] != ".")
        if len(below) < 2:
            raise UsageError(f"folder {self._folder} has {len(below)} sub-folders, expected one per class")
        classes: dict[str, list[str]] = {name: [] for name in below}
        for folder, names in folders.items():
            if folder:
                classes[folder.partition("/")[0]] += [f"{folder}/{name}" for name in names]
        for name, paths in classes.items():
            check_name("class folder", name)
            if not paths:
                raise UsageError(f"folder {self._folder / name} holds no image; remove it or fill it")
        folded = [name.casefold() for name in below]
        twice = next((name for name in below if folded.count(name.casefold()) > 1), None)
        if twice:
            raise UsageError(f"folder {self._folder / twice}: another class differs from it in capitals only")
        return classes

    @cached_property
    def splits(self) -> ListSplits:
        named = joined_hash([path for paths in self._classes.values() for path in paths])
        identity = {**self._drawing, "files": named}
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
        query = draw_queries(labels, self._drawing["queries"], "folder", self._drawing["seed"])
        database = train = np.setdiff1d(np.arange(len(labels)), query)
        if self._drawing["train"]:
            size, imbalance = self._drawing["train"], self._drawing["imbalance"]
            train = database[draw_training(labels[database], imbalance, size, "folder", self._drawing["seed"])]
        rows = {"train": train, "query": query, "database": database}
        parts = {part: ([paths[row] for row in chosen], labels[chosen]) for part, chosen in rows.items()}
        return DrawnLists(parts, list(self._classes))
