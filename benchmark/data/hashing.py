"""What identifies a file: the hash of its bytes, or, for source code, of what the code does.

Hashes of files are remembered, so that a hundred thousand images cost a second and not an hour. What is
remembered is trusted while the file's signature is the one it had when it was hashed: size, times of writing and
of change, and inode. The time of change is the kernel's, which no copying tool sets back. It has a grain,
though: a file that had changed just before it was hashed may have changed again within that grain, so it is
hashed anew. A file whose hash costs nothing is always hashed, and other single files once a week; what rots on
the disk under an unchanged signature is found by `benchmark.data.cache_check`.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import functools
import hashlib
import inspect
import os
import stat
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmark.data.cache import cache_dir, cache_name, locked, read_note, tell, write_note
from benchmark.errors import UsageError

CHEAP = 32 << 20  # bytes that are hashed in the blink of an eye, 0.04 s
SETTLED = 2 * 10**9  # nanoseconds: the coarsest grain of a file system's clock (FAT, old NFS)
WEEK = 7 * 24 * 3600 * 10**9
WHOLE = 1 << 20  # bytes
BLOCK = 256  # files between two reports
SAVE = 30.0  # seconds of hashing that may be lost by kill -9
Signature = list[int]  # size, time of writing, time of change, inode
HashNote = tuple[Signature, int, str]  # signature, when it was hashed, sha256; as JSON a list


def file_hash(path: Path) -> str:
    """sha256 of a file's bytes; UsageError where there is no file that can be read."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{path} is no file")
        if status.st_size <= CHEAP:
            return _digest(path)
        return _remembered_hash(path, status)
    except OSError as error:
        raise UsageError(f"file {path} cannot be read: {error.strerror or error}") from None


def _remembered_hash(path: Path, status: os.stat_result) -> str:
    whole = os.path.realpath(path)
    note = cache_dir() / "hashes" / f"{cache_name('file 1', whole)}.note"
    folder, name = os.path.split(whole)
    files = _read_table(note)
    entry: Any = files.get(name)
    if not is_trusted(entry, signature(status)) or not 0 <= time.time_ns() - entry[1] < WEEK:
        entry = hashed_now(whole)
        write_note(note, {"root": folder, "files": {name: entry}})
    return str(entry[2])


def tree_hashes(root: Path, paths: Sequence[str]) -> dict[str, str | None]:
    """sha256 of each of the files under `root`; None where there is no regular file that can be read.

    All that is known of a tree is one note in the cache. What is not, is hashed by several threads, and kept
    even if this is interrupted.
    """
    base = os.path.realpath(root)
    note = cache_dir() / "hashes" / f"{cache_name('tree 1', base)}.note"
    found, unknown = _look_up(base, paths, _read_table(note))
    if unknown:
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # a cache that cannot be written is only slower
                stack.enter_context(locked(note))
            files = _read_table(note)  # another process may have done it meanwhile
            known, unknown = _look_up(base, unknown, files)
            found |= known | _hash_files(base, unknown, files, note)
    return {path: found[path] for path in paths}


def _read_table(note: Path) -> dict[str, Any]:
    """Path -> HashNote."""
    told = read_note(note)
    files = told.get("files") if isinstance(told, dict) else None
    return files if isinstance(files, dict) else {}


def _look_up(base: str, paths: Sequence[str], files: Mapping[str, Any]) -> tuple[dict[str, str | None], list[str]]:
    """What is known of the paths, and which of them have to be hashed."""
    found: dict[str, str | None] = {}
    unknown = []
    for path in dict.fromkeys(paths):
        try:
            status = os.stat(f"{base}/{path}")
        except (OSError, ValueError):
            found[path] = None
            continue
        entry = files.get(path)
        if not stat.S_ISREG(status.st_mode):
            found[path] = None
        elif is_trusted(entry, signature(status)):
            found[path] = entry[2]  # type: ignore[index]
        else:
            unknown.append(path)
    return found, unknown


def signature(status: os.stat_result) -> Signature:
    """What must be as it was for a hash to be trusted."""
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def is_trusted(entry: Any, now: Signature) -> bool:
    """Whether a remembered hash still speaks of the file that has this signature now."""
    return entry is not None and entry[0] == now and entry[1] - now[2] > SETTLED


def hashed_now(path: str) -> HashNote:
    """Signature, time and hash of a regular file, the signature taken before the first byte is read; else OSError."""
    began, status = time.time_ns(), os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "no regular file", path)
    return signature(status), began, _digest(path)


def _digest(path: str | Path) -> str:
    with open(path, "rb", buffering=0) as handle:
        start = handle.read(WHOLE)  # most images are read at once; file_digest's buffer would cost more than they do
        if len(start) < WHOLE:
            return hashlib.sha256(start).hexdigest()
        handle.seek(0)
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _hash_files(base: str, paths: Sequence[str], files: dict[str, Any], note: Path) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    saved = time.monotonic()
    try:
        for path, entry in hash_in_threads(base, paths, "hashing files"):
            found[path] = None if entry is None else entry[2]
            if entry is not None:
                files[path] = entry
            if time.monotonic() - saved > SAVE:
                write_note(note, {"root": base, "files": files})
                saved = time.monotonic()
    finally:
        if found:
            write_note(note, {"root": base, "files": files})
    return found


def hash_in_threads(base: str, paths: Sequence[str], what: str) -> Iterator[tuple[str, HashNote | None]]:
    """Each path with its entry, None where it cannot be read; hashing frees the interpreter, as reading does."""

    def one(path: str) -> HashNote | None:
        with contextlib.suppress(OSError):
            return hashed_now(f"{base}/{path}")
        return None

    with ThreadPoolExecutor(min(32, 4 * (os.cpu_count() or 1))) as pool:
        for start in range(0, len(paths), BLOCK):
            block = paths[start : start + BLOCK]
            yield from zip(block, pool.map(one, block), strict=True)
            tell(what, start + len(block), len(paths))


def joined_hash(parts: Sequence[str | None]) -> str:
    """One hash of many; None stands for what is not there."""
    text = "\n".join(part or "-" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@functools.cache
def code_hash(path: Path) -> str:
    """Hash of what a source file does: comments, docstrings and layout do not count."""
    return _text_hash(path.read_text(encoding="utf-8"))


@functools.cache
def object_hash(*things: Any) -> str:
    """Hash of what some classes and functions do, and of nothing else in their files."""
    return _text_hash("\n".join(textwrap.dedent(inspect.getsource(thing)) for thing in things))


def _text_hash(source: str) -> str:
    return hashlib.sha256(code_text(ast.parse(source)).encode()).hexdigest()[:16]


def code_text(tree: ast.Module) -> str:
    """A syntax tree without its docstrings, as text."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            body[:1] = [] if len(body) > 1 else [ast.Pass()]
    return ast.unparse(tree)


def _is_text(statement: ast.AST) -> bool:
    """A bare string: a docstring, or a comment in its clothes."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
