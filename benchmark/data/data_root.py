"""What lies under a data root: published lists, official files, what is missing, and where it comes from.

A data set says what it needs by `Piece`s. Making lists from the official files is done elsewhere
(`benchmark.data.drawn_lists`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.data.given_files import is_folder, is_regular_file, need_folder
from benchmark.data.list_splits import PARTS
from benchmark.errors import UsageError
from benchmark.program import typed

PUBLISHED = {  # the files as published with HashNet and DPH, by the first half of their sha256
    "59dab6cbae3dda3490f978f3feec890e": "coco/database_hashnet.txt",
    "58b28701ba5d9501d25052bfb424d1dd": "coco/test.txt",
    "632908b8e52503ff5c6841adfa9256e9": "coco/train.txt",
    "66c3f56839376cad709ffd2a37f7e4c3": "imagenet/database.txt",
    "2bcbb702dba63f59ff51a3281608df53": "imagenet/test.txt",
    "69c495693a89c85925c4ff757ea855cc": "imagenet/train.txt",
    "d5dc07dcd2f69df60b6338d349c11c3b": "imagenet/train_balanced.txt",
    "832d9542d91d3b7aa4ba85ce6973046e": "nuswide_81/test.txt",
    "0c67d2aab4f9ef297d049bcb2bb42dc1": "nuswide_81/train.txt",
}  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """Something a data set needs on disk: what, where it was found, and where it comes from."""

    what: str
    found: Path | None
    size: str
    origin: str
    files: int | None = None  # how many there are
    expected: int | None = None  # how many there should be

    @property
    def complete(self) -> bool:
        return self.found is not None and (self.files is None or self.expected is None or self.files >= self.expected)


def need_root(dataset: str, data_root: Path | None) -> Path:
    """The data root; UsageError where there is none."""
    if data_root is None:
        raise UsageError(
            f"dataset '{dataset}' needs real data: give its folder by --data-root DIR or the variable HASHBENCH_DATA"
        )
    return need_folder("data root", data_root)


def places(root: Path, folders: Sequence[str]) -> list[Path]:
    """Where a data set may lie: the usual sub-folders that exist, and the root itself."""
    return [root / name for name in folders if is_folder(root / name)] + [root]


def find_published(root: Path, folders: Sequence[str], names: Mapping[str, Sequence[str]]) -> dict[str, Path]:
    """The published lists of one folder: the query list and at least one other, or nothing."""
    for folder in places(root, folders):
        found = {p: folder / n for p in PARTS for n in reversed(names[p]) if is_regular_file(folder / n)}
        if "query" in found and len(found) > 1:
            return found
    return {}


def first_file(root: Path, folders: Sequence[str], names: Sequence[str]) -> Path | None:
    """The first of the names that exists in any of the places, file or folder."""
    spots = (folder / name for folder in places(root, folders) for name in names)
    return next((spot for spot in spots if os.path.exists(spot)), None)


def refuse_missing(dataset: str, root: Path, pieces: Sequence[Piece]) -> None:
    """Raise UsageError that names every piece that is not there."""
    missing = [f"{piece.what} ({piece.size}, {piece.origin})" for piece in pieces if piece.found is None]
    if missing:
        raise UsageError(
            f"{dataset}: under {root} there are no list files, and of the official files these are missing: "
            f"{'; '.join(missing)}; '{typed(['prepare', dataset, '--data-root', root])}' says more"
        )
