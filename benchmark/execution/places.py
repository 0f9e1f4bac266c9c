"""Whether something can be written at a place: asked before any work, so that nothing is computed in vain."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Literal

from benchmark.errors import UsageError


def check_writable(flag: str, path: Path, kind: Literal["file", "folder"] = "file") -> None:
    """Raise UsageError unless a file or folder can be written at `path`; leaves nothing behind."""
    try:
        fault = _fault(path, kind)
    except OSError as error:
        fault = error.strerror or str(error)
    if fault:
        raise UsageError(f"{flag} {path}: {fault}; expected a {kind} that can be written")


def _fault(path: Path, kind: str) -> str | None:
    mode = _mode(path)
    if mode is None:
        return _fault_of_parent(path, kind)
    if kind == "folder":
        return _refused_by(path) if stat.S_ISDIR(mode) else "is no folder"
    if stat.S_ISDIR(mode):
        return "is a folder"
    return None if os.access(path, os.W_OK) else "may not be written"


def _fault_of_parent(path: Path, kind: str) -> str | None:
    """Folders are made, and those above them; a file needs a folder that is there."""
    parent = path.absolute().parent
    while kind == "folder" and _mode(parent) is None:
        parent = parent.parent
    mode = _mode(parent)
    if mode is None:
        return "its folder does not exist"
    return _refused_by(parent) if stat.S_ISDIR(mode) else f"{parent} is no folder"


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _refused_by(folder: Path) -> str | None:
    """Permissions, read-only disks and odd file systems alike: only trying tells. The file has no name."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return f"nothing can be written there ({error.strerror or error})"
