"""NUS-WIDE, MS-COCO, MIRFlickr and VOC as the hashing literature uses them: what the multi-label sets share.

Published lists where they are there; else a protocol of the literature, drawn from all images of the official files.
Which protocols there are, and how to read the official files, is the data sets' own part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
from benchmark.data.option_values import cut_off, whole_number, word
from benchmark.data.split_drawing import MultiLabelSizes, draw_multi_label
from benchmark.errors import UsageError


@dataclass(frozen=True)
class OfficialImages:
    """All images of an official layout: entries as it names them, labels, and the classes' names."""

    entries: Sequence[str]
    labels: np.ndarray
    class_names: Sequence[str]
    origin: Path  # the file that lists them


class MultiLabelDataset(PaperDataset):
    """What it states besides: its protocols by name, the first of them the usual one, and its cut-off. What it does:
    `sources`, the official files that decide the lists, and `collect`, which reads them."""

    map_cutoff: int = 5000
    needed_list = "train"
    listed_names: ClassVar[Sequence[str]] = ()  # of the columns of published lists
    named_lists: ClassVar[Sequence[str]] = ()  # hashes of the lists that these names were checked with
    protocols: ClassVar[Mapping[str, MultiLabelSizes]]

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        protocol: str | int | None = None,  # by name; default: the usual one. All below but the seed default to it
        queries_per_class: int | None = None,
        queries: int | None = None,  # in all; goes with queries_per_class=0
        train_per_class: int | None = None,
        train_size: int | None = None,  # in all; goes with train_per_class=0
        unlabelled: str | None = None,  # keep or drop, where splits are drawn
        map_cutoff: int | str | None = None,  # k of MAP@k, or all
        split_seed: int = 0,
        skip_broken: bool = False,  # leave out rows whose image is missing or does not decode
        drop_overlap: bool = False,  # leave query rows out of the database
    ) -> None:
        super().__init__(data_root, skip_broken, drop_overlap)
        usual = next(iter(self.protocols))
        self.chosen = usual if protocol is None else word(self._option("protocol"), str(protocol), *self.protocols)
        per_class = {"queries_per_class": queries_per_class, "train_per_class": train_per_class}
        totals = {"queries": queries, "train_size": train_size}
        given: dict[str, Any] = {
            name: whole_number(self._option(name), value)
            for name, value in (per_class | totals).items()
            if value is not None
        }
        if unlabelled is not None:
            given["unlabelled"] = word(self._option("unlabelled"), unlabelled, "keep", "drop")
        for total, own in (("queries", "queries_per_class"), ("train_size", "train_per_class")):
            if given.get(total) and own not in given:
                given[own] = 0
        self.sizes = replace(self.protocols[self.chosen], **given)
        self._refuse_nothing()
        if map_cutoff is not None:
            self.map_cutoff = cut_off(self._option("map_cutoff"), map_cutoff)
        self.split_seed = whole_number(self._option("split_seed"), split_seed)

    def _refuse_nothing(self) -> None:
        for total, own in (("queries", "queries_per_class"), ("train_size", "train_per_class")):
            if not getattr(self.sizes, total) and not getattr(self.sizes, own):
                options = f"{self._option(own)} and {self._option(total)}"
                raise UsageError(f"{options} are both 0: expected one of them to be 1 or more")

    @cached_property
    def published(self) -> dict[str, Path]:
        """The published lists, which are of the usual protocol."""
        return super().published if self.chosen == next(iter(self.protocols)) else {}

    def sources(self) -> list[Path]:
        """The official files that decide the lists."""
        raise NotImplementedError

    def collect(self) -> OfficialImages:
        """All images of the official files."""
        raise NotImplementedError

    @property
    def drawn_protocol(self) -> str:
        return f"drawn, {self.sizes}, seed {self.split_seed}"

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
        return draw_lists(self.name, self.identity(), self._draw)

    def identity(self) -> dict[str, Any]:
        """All that decides the drawn lists."""
        sources = [file_hash(path) for path in self.sources()]
        drawing = {**asdict(self.sizes), "split_seed": self.split_seed}
        identity: dict[str, Any] = {**drawing, "sources": sources, "plugin": self._code()}
        if self.skip_broken:  # missing images are left out before drawing: no class runs short of queries
            folders = images_under(self.root).folders
            identity["images"] = joined_hash([f"{folder}\n{name}" for folder in folders for name in folders[folder]])
        return identity

    def _draw(self) -> DrawnLists:
        found = self.collect()
        index = images_under(self.root)
        paths = index.find_all(found.entries, range(1, len(found.entries) + 1), found.origin)
        rows, notes = self._kept(found, np.array([path is not None for path in paths]))
        if not len(rows):
            raise UsageError(f"{self.name}: no image of {found.origin} is under {self.root}")
        labels = found.labels[rows]
        drawn = draw_multi_label(labels, self.sizes, self.name, self.split_seed)
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
        if self.sizes.unlabelled == "drop" and not labelled.all():
            keep &= labelled
            notes.append(f"{int((~labelled).sum()):,} of {len(there):,} images have no label, left out before drawing")
        return np.flatnonzero(keep), notes
