"""What the cache weighs, and its tables of features and codes of folders dropped one by one: each can be made again,
in its time."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark.data.cache import cache_dir, locked
from benchmark.data.feature_cache import NOTE, TABLE

OURS = (TABLE, NOTE, "features.lock")  # what lies in a folder of features, besides chunks
CODES = re.compile(r"[0-9a-f]{32}\.(note|begun)")  # what lies in the folder of codes


@dataclass(frozen=True)
class CacheEntry:
    """One table of features, a folder, or the codes of a searched folder, a file: what it weighs, and when it was last
    written or checked."""

    path: Path
    bytes: int
    modified: float


def cached_features(root: Path | None = None) -> list[CacheEntry]:
    """Every table, finished or begun."""
    base = (cache_dir() if root is None else root) / "features"
    found = []
    for folder in sorted(base.glob("*")):
        files = list(_files(folder)) if folder.is_dir() and not folder.is_symlink() else []
        if files and all(_is_ours(file) for file in files):
            states = [file.stat() for file in files]
            found.append(CacheEntry(folder, sum(s.st_size for s in states), max(s.st_mtime for s in states)))
    return found


def cached_codes(root: Path | None = None) -> list[CacheEntry]:
    """The codes of every folder that was searched, finished or begun."""
    base = (cache_dir() if root is None else root) / "codes"
    found = [path for path in sorted(base.glob("*")) if path.is_file() and CODES.fullmatch(path.name)]
    return [CacheEntry(path, path.stat().st_size, path.stat().st_mtime) for path in found]


def drop_codes(entry: CacheEntry) -> bool:
    """Remove them; a search that is at them writes them anew."""
    entry.path.unlink(missing_ok=True)
    return True


def cache_bytes(root: Path | None = None) -> dict[str, int]:
    """Kind of thing -> what all of it weighs."""
    base = cache_dir() if root is None else root
    folders = sorted(one for one in base.glob("*") if one.is_dir())
    return {one.name: sum(file.stat().st_size for file in _files(one)) for one in folders}


def drop_features(entry: CacheEntry) -> bool:
    """Remove one table; False where somebody is at it."""
    try:
        with locked(entry.path / "features", wait=False):
            shutil.rmtree(entry.path)
    except BlockingIOError:
        return False
    return True


def _files(folder: Path) -> Iterator[Path]:
    for current, _, names in os.walk(folder):
        for name in names:
            path = Path(current) / name
            with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                path.stat()
                yield path


def _is_ours(file: Path) -> bool:
    return file.name in OURS or file.name.startswith(("chunk-", ".chunk-", ".features"))
