"""What data sets of one kind share: a name, being described by lists, lying under a data root as in the paper.

A data set need not derive from any of these; they only save its author lines that all such data sets have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from benchmark.contracts import DatasetInfo, Splits
from benchmark.data.data_root import Piece, find_published, need_root
from benchmark.data.hashing import code_hash
from benchmark.data.list_splits import ListSplits
from benchmark.data.option_values import yes_or_no


class NamedDataset:
    """A data set that is called as it was registered, or by a name of its own (people's own data)."""

    info: ClassVar[DatasetInfo]
    miniature: ClassVar[bool] = False

    def __init__(self, own_name: str | None = None) -> None:
        self.name = own_name or self.info.name
        self.title = own_name or self.info.title

    def _option(self, name: str) -> str:
        """How an error calls one of its parameters."""
        return f"{self.info.name}.{name}"


class ListedDataset(NamedDataset):
    """A data set that is described by list files: `splits`, which a data set gives, keeps its promises."""

    backbone: str | None = "alexnet"

    @cached_property
    def splits(self) -> ListSplits:
        """The lists and where their images are."""
        raise NotImplementedError(f"data set '{self.name}' does not say where its lists are")

    @property
    def revision(self) -> str:
        return self.splits.revision

    def check(self) -> None:
        self.splits.check()

    def load(self) -> Splits:
        return self.splits.load()

    def lists(self) -> dict[str, Path]:
        """Its list files, for `prepare`."""
        return dict(self.splits.files)


class PaperDataset(ListedDataset):
    """A data set of the paper under a data root: published lists where they are there, else drawn ones.

    What a data set states: its classes, the folders it usually lies in, how its lists are called, which list there
    must be beside that of the queries, and where its images come from. What it does: `drawn_protocol`, `pieces`,
    and `splits` by `_splits_of`.
    """

    classes: ClassVar[int]
    folders: ClassVar[Sequence[str]]
    list_names: Mapping[str, Sequence[str]]
    needed_list: ClassVar[str]
    images_from: ClassVar[str]

    def __init__(self, data_root: Path | None, skip_broken: bool, drop_overlap: bool) -> None:
        super().__init__()
        self.root = need_root(self.name, data_root)
        self.skip_broken = yes_or_no(self._option("skip_broken"), skip_broken)
        self.drop_overlap = yes_or_no(self._option("drop_overlap"), drop_overlap)

    @cached_property
    def published(self) -> dict[str, Path]:
        """The published lists; empty where they are not there."""
        found = find_published(self.root, self.folders, self.list_names)
        return found if self.needed_list in found else {}

    @property
    def as_published(self) -> bool:
        """Whether the splits are the published ones."""
        return bool(self.published)

    @property
    def protocol(self) -> str:
        return "published lists" if self.as_published else self.drawn_protocol

    @property
    def drawn_protocol(self) -> str:
        """How splits are drawn, in a phrase."""
        raise NotImplementedError

    def pieces(self) -> list[Piece]:
        """What the data set needs on disk where there are no lists."""
        raise NotImplementedError

    def _code(self) -> str:
        """What identifies the code that collects its images; drawn lists are drawn again when it changes."""
        source = self.info.source
        return code_hash(source) if source is not None else "interactive"

    def _splits_of(
        self,
        files: Mapping[str, Path],
        class_names: Sequence[str] | None,
        notes: Sequence[str] = (),
        database_missing: str = "",
    ) -> ListSplits:
        return ListSplits(
            dataset=self.name,
            roots=(self.root,),
            files=files,
            classes=self.classes,
            class_names=class_names,
            whole_paths=not self.published,
            skip_broken=self.skip_broken,
            drop_overlap=self.drop_overlap,
            database_missing=database_missing,
            notes=tuple(notes),
            remedy=f"the images come from {self.images_from}",
        )
