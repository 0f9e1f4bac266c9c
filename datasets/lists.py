"""`lists:DIR`: anyone's images with list files train.txt, query.txt (or test.txt) and database.txt in a folder.

One line per image: its path, then 0/1 per class or one class number. Paths are relative to the folder or to
--data-root; leading folders of another machine are overlooked. Optional: classes.txt, one class name per line.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from benchmark import register_dataset
from benchmark.data import (
    CLASS_NAMES,
    ListedDataset,
    ListSplits,
    cut_off,
    file_title,
    find_lists,
    given_path,
    need_folder,
    read_class_names,
    yes_or_no,
)
from benchmark.registry import name_of_own


@register_dataset("lists", title="Images from list files", takes="DIR")
class ListsFolder(ListedDataset):
    """Three list files in a folder."""

    protocol = "as listed"

    def __init__(
        self,
        argument: str,
        data_root: Path | None = None,
        *,
        map_cutoff: int | str = 1000,  # k of MAP@k, or all
        skip_broken: bool = False,  # leave out rows whose image is missing or does not decode
        drop_overlap: bool = False,  # leave query rows out of the database
    ) -> None:
        self._folder = need_folder("lists folder", given_path(argument))
        super().__init__(name_of_own("lists", file_title("lists folder", self._folder)))
        self.map_cutoff = cut_off("lists.map_cutoff", map_cutoff)
        self._roots = (self._folder, *([data_root] if data_root else []))
        self._files = find_lists(self._folder)
        self._skip_broken = yes_or_no("lists.skip_broken", skip_broken)
        self._drop_overlap = yes_or_no("lists.drop_overlap", drop_overlap)

    @cached_property
    def splits(self) -> ListSplits:
        return ListSplits(
            dataset=f"lists:{self._folder}",
            roots=self._roots,
            files=self._files,
            class_names=read_class_names(self._folder / CLASS_NAMES),
            whole_paths=True,
            skip_broken=self._skip_broken,
            drop_overlap=self._drop_overlap,
            remedy=f"put them under {self._folder} or name their folder by --data-root",
        )
