"""NUS-WIDE and MS-COCO as the hashing literature uses them: what the two multi-label sets share.

Published lists where they are there; else the paper's protocol on all images of the official files: 50
queries per class, the rest is the database, 10,000 training images from it. How to read the official files is
their own part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmark.contracts import Splits
from benchmark.data.hashing import file_hash
from benchmark.data.image_index import image_index
from benchmark.data.list_splits import ListSplits, read_class_names
from benchmark.data.official import (
    CLASS_NAMES,
    DrawnLists,
    Piece,
    draw_lists,
    drawing_notes,
    find_published,
    refuse_missing,
)
from benchmark.data.split_drawing import draw_multi_label
from benchmark.errors import UsageError


@dataclass(frozen=True)
class Collected:
    """All images of an official layout: entries as it names them, labels, and the classes' names."""

    entries: Sequence[str]
    labels: np.ndarray
    class_names: Sequence[str]
    origin: Path  # the file that lists them


@dataclass(frozen=True)
class Drawing:
    """How splits are drawn where there are no lists."""

    queries_per_class: int = 50
    train_size: int = 10_000
    unlabelled: str = "keep"  # or "drop"
    split_seed: int = 0


@dataclass(frozen=True, eq=False)
class MultiLabel:
    """The splits of one data set under a data root."""

    dataset: str
    root: Path
    folders: Sequence[str]
    list_names: Mapping[str, Sequence[str]]
    classes: int
    drawing: Drawing
    pieces: Callable[[], list[Piece]]
    sources: Callable[[], list[Path]]  # the official files that decide the lists
    collect: Callable[[], Collected]
    images_from: str
    skip_broken: bool
    drop_overlap: bool

    @cached_property
    def published(self) -> dict[str, Path]:
        found = find_published(self.root, self.folders, self.list_names)
        return found if "train" in found else {}

    @property
    def protocol(self) -> str:
        drawing = self.drawing
        if self.published:
            return "published lists"
        return (
            f"drawn, {drawing.queries_per_class} queries per class, {drawing.train_size} training images, "
            f"unlabelled {drawing.unlabelled}, seed {drawing.split_seed}"
        )

    @cached_property
    def listing(self) -> ListSplits:
        files, missing = dict(self.published), ""
        if files and "database" not in files:
            missing = (
                f"{self.dataset}: {files['train'].parent} has a training and a query list but no database list; "
                f"expected {' or '.join(self.list_names['database'])} (only 'audit' can do without)"
            )
            files["database"] = files["train"]
        if not files:
            files = self._drawn()
        notes = ("no database list: the training list stands in for it",) if missing else ()
        return ListSplits(
            dataset=self.dataset,
            roots=(self.root,),
            files=files,
            classes=self.classes,
            class_names=read_class_names(files["train"].parent / CLASS_NAMES),
            whole_paths=not self.published,
            skip_broken=self.skip_broken,
            drop_overlap=self.drop_overlap,
            database_missing=missing,
            notes=(*notes, *drawing_notes(files["train"].parent)),
            remedy=f"the images come from {self.images_from}",
        )

    def check(self) -> None:
        if self.drawing.unlabelled not in ("keep", "drop"):
            raise UsageError(f"{self.dataset}: unlabelled='{self.drawing.unlabelled}', expected keep or drop")
        self.listing.check()

    def load(self) -> Splits:
        return self.listing.load()

    def _drawn(self) -> dict[str, Path]:
        refuse_missing(self.dataset, self.root, self.pieces())
        sources = [file_hash(path) for path in self.sources()]
        identity: dict[str, object] = {**vars(self.drawing), "sources": sources}
        if self.skip_broken:  # missing images are left out before drawing: no class runs short of queries
            identity["images"] = _tree_hash(self.root)
        return draw_lists(self.dataset, identity, self._draw)

    def _draw(self) -> DrawnLists:
        found = self.collect()
        index = image_index(self.root)
        paths = index.find_all(found.entries, range(1, len(found.entries) + 1), found.origin)
        rows, notes = self._kept(found, np.array([path is not None for path in paths]))
        if not len(rows):
            raise UsageError(f"{self.dataset}: no image of {found.origin} is under {self.root}")
        labels = found.labels[rows]
        drawing = self.drawing
        drawn = draw_multi_label(
            labels, drawing.queries_per_class, drawing.train_size, self.dataset, drawing.split_seed
        )
        names = [path or entry.replace("\\", "/") for path, entry in zip(paths, found.entries, strict=True)]
        parts = {p: ([names[rows[i]] for i in chosen], labels[chosen]) for p, chosen in vars(drawn).items()}
        return DrawnLists(parts, found.class_names, notes)

    def _kept(self, found: Collected, there: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """The rows to draw from, and how many were left out for what."""
        keep, notes = np.ones(len(there), bool), []
        if self.skip_broken and not there.all():
            keep &= there
            notes.append(f"{int((~there).sum()):,} of {len(there):,} images are missing, left out before drawing")
        labelled = found.labels.any(axis=1)
        if self.drawing.unlabelled == "drop" and not labelled.all():
            keep &= labelled
            notes.append(f"{int((~labelled).sum()):,} of {len(there):,} images have no label, left out before drawing")
        return np.flatnonzero(keep), notes


def _tree_hash(root: Path) -> str:
    digest = hashlib.sha256()
    for folder, names in image_index(root).folders.items():
        digest.update(f"{folder}\n{chr(10).join(names)}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
