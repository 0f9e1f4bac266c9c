"""What the paper's data sets share: finding published lists or official files, and drawn splits on disk.

A data set says what it needs (`Piece`s, with where each comes from), and how to make its lists from the
official files. Drawn splits are written as list files with their hashes, so that they can be published and
read again, as published lists or by `lists:DIR`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.data.cache import cache_dir, locked, replacing
from benchmark.data.hashing import file_hash
from benchmark.data.list_files import write_list
from benchmark.data.list_splits import PARTS
from benchmark.errors import UsageError

DRAWING_VERSION = 1
CLASS_NAMES, MANIFEST = "classes.txt", "lists.json"

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
class DrawnLists:
    """The rows of each part, as entries and labels, the names of the classes, and what was left out."""

    rows: Mapping[str, tuple[Sequence[str], np.ndarray]]
    class_names: Sequence[str]
    notes: Sequence[str] = ()


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
    if not data_root.is_dir():
        raise UsageError(f"data root {data_root} is no folder")
    return data_root


def places(root: Path, folders: Sequence[str]) -> list[Path]:
    """Where a data set may lie: the usual sub-folders that exist, and the root itself."""
    return [root / name for name in folders if (root / name).is_dir()] + [root]


def find_published(root: Path, folders: Sequence[str], names: Mapping[str, Sequence[str]]) -> dict[str, Path]:
    """The published lists of one folder: the query list and at least one other, or nothing."""
    for folder in places(root, folders):
        found = {p: folder / n for p in PARTS for n in reversed(names[p]) if (folder / n).is_file()}
        if "query" in found and len(found) > 1:
            return found
    return {}


def first_file(root: Path, folders: Sequence[str], names: Sequence[str]) -> Path | None:
    """The first of the names that exists in any of the places, file or folder."""
    spots = (folder / name for folder in places(root, folders) for name in names)
    return next((spot for spot in spots if spot.exists()), None)


def refuse_missing(dataset: str, root: Path, pieces: Sequence[Piece]) -> None:
    """Raise UsageError that names every piece that is not there."""
    missing = [f"{piece.what} ({piece.size}, {piece.origin})" for piece in pieces if piece.found is None]
    if missing:
        raise UsageError(
            f"{dataset}: under {root} there are no list files, and of the official files these are missing: "
            f"{'; '.join(missing)}; 'python run_all.py prepare {dataset} --data-root {root}' says more"
        )


def draw_lists(dataset: str, identity: Mapping[str, Any], make: Callable[[], DrawnLists]) -> dict[str, Path]:
    """The list files of a drawn split, made once per identity and kept in the cache."""
    parts = {"version": DRAWING_VERSION, "dataset": dataset, **identity}
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    folder = cache_dir() / "splits" / f"{dataset}-{key}"
    if not _is_whole(folder):
        with locked(folder):
            if not _is_whole(folder):
                write_lists(folder, make(), parts)
    return {part: folder / f"{part}.txt" for part in PARTS}


def write_lists(folder: Path, drawn: DrawnLists, made_from: Mapping[str, Any]) -> None:
    """Three list files and the class names, and lists.json with their hashes and what they were made from."""
    for part in PARTS:
        write_list(folder / f"{part}.txt", *drawn.rows[part])
    with replacing(folder / CLASS_NAMES) as temporary:
        temporary.write_text("".join(f"{name}\n" for name in drawn.class_names), encoding="utf-8")
    hashes = {f"{part}.txt": file_hash(folder / f"{part}.txt") for part in PARTS}
    note = {"made from": dict(made_from), "sha256": hashes, "notes": list(drawn.notes)}
    with replacing(folder / MANIFEST) as temporary:
        temporary.write_text(json.dumps(note, indent=1) + "\n")


def drawing_notes(folder: Path) -> tuple[str, ...]:
    """What was left out when the lists of this folder were drawn; nothing where they were not drawn here."""
    try:
        return tuple(json.loads((folder / MANIFEST).read_text())["notes"])
    except (OSError, ValueError, KeyError):
        return ()


def _is_whole(folder: Path) -> bool:
    """Whether the lists are there and are those that were written."""
    try:
        note = json.loads((folder / MANIFEST).read_text())
        return all(file_hash(folder / name) == value for name, value in note["sha256"].items())
    except (OSError, ValueError, KeyError):
        return False
