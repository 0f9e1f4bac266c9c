"""`lists:DIR`: anyone's images with list files train.txt, query.txt (or test.txt) and database.txt in a
folder.

One line per image: its path, then 0/1 per class or one class number. Paths are relative to the folder or to
--data-root; leading folders of another machine are overlooked. Optional: classes.txt, one class name per
line.
"""

from __future__ import annotations

from pathlib import Path

from benchmark import Splits, UsageError, register_dataset
from benchmark.data.list_splits import ListSplits, find_lists, read_class_names
from benchmark.registry import name_of_own


@register_dataset("lists", title="Images from list files", takes="DIR")
class ListsFolder:
    """Three list files in a folder."""

    miniature = False
    backbone = "alexnet"
    protocol = "as listed"

    def __init__(
        self,
        argument: str,
        data_root: Path | None = None,
        *,
        map_cutoff: int = 1000,  # k of MAP@k
        skip_broken: bool = False,  # leave out rows whose image is missing or does not decode
        drop_overlap: bool = False,  # leave query rows out of the database
    ) -> None:
        folder = Path(argument).expanduser()
        if not folder.is_dir():
            raise UsageError(f"lists folder {folder} does not exist")
        self.name = self.title = name_of_own("lists", folder.resolve().name)
        self.map_cutoff = map_cutoff
        self._listing = ListSplits(
            dataset=f"lists:{folder}",
            roots=(folder, *([data_root] if data_root else [])),
            files=find_lists(folder),
            class_names=read_class_names(folder / "classes.txt"),
            whole_paths=True,
            skip_broken=skip_broken,
            drop_overlap=drop_overlap,
            remedy=f"put them under {folder} or name their folder by --data-root",
        )

    @property
    def revision(self) -> str:
        return self._listing.revision

    def check(self) -> None:
        self._listing.check()

    def load(self) -> Splits:
        return self._listing.load()
