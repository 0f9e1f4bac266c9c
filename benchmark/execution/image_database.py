"""What is searched by a kept model: packed codes with names, labels and pictures where they are known.

A database is a folder of images, whose codes are kept in the cache, file by file: what has not changed is not encoded
again; or a file of codes as `encode` writes it; or what the model's own cell was scored on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from benchmark.contracts import Images
from benchmark.data.cache import cache_dir, cache_name, read_note, tell, write_note
from benchmark.data.images import ImageFiles
from benchmark.errors import InvalidCodes, UsageError
from benchmark.evaluation.array_files import read_array
from benchmark.evaluation.codes import pack, pack_any
from benchmark.execution.model import Model
from benchmark.execution.model_inputs import ModelRows, inputs_at
from benchmark.execution.record import Record
from benchmark.execution.store import Store
from benchmark.registry import get_dataset

OWN = "codes"  # the word for the database of the cell itself
PROBED = 3  # pictures that are encoded again, to see whether codes of a file are this model's


@dataclass(frozen=True, eq=False)
class ImageDatabase:
    """Packed codes, and what is known of their rows."""

    name: str
    names: Sequence[str]
    packed: np.ndarray
    images: Images | None = None
    labels: Callable[[int], str] = lambda row: ""
    told: list[str] = field(default_factory=list)  # what the user should know, a line each

    def __len__(self) -> int:
        return len(self.packed)


def open_database(word: str, model: Model, record: Record, store: Store, images: Path | None = None) -> ImageDatabase:
    """The database that a word means: a folder, a file of codes, or `codes` for the cell's own."""
    path = Path(word)
    if word == OWN and not path.exists():
        return own_database(record, store)
    if path.is_dir():
        return folder_database(path, model)
    if not path.is_file():
        told = "no such folder or file; expected a folder of images, a file of codes"
        raise UsageError(f"--database {word}: {told}, or the word '{OWN}' for those of the cell")
    return file_database(path, model, images)


def folder_database(path: Path, model: Model) -> ImageDatabase:
    """All images below a folder; those that do not decode are named and left out."""
    rows = inputs_at(path)
    model.check_takes(rows)
    note = cache_dir() / "codes" / f"{cache_name(model.sha256, os.path.realpath(path))}.note"
    before: dict[str, list[Any]] = read_note(note) or {}
    signed = {name: _signature(file) for name, file in zip(rows.names, rows.files, strict=True)}
    known = {name: _Coded(*kept) for name, (*then, kept) in before.items() if signed.get(name) == then}
    unchanged = len(known) == len(signed) == len(before)
    told = [_changes(before, signed, known)] if before and not unchanged else []
    found = _encoded(rows, known, model, path)
    write_note(note, {name: [*signed[name], one] for name, one in found.items()})
    faults = [f"left out: {one.fault}" for one in found.values() if one.fault]
    names = [name for name in rows.names if not found[name].fault]
    if not names:
        raise UsageError(f"--database {path}: none of its {len(rows):,} images can be read; {faults[0]}")
    packed = np.frombuffer(bytes.fromhex("".join(found[name].code for name in names)), np.uint8)
    packed, files = packed.reshape(len(names), -1), ImageFiles(path, names)
    return ImageDatabase(str(path), names, packed, files, lambda row: _folder_of(names[row]), told + faults)


class _Coded(NamedTuple):
    """The code of an image in hexadecimal digits, or why it has none."""

    code: str
    fault: str = ""


def _signature(file: Path) -> list[int]:
    try:
        status = file.stat()
    except OSError:
        return [-1, -1]
    return [status.st_size, status.st_mtime_ns]


def _changes(before: dict[str, Any], now: dict[str, Any], known: dict[str, Any]) -> str:
    gone, new = len(before.keys() - now.keys()), len(now.keys() - before.keys())
    changed = len(before.keys() & now.keys()) - len(known)
    return f"the folder has changed since its codes were kept: {new:,} new, {changed:,} changed, {gone:,} gone"


