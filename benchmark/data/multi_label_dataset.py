"""NUS-WIDE and MS-COCO as the hashing literature uses them: what the two multi-label sets share.

Published lists where they are there; else the paper's protocol on all images of the official files: 50
queries per class, the rest is the database, 10,000 training images from it. How to read the official files is
their own part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmark.data.data_root import refuse_missing
from benchmark.data.dataset_kinds import PaperDataset
from benchmark.data.drawn_lists import CLASS_NAMES, DrawnLists, draw_lists, drawing_notes
from benchmark.data.hashing import file_hash, joined_hash
from benchmark.data.image_index import images_under
from benchmark.data.list_splits import ListSplits, read_class_names
from benchmark.data.option_values import whole_number, word
from benchmark.data.split_drawing import draw_multi_label
from benchmark.errors import UsageError


@dataclass(frozen=True)
class OfficialImages:
    """All images of an official layout: entries as it names them, labels, and the classes' names."""

    entries: Sequence[str]
    labels: np.ndarray
    class_names: Sequence[str]
    origin: Path  # the file that lists them


class MultiLabelDataset(PaperDataset):
    """What it does besides: `sources`, the official files that decide the lists, and `collect`, which reads them."""

    map_cutoff = 5000
    needed_list = "train"
    unlabelled_images: ClassVar[str]  # keep or drop: what the paper does with them
    listed_names: ClassVar[Sequence[str]] = ()  # of the columns of published lists
    named_lists: ClassVar[Sequence[str]] = ()  # hashes of the lists that these names were checked with

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        queries_per_class: int = 50,  # where splits are drawn
        train_size: int = 10_000,  # where splits are drawn
        unlabelled: str | None = None,  # keep or drop, where splits are drawn; default: as the paper does
        split_seed: int = 0,
        skip_broken: bool = False,  # leave out rows whose image is missing or does not decode
        drop_overlap: bool = False,  # leave query rows out of the database
    ) -> None:
        super().__init__(data_root, skip_broken, drop_overlap)
        chosen = self.unlabelled_images if unlabelled is None else unlabelled
        self.drawn_by: dict[str, Any] = {
            "queries_per_class": whole_number(self._option("queries_per_class"), queries_per_class, least=1),
            "train_size": whole_number(self._option("train_size"), train_size, least=1),
            "unlabelled": word(self._option("unlabelled"), chosen, "keep", "drop"),
            "split_seed": whole_number(self._option("split_seed"), split_seed),
        }

    def sources(self) -> list[Path]:
        """The official files that decide the lists."""
        raise NotImplementedError

    def collect(self) -> OfficialImages:
        """All images of the official files."""
        raise NotImplementedError

    @property
    def drawn_protocol(self) -> str:
        return (
            "drawn, {queries_per_class} queries per class, {train_size} training images, "
            "unlabelled {unlabelled}, seed {split_seed}"
        ).format(**self.drawn_by)

    def _listed_names(self, files: Mapping[str, Path]) -> Sequence[str] | None:
        """Of published lists, which do not name their columns; None where they are not those that are known."""
        known = {file_hash(files[part]) for part in ("train", "query")} <= set(self.named_lists)
        return self.listed_names if known else None

    @cached_property
    def splits(self) -> ListSplits:
        files, missing = dict(self.published), ""
        if files and "database" not in files:
            missing = (
                f"{self.name}: {files['train'].parent} has a training and a query list but no database list; "
                f"expected {' or '.join(self.list_names['database'])} (only 'audit' can do without)"
            )
            files["database"] = files["train"]
        if not files:
            files = self._drawn()
        notes = ("no database list: the training list stands in for it",) if missing else ()
        folder = files["train"].parent
        names = read_class_names(folder / CLASS_NAMES) or self._listed_names(files)
        return self._splits_of(files, names, (*notes, *drawing_notes(folder)), missing)

    def _drawn(self) -> dict[str, Path]:
        refuse_missing(self.name, self.root, self.pieces())
        sources = [file_hash(path) for path in self.sources()]
        identity: dict[str, Any] = {**self.drawn_by, "sources": sources, "plugin": self._code()}
        if self.skip_broken:  # missing images are left out before drawing: no class runs short of queries
            folders = images_under(self.root).folders
            identity["images"] = joined_hash([f"{folder}\n{name}" for folder in folders for name in folders[folder]])
        return draw_lists(self.name, identity, self._draw)

    def _draw(self) -> DrawnLists:
        found = self.collect()
        index = images_under(self.root)
        paths = index.find_all(found.entries, range(1, len(found.entries) + 1), found.origin)
        rows, notes = self._kept(found, np.array([path is not None for path in paths]))
        if not len(rows):
            raise UsageError(f"{self.name}: no image of {found.origin} is under {self.root}")
        labels = found.labels[rows]
        sizes = self.drawn_by["queries_per_class"], self.drawn_by["train_size"]
        drawn = draw_multi_label(labels, *sizes, self.name, self.drawn_by["split_seed"])
        names = [path or entry.replace("\\", "/") for path, entry in zip(paths, found.entries, strict=True)]
        parts = {p: ([names[rows[i]] for i in chosen], labels[chosen]) for p, chosen in vars(drawn).items()}
        return DrawnLists(parts, found.class_names, notes)

    def _kept(self, found: OfficialImages, there: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """The rows to draw from, and how many were left out for what."""
        keep, notes = np.ones(len(there), bool), []
        if self.skip_broken and not there.all():
            keep &= there
            notes.append(f"{int((~there).sum()):,} of {len(there):,} images are missing, left out before drawing")
        labelled = found.labels.any(axis=1)
        if self.drawn_by["unlabelled"] == "drop" and not labelled.all():
            keep &= labelled
            notes.append(f"{int((~labelled).sum()):,} of {len(there):,} images have no label, left out before drawing")
        return np.flatnonzero(keep), notes
