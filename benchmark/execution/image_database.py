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
from benchmark.evaluation.codes import pack
from benchmark.execution.cell_names import label_of
from benchmark.execution.encoding import CODE_FILES, file_state, read_codes_file
from benchmark.execution.model import Model
from benchmark.execution.model_inputs import ModelRows, inputs_at
from benchmark.execution.record import Record
from benchmark.execution.store import Store
from benchmark.registry import get_dataset

OWN = "codes"  # the word for the database of the cell itself
GROWTH = 1.1  # by which the codes of a folder grow before they are kept: each time all of them are written
PROBED = 16  # pictures that are encoded again, to see whether codes of a file are this model's
ROUNDED = 16  # one bit in so many may be another where codes were made on another machine, which rounds otherwise


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
    if means_own(word):
        return own_database(record, store)
    if path.is_dir():
        return folder_database(path, model)
    if not path.is_file() or path.suffix.lower() not in CODE_FILES:
        kind = "no file of codes by its name" if path.is_file() else "no such folder or file"
        told = f"{kind}; expected a folder of images, a file of codes ({', '.join(CODE_FILES)})"
        raise UsageError(f"--database {word}: {told}, or the word '{OWN}' for those of the cell")
    return file_database(path, model, images)


def means_own(word: str) -> bool:
    """Whether a word means what the cell itself was scored on."""
    return word == OWN and not Path(word).exists()


def folder_database(path: Path, model: Model) -> ImageDatabase:
    """All images below a folder; those that do not decode are named and left out."""
    rows = inputs_at(path)
    model.check_takes(rows)
    note = cache_dir() / "codes" / f"{cache_name(model.sha256, os.path.realpath(path))}.note"
    before: dict[str, list[Any]] = read_note(note) or {}
    signed = {name: [*file_state(file)] for name, file in zip(rows.names, rows.files, strict=True)}
    begun = note.with_suffix(".begun")  # what a call that died had encoded
    known = {
        name: _Coded(*kept)
        for name, (*then, kept) in {**before, **(read_note(begun) or {})}.items()
        if signed.get(name) == then
    }
    unchanged = signed == {name: then for name, (*then, _) in before.items()}
    told = [_changes(before, signed)] if before and not unchanged else []
    found = _encoded(rows, known, model, path, lambda done: _keep_codes(begun, signed, done))
    _keep_codes(note, signed, found)
    begun.unlink(missing_ok=True)
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


def _changes(before: dict[str, list[Any]], now: dict[str, list[int]]) -> str:
    gone, new = len(before.keys() - now.keys()), len(now.keys() - before.keys())
    changed = sum(before[name][:-1] != now[name] for name in before.keys() & now.keys())
    return f"the folder has changed since its codes were kept: {new:,} new, {changed:,} changed, {gone:,} gone"


def _keep_codes(note: Path, signed: dict[str, list[int]], found: dict[str, _Coded]) -> None:
    write_note(note, {name: [*signed[name], one] for name, one in found.items()})


def _encoded(
    rows: ModelRows, known: dict[str, _Coded], model: Model, path: Path, keep: Callable[[dict[str, _Coded]], None]
) -> dict[str, _Coded]:
    """All of them: what is known, and what was missing. They are kept as they grow, so that a death costs a tenth, and
    Ctrl-C nothing."""
    missing = [row for row, name in enumerate(rows.names) if name not in known]
    wanted = [rows.names[row] for row in missing]
    left = ModelRows(wanted, images=ImageFiles(path, wanted), files=[rows.files[row] for row in missing])
    found, kept = dict(known), len(known)
    try:
        for chunk in model.chunks(left) if missing else ():
            codes = zip(chunk.rows, pack(chunk.codes), strict=True)
            found |= {wanted[row]: _Coded(code.tobytes().hex()) for row, code in codes}
            found |= {wanted[row]: _Coded("", told) for row, told in chunk.faults.items()}
            tell(f"encoding {path.name}", len(found) - len(known), len(missing))
            if len(found) > GROWTH * kept:
                keep(found)
                kept = len(found)
    except KeyboardInterrupt:
        keep(found)
        raise
    return found


def _folder_of(name: str) -> str:
    """The folder that an image lies in: its class, where folders are classes."""
    parent = PurePosixPath(name).parent.name
    return parent if parent != "." else ""


