"""The image files under a folder, found by the paths that list files give: an index of the tree, built once.

Published lists carry the paths of somebody else's machine, so an entry is looked up by its base name and,
where several files share that, by the longest common end of the path. The index is kept in the cache and
holds as long as no folder has changed. An entry is only ever resolved to a file inside the tree.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.data.cache import cache_dir, cache_name, read_note, tell, write_note
from benchmark.data.given_files import need_folder
from benchmark.data.hashing import SETTLED
from benchmark.data.images import SUFFIXES
from benchmark.errors import UsageError

INDEX_VERSION = "2"


@dataclass
class ImageIndex:
    """Base name -> the files of that name, as paths relative to `root`."""

    root: Path
    folders: dict[str, list[str]]
    by_name: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder, names in self.folders.items():
            for name in names:
                self.by_name.setdefault(name, []).append(f"{folder}/{name}" if folder else name)

    def __len__(self) -> int:
        return sum(map(len, self.folders.values()))

    def find_all(
        self, entries: Sequence[str], lines: Sequence[int] | np.ndarray, origin: object, whole: bool = False
    ) -> list[str | None]:
        """For each entry of the list file `origin` its file, or None; errors name the entry's line."""
        found = []
        for row, entry in enumerate(entries):
            try:
                found.append(self.find(entry, whole))
            except UsageError as error:
                raise UsageError(f"list file {origin} line {lines[row]}: {error}") from None
        return found

    def find(self, entry: str, whole: bool = False) -> str | None:
        """The file that a list's entry means, or None.

        With `whole`, one of both paths must be the end of the other; else the base name is enough, as it must be
        for lists that were published with other folders.
        """
        if "\\" in entry and entry.rpartition("/")[2] not in self.by_name:  # else it is part of a name
            entry = entry.replace("\\", "/")
        if ".." in entry and ".." in entry.split("/"):
            raise UsageError(f"path '{entry}' leaves the data root by '..', refused")
        candidates = self.by_name.get(entry.rpartition("/")[2], ())
        if len(candidates) == 1 and not whole:
            return candidates[0]
        return self._closest(entry, candidates, whole) if candidates else None

    def _closest(self, entry: str, candidates: Sequence[str], whole: bool) -> str | None:
        """The candidate that has the longest end in common with the entry."""
        parts = [part for part in entry.split("/") if part not in ("", ".")]
        ranked = sorted(((_common(parts, path.split("/"), whole), path) for path in candidates), reverse=True)
        if len(ranked) > 1 and ranked[0][0] and ranked[0][0] == ranked[1][0]:
            exact = "/".join(parts)
            if exact in candidates:
                return exact
            raise UsageError(
                f"path '{entry}' may mean {ranked[1][1]} or {ranked[0][1]} under {self.root}; "
                "give the path relative to that folder"
            )
        return ranked[0][1] if ranked[0][0] else None


def _common(entry: Sequence[str], path: Sequence[str], whole: bool) -> int:
    """Length of the common end of two paths; 0 if, with `whole`, it exhausts neither."""
    count = 0
    for one, other in zip(reversed(entry), reversed(path), strict=False):
        if one != other:
            break
        count += 1
    return 0 if whole and count < min(len(entry), len(path)) else count


def images_under(root: Path) -> ImageIndex:
    """The index of `root`, from the cache as long as no folder in the tree has changed."""
    need_folder("data root", root)
    kept = cache_dir() / "index" / f"{cache_name(os.path.realpath(root), INDEX_VERSION)}.note"
    folders = _kept_folders(root, read_note(kept))
    return ImageIndex(root, _walk(root, kept) if folders is None else folders)


def _kept_folders(root: Path, note: Any) -> dict[str, list[str]] | None:
    if not isinstance(note, dict):
        return None
    try:
        unchanged = all(_state(root, folder) == state for folder, state in note["states"].items())
    except OSError:  # a folder is gone
        return None
    return note["folders"] if unchanged else None


def _state(root: Path, folder: str) -> list[int]:
    """What changes when a name in a folder does. The first of both times can be set back, as copying tools do."""
    status = os.stat(root / folder)
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _walk(root: Path, kept: Path) -> dict[str, list[str]]:
    """Every image below `root`, links to folders followed, each real folder once."""
    folders: dict[str, list[str]] = {}
    states: dict[str, list[int]] = {}
    seen: set[str] = set()
    images = 0

    def note(current: str) -> str:
        folder = "" if Path(current) == root else Path(current).relative_to(root).as_posix()
        with contextlib.suppress(OSError):  # removed meanwhile: the state of the folder above tells
            states[folder] = _state(root, folder)
        return folder

    def unreadable(error: OSError) -> None:
        note(error.filename)  # such as lost+found: it has no images for us, until its state changes

    for current, below, files in os.walk(root, onerror=unreadable, followlinks=True):
        real = os.path.realpath(current)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        below[:] = sorted(name for name in below if not name.startswith("."))
        folder = note(current)
        named = sorted(name for name in files if name.lower().endswith(SUFFIXES))
        if named:
            folders[folder] = named
            images += len(named)
            tell(f"looking for images under {root}", images, 0)
    if max((changed for _, changed, _ in states.values()), default=0) < time.time_ns() - SETTLED:
        write_note(kept, {"states": states, "folders": folders})
    return folders
