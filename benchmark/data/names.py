"""Names of files, classes and data sets: which can stand in a list, a table and a figure, and which cannot."""

from __future__ import annotations

import os
from pathlib import Path

from benchmark.errors import UsageError


def fault_of_name(name: str) -> str | None:
    """Why a name cannot stand on one line of a UTF-8 text, or None where it can."""
    if not name or name != name.strip():
        return "is blank" if not name.strip() else "begins or ends with a space"
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        return "holds a line break or another control character"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "is not UTF-8 text"
    return None


def shown(name: str) -> str:
    """A name as an error message can hold it: on one line, in any terminal."""
    return repr(name)


def check_name(what: str, name: str) -> str:
    """The name again; UsageError where it cannot stand in a list or a table."""
    fault = fault_of_name(name)
    if fault:
        raise UsageError(f"{what} {shown(name)} {fault}; rename it")
    return name


def file_title(what: str, path: Path, stem: bool = False) -> str:
    """What people's own data is called: the name of its folder, or of its file without the suffix."""
    path = Path(os.path.realpath(path)) if not stem else path
    return check_name(what, (path.stem if stem else path.name) or "root")
