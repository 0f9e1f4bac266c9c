"""The files of a report: which are ours, whether they are whole, what they were made from, and how old ones go.

A report folder holds index.html, experiment.md and .tex, references.bib, tables/ and figures/, and a manifest with the
size and sha256 of each of them. The manifest is a note to ourselves, not an order: whatever it says, only files of our
own naming inside the folder are ever removed, and a file counts as up to date only if it still has the content it was
written with. What bears one of our names and is no plain file is neither read nor written through.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.data.given_files import is_regular_file
from benchmark.data.hashing import code_hash

PACKAGE = Path(__file__).parents[1]
MANIFEST = "manifest.json"
OURS = re.compile(
    r"index\.html|experiment\.(md|tex)|references\.bib|tables/[a-z0-9][a-z0-9-]*\.(csv|md|tex)|figures/[a-z0-9][a-z0-9-]*\.(pdf|png|csv)"
)
# Besides the report's own code: what reads records and turns them into scores, chances and statements.
DECISIVE = (
    "report", "evaluation", "cards", "execution/record.py", "execution/store.py", "labels.py", "arrays.py",
    "program.py", "wording.py",
)  # fmt: skip


@dataclass(frozen=True)
class Manifest:
    """What the last report was made from and wrote."""

    digest: str = ""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # name -> bytes, sha256
    figures: Mapping[str, str] = field(default_factory=dict)  # name -> digest of its data and drawing code

    @classmethod
    def read(cls, out: Path) -> Manifest:
        """The manifest of a report folder; an empty one where there is none that can be used."""
        if not is_regular_file(out / MANIFEST):
            return cls()
        try:
            raw = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
            files, figures = raw.get("files"), raw.get("figures")
        except (OSError, ValueError, AttributeError):
            return cls()
        if isinstance(files, list):  # as earlier versions wrote it: names alone, so nothing is known to be whole
            files = {name: {} for name in files}
        if not isinstance(files, dict) or not isinstance(figures, dict):
            return cls()
        ours = {name: about for name, about in files.items() if OURS.fullmatch(name) and isinstance(about, dict)}
        return cls(str(raw.get("digest")), ours, {str(name): str(digest) for name, digest in figures.items()})

    @classmethod
    def of(cls, out: Path, digest: str, files: Iterable[str], figures: Mapping[str, str]) -> Manifest:
        """The manifest of files just written."""
        return cls(digest, {name: _about(out / name) for name in sorted(files)}, dict(figures))

    def write(self, out: Path) -> None:
        content = {"digest": self.digest, "files": dict(self.files), "figures": dict(self.figures)}
        (out / MANIFEST).write_text(json.dumps(content, indent=1), encoding="utf-8")

    def whole(self, out: Path, names: Collection[str] | None = None) -> bool:
        """Whether these files (or all) have the content they were written with: sizes first, as they cost least."""
        wanted = self.files if names is None else names
        if not wanted or any(name not in self.files or not _same_size(out / name, self.files[name]) for name in wanted):
            return False
        return all(_about(out / name) == self.files[name] for name in wanted)


def _same_size(path: Path, about: Mapping[str, Any]) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == about.get("bytes")


def _about(path: Path) -> dict[str, Any]:
    with path.open("rb") as handle:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(handle, "sha256").hexdigest()}


def remove_old(out: Path, names: Iterable[str]) -> None:
    """Remove files that an earlier report made and this one has not: ours by name, and really inside the folder."""
    for name in names:
        if OURS.fullmatch(name) and _is_inside(out, name):
            (out / name).unlink(missing_ok=True)  # of a link, the link


def make_way(out: Path) -> None:
    """Remove what has taken a name of ours and is no plain file: a pipe would be waited for, and through a link
    somebody else's file would be overwritten."""
    for path in [path for pattern in ("*", "tables/*", "figures/*") for path in out.glob(pattern)]:
        name, kind = path.relative_to(out).as_posix(), path.lstat().st_mode
        ours = (name == MANIFEST or OURS.fullmatch(name)) and _is_inside(out, name)
        if ours and not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            path.unlink()


def _is_inside(out: Path, name: str) -> bool:
    return (out / name).parent.resolve() == out.resolve() / Path(name).parent


def code_digest(package: Path = PACKAGE) -> str:
    """Changes with all code and data that decide what a report says; not with comments, docstrings or layout."""
    digest = hashlib.sha256()
    for name in DECISIVE:
        here = package / name
        for path in [here] if here.is_file() else sorted(here.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                content = code_hash(path) if path.suffix == ".py" else hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.relative_to(package).as_posix()} {content}\n".encode())
    return digest.hexdigest()