def _encoded(rows: ModelRows, known: dict[str, _Coded], model: Model, path: Path) -> dict[str, _Coded]:
    """All of them: what is known, and what was missing."""
    missing = [row for row, name in enumerate(rows.names) if name not in known]
    wanted = [rows.names[row] for row in missing]
    left = ModelRows(wanted, images=ImageFiles(path, wanted), files=[rows.files[row] for row in missing])
    found = dict(known)
    for chunk in model.chunks(left) if missing else ():
        codes = zip(chunk.rows, pack(chunk.codes), strict=True)
        found |= {wanted[row]: _Coded(code.tobytes().hex()) for row, code in codes}
        found |= {wanted[row]: _Coded("", told) for row, told in chunk.faults.items()}
        tell(f"encoding {path.name}", len(found) - len(known), len(missing))
    return found


def _folder_of(name: str) -> str:
    """The folder that an image lies in: its class, where folders are classes."""
    parent = PurePosixPath(name).parent.name
    return parent if parent != "." else ""


def file_database(path: Path, model: Model, images: Path | None) -> ImageDatabase:
    """Codes of a file, their names if it has them, and pictures where the folder is given that they were made of."""
    try:
        packed, _ = pack_any(read_array(str(path), "codes"), model.bits, str(path))
    except InvalidCodes as error:
        raise UsageError(f"{error}; the model '{model.label}' makes codes of {model.bits} bits") from None
    names = _names(path, len(packed))
    if images is None:
        return ImageDatabase(str(path), names, packed)
    if not images.is_dir():
        raise UsageError(f"--images {images}: no such folder")
    files = ImageFiles(images, names)
    told = _unlike(files, packed, model, path)
    return ImageDatabase(str(path), names, packed, files, lambda row: _folder_of(names[row]), told)


def _names(path: Path, rows: int) -> list[str]:
    """Of the file itself, or of the list that `encode` writes beside it; numbers where there are none."""
    beside = path.with_name(f"{path.stem}.names.txt")
    names: list[str] = []
    if path.suffix.lower() == ".npz":
        with np.load(path, allow_pickle=False) as file:
            names = [str(name) for name in file["names"]] if "names" in file.files else []
    elif beside.is_file():
        names = beside.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return names if len(names) == rows else [str(row) for row in range(rows)]


def _unlike(files: ImageFiles, packed: np.ndarray, model: Model, path: Path) -> list[str]:
    """A few pictures are encoded again: codes of another model, or of pictures that have changed, find nothing."""
    rows = np.linspace(0, len(packed) - 1, min(PROBED, len(packed))).astype(int).tolist()
    there = [row for row in rows if (files.root / files.paths[row]).is_file()]
    if not there:
        return [f"none of the pictures of {path} that were looked for are in {files.root}"]
    codes = pack(model.encode([str(files.root / files.paths[row]) for row in there]))
    if not (codes == packed[there]).all(axis=1).any():
        told = f"{path}: its codes are not those that '{model.label}' gives for the pictures in {files.root}"
        raise UsageError(f"{told}; they are of another model, or the pictures have changed: encode them again")
    return []


def own_database(record: Record, store: Store) -> ImageDatabase:
    """The database that the cell was scored on: codes and labels as stored, pictures where the data set is at hand."""
    packed, rows = store.payload(record)["database_codes"], store.dataset(record.revision)
    classes, names = rows["class_names"], rows.get("database_ids", np.arange(len(packed)))
    labels = rows.get("database_labels")

    def named(row: int) -> str:
        if labels is None:
            return ""
        return ", ".join(classes[np.flatnonzero(np.unpackbits(labels[row], count=len(classes)))].tolist())

    images, told = _own_images(record)
    return ImageDatabase(record.cell["dataset"], [str(name) for name in names], packed, images, named, told)


def _own_images(record: Record) -> tuple[Images | None, list[str]]:
    asked = record.asked
    try:
        dataset = get_dataset(asked["dataset"], asked["data_root"], **asked["options"])
        if dataset.revision != record.revision:
            return None, ["no pictures: the data set has changed since the cell was run"]
        images = dataset.load().database.images
    except Exception as error:  # a plugin may fail in any way; that costs the pictures, not the search
        return None, [f"no pictures: the data set cannot be loaded here ({error})"]
    return images, [] if images is not None else ["no pictures: the data set has features only"]