def file_database(path: Path, model: Model, images: Path | None) -> ImageDatabase:
    """Codes of a file, their names if it has them, and pictures where the folder is given that they were made of."""
    try:
        found = read_codes_file(path, model.bits)
    except InvalidCodes as error:
        raise UsageError(f"{error}; the model '{model.label}' makes codes of {model.bits} bits") from None
    if found.model and found.model != model.key:
        told = f"{path}: its codes were made by the model of cell {found.model[:12]}, not by '{model.label}'"
        raise UsageError(f"{told} ({model.key[:12]}): search them by that one, or encode the pictures by this")
    names = found.names or [str(row) for row in range(len(found.packed))]
    if images is None:
        unknown = f"{path} does not say which model made its codes; give their pictures by --images to have it checked"
        return ImageDatabase(str(path), names, found.packed, told=[] if found.model else [unknown])
    if not images.is_dir():
        raise UsageError(f"--images {images}: no such folder")
    now = np.array([file_state(images / name) for name in names]).reshape(-1, 2)
    there = np.flatnonzero(now[:, 0] >= 0)
    missing = _missing(names, now, path, images)
    kept = [names[row] for row in there]
    files, packed = ImageFiles(images, kept), found.packed[there]
    suspects = _suspects(kept, now[there], None if found.files is None else found.files[there], path)
    _check_codes(files, packed, suspects, model, path)
    return ImageDatabase(str(path), kept, packed, files, lambda row: _folder_of(kept[row]), missing)


def _missing(names: Sequence[str], now: np.ndarray, path: Path, images: Path) -> list[str]:
    """What is said of pictures that are not there: as of a folder, they are left out, unless these are all."""
    gone = np.flatnonzero(now[:, 0] < 0)
    if len(names) and len(gone) == len(names):
        told = f"{path}: none of its {len(names):,} pictures, the first of which is {names[0]}, are in {images}"
        raise UsageError(f"{told}; give the folder that was encoded, or leave out --images")
    first = f"{len(gone):,} of the {len(names):,} pictures of {path} are not in {images}, the first is"
    return [f"left out: {first} {names[gone[0]]}"] if len(gone) else []


def _suspects(names: Sequence[str], now: np.ndarray, then: np.ndarray | None, path: Path) -> np.ndarray:
    """The rows among which pictures may have changed: those of another time, else all. Another size is a change."""
    if then is None:
        return np.arange(len(names))
    changed = np.flatnonzero(now[:, 0] != then[:, 0])
    if len(changed):
        told = f"{len(changed):,} of its {len(names):,} pictures have changed since, the first is {names[changed[0]]}"
        raise UsageError(f"{path}: {told}: encode them again")
    touched = np.flatnonzero(now[:, 1] != then[:, 1])
    return touched if len(touched) else np.arange(len(names))


def _check_codes(files: ImageFiles, packed: np.ndarray, suspects: np.ndarray, model: Model, path: Path) -> None:
    """Some pictures are encoded again: codes of another model, or of pictures that have changed, find nothing."""
    rows = suspects[np.linspace(0, len(suspects) - 1, min(PROBED, len(suspects))).astype(int)]
    codes = pack(model.encode([str(files.root / files.paths[row]) for row in rows])) if len(rows) else packed
    distances = np.unpackbits(codes ^ packed[rows], axis=1).sum(axis=1)
    other = rows[distances > model.bits // ROUNDED]
    if len(other):
        told = f"of {len(rows)} pictures that were encoded again by '{model.label}', {len(other)} have other codes"
        why = "they are of another model, or the pictures have changed"
        raise UsageError(f"{path}: {told}, the first is {files.paths[other[0]]}; {why}: encode them again")


def own_database(record: Record, store: Store) -> ImageDatabase:
    """The database that the cell was scored on: codes and labels as stored, pictures where the data set is at hand."""
    arrays, rows = store.payload(record), store.dataset(record.revision)
    if "database_codes" not in arrays:
        fault = f"{label_of(record)}: its record in {store.root} holds no codes (prune --codes drops them)"
        raise UsageError(f"{fault}; run the cell again with --force")
    packed = arrays["database_codes"]
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
