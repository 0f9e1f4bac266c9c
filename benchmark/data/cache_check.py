"""The whole cache read and compared with what was written: what is damaged is named and removed, to be made again.

Opening a cached thing looks at what is cheap; this looks at everything, remembered hashes included: the files
they speak of are read again, so that an image that has rotted on the disk under an unchanged signature is found.
"""

from __future__ import annotations

import contextlib
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmark.data.cache import cache_dir, locked, read_note, tell, write_note
from benchmark.data.drawn_lists import are_whole
from benchmark.data.feature_cache import NOTE, TABLE, is_whole_chunk, verify_table
from benchmark.data.hashing import hash_in_threads
from benchmark.data.list_files import read_kept


def verify_cache(root: Path | None = None) -> list[str]:
    """Read everything under the cache folder `root`; one line per thing that was damaged, and is now removed.

    A line on a file of yours, which is left alone, says that its bytes have changed though its signature has not.
    """
    root = cache_dir() if root is None else root
    checks = (_notes, _tables, _lists, _drawn, _features, _weights)
    found = []
    for number, check in enumerate(checks):
        found += list(check(root))
        tell("verifying the cache", number + 1, len(checks))
    return found


def _notes(root: Path) -> Iterator[str]:
    """Indices, lists of broken images, tables of hashes, codes of folders: each begins with its own hash."""
    for kind in ("index", "broken", "hashes", "codes"):
        for path in sorted((root / kind).glob("*.note")):
            if read_note(path) is None:
                path.unlink()
                yield f"{path}: damaged, removed"


def _tables(root: Path) -> Iterator[str]:
    """Files whose hash is remembered: what a file holds must be what it held when its signature was the same."""
    for path in sorted((root / "hashes").glob("*.note")):
        told = read_note(path)
        if told is None:
            continue
        files = told["files"]
        changed = []
        for name, entry in hash_in_threads(told["root"], list(files), "verifying files"):
            if entry is not None and list(entry[0]) == files[name][0] and entry[2] != files[name][2]:
                changed.append(name)
        if changed:
            with locked(path):
                write_note(path, {**told, "files": {n: e for n, e in files.items() if n not in set(changed)}})
        for name in changed:
            yield f"{told['root']}/{name}: its bytes have changed, though its size and times have not; hash forgotten"


def _lists(root: Path) -> Iterator[str]:
    for path in sorted((root / "lists").glob("*.npz")):
        if read_kept(path, path) is None:
            path.unlink()
            yield f"{path}: damaged, removed"


def _drawn(root: Path) -> Iterator[str]:
    for folder in _at_rest(root / "splits", ""):
        if not are_whole(folder):
            shutil.rmtree(folder)
            yield f"{folder}: drawn lists damaged, removed"


def _features(root: Path) -> Iterator[str]:
    for folder in _at_rest(root / "features", "features"):
        if ((folder / TABLE).exists() or (folder / NOTE).exists()) and not _is_sound(folder):
            for name in (TABLE, NOTE):
                (folder / name).unlink(missing_ok=True)
            yield f"{folder / TABLE}: damaged, removed"
        for path in sorted(folder.glob("chunk-*.npy")):
            if not is_whole_chunk(path):
                path.unlink()
                yield f"{path}: damaged, removed"


def _at_rest(parent: Path, lock: str) -> Iterator[Path]:
    """The folders below `parent` that nobody is writing to, each locked while it is looked at."""
    for folder in sorted(path for path in parent.glob("*") if path.is_dir()):
        with contextlib.suppress(BlockingIOError), locked(folder / lock if lock else folder, wait=False):
            yield folder


def _is_sound(folder: Path) -> bool:
    """Whether a table is what was written, and holds numbers."""
    try:
        return verify_table(folder) and bool(np.isfinite(np.load(folder / TABLE, mmap_mode="r")).all())
    except (OSError, ValueError, EOFError):
        return False


def _weights(root: Path) -> Iterator[str]:
    """Weights that were trained here: an archive whose members carry checksums."""
    for path in sorted((root / "weights").glob("*.pt")):
        try:
            with zipfile.ZipFile(path) as archive:
                sound = archive.testzip() is None
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, EOFError):
            sound = False
        if not sound:
            path.unlink()
            yield f"{path}: damaged, removed"
