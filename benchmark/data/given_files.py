"""Files that people give: told apart from folders and pipes, and read whole, or one line that says why not.

Looking never raises (a name may be too long, or lie in a folder that may not be read), and nothing is opened
that is no regular file: a pipe would wait for ever.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmark.errors import UsageError


def is_regular_file(path: Path) -> bool:
    """Whether there is a regular file, or a link to one."""
    return os.path.isfile(path)


def is_folder(path: Path) -> bool:
    return os.path.isdir(path)


def given_path(text: str) -> Path:
    """A path as people write it, with ~ for their home."""
    return Path(os.path.expanduser(text))


def need_file(what: str, path: Path) -> Path:
    """The path again; UsageError unless there is a file."""
    if not is_regular_file(path):
        raise UsageError(f"{what} {path} {'is no file' if os.path.lexists(path) else 'does not exist'}")
    return path


def need_folder(what: str, path: Path) -> Path:
    """The path again; UsageError unless there is a folder."""
    if not is_folder(path):
        raise UsageError(f"{what} {path} {'is no folder' if os.path.lexists(path) else 'does not exist'}")
    return path


def read_bytes(what: str, path: Path) -> bytes:
    """All of a file; `what` says in an error what it was meant to be."""
    need_file(what, path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{what} {path} cannot be read: {error.strerror or error}") from None


def read_text(what: str, path: Path) -> str:
    """All of a UTF-8 text, without a byte order mark, with plain line ends."""
    try:
        text = read_bytes(what, path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{what} {path}: not UTF-8 text; save it as UTF-8") from None
    return text.replace("\r\n", "\n")
