"""Names of files, classes and data sets: which can stand in a list, a table and a figure, and which cannot."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePath

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


def names_apart(names: Mapping[str, str]) -> dict[str, str]:
    """What was asked for (`features:/a/feats.npz`) -> a name that nothing else here has: its own, or as much of its
    path as tells it apart (`a/feats`), and of which kind it is where the paths are the same."""
    found = dict(names)
    for name in [name for name, count in Counter(names.values()).items() if count > 1]:
        alike = {spec: _folders(spec) for spec, own in names.items() if own == name}
        found |= _told_apart(alike, name)
    return found


def _folders(spec: str) -> tuple[str, ...]:
    return tuple(part for part in PurePath(spec.partition(":")[2]).parent.parts if part != "/")


def _told_apart(parents: Mapping[str, tuple[str, ...]], name: str) -> dict[str, str]:
    for depth in range(1 + max(map(len, parents.values()))):
        endings = {spec: "/".join([*parts[max(0, len(parts) - depth) :], name]) for spec, parts in parents.items()}
        kinds = {spec: f"{spec.partition(':')[0]}:{ending}" for spec, ending in endings.items()}
        for told in (endings, kinds):
            if len(set(told.values())) == len(told):
                return {spec: "".join(c if c.isprintable() else ascii(c)[1:-1] for c in one)
                        for spec, one in told.items()}  # fmt: skip
    return {spec: spec for spec in parents}
