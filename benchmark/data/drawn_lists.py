"""Drawn splits on disk: list files with their hashes, made once from all images of a data set, and kept.

They can be published and read again, as published lists or by `lists:DIR`. How rows are drawn is done elsewhere
(`benchmark.data.split_drawing`), and so is saying which images there are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark import seeds
from benchmark.data import split_drawing
from benchmark.data.cache import cache_dir, locked, replacing
from benchmark.data.given_files import read_bytes
from benchmark.data.hashing import code_hash, file_hash
from benchmark.data.list_files import write_list
from benchmark.data.list_splits import PARTS
from benchmark.data.names import check_name
from benchmark.errors import UsageError

CLASS_NAMES, MANIFEST = "classes.txt", "lists.json"


@dataclass(frozen=True)
class DrawnLists:
    """The rows of each part, as entries and labels, the names of the classes, and what was left out."""

    rows: Mapping[str, tuple[Sequence[str], np.ndarray]]
    class_names: Sequence[str]
    notes: Sequence[str] = ()


def drawing_code() -> list[str]:
    """What identifies the code that draws splits."""
    return [code_hash(Path(str(module.__file__))) for module in (split_drawing, seeds)]


def draw_lists(dataset: str, identity: Mapping[str, Any], make: Callable[[], DrawnLists]) -> dict[str, Path]:
    """The list files of a drawn split, made once per identity and kept in the cache."""
    parts = {"code": drawing_code(), "dataset": dataset, **identity}
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    folder = cache_dir() / "splits" / f"{dataset}-{key}"
    if not are_whole(folder):
        try:
            with locked(folder):
                if not are_whole(folder):
                    write_lists(folder, make(), parts)
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(f"lists cannot be kept in {folder}: {reason}; set HASHBENCH_CACHE to another") from None
    return {part: folder / f"{part}.txt" for part in PARTS}


def write_lists(folder: Path, drawn: DrawnLists, made_from: Mapping[str, Any]) -> None:
    """Three list files and the class names, and lists.json with their hashes and what they were made from."""
    for part in PARTS:
        write_list(folder / f"{part}.txt", *drawn.rows[part])
    with replacing(folder / CLASS_NAMES) as temporary:
        names = (check_name("class", name) for name in drawn.class_names)
        temporary.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    hashes = {name: file_hash(folder / name) for name in (*(f"{part}.txt" for part in PARTS), CLASS_NAMES)}
    note = {"made from": dict(made_from), "sha256": hashes, "notes": list(drawn.notes)}
    with replacing(folder / MANIFEST) as temporary:
        temporary.write_text(json.dumps(note, indent=1) + "\n")


def drawing_notes(folder: Path) -> tuple[str, ...]:
    """What was left out when the lists of this folder were drawn; nothing where they were not drawn here."""
    notes = _manifest(folder).get("notes", ())
    return tuple(str(note) for note in notes) if isinstance(notes, list) else ()


def _manifest(folder: Path) -> dict[str, Any]:
    """What lists.json says; nothing where there is none that can be read."""
    try:
        told = json.loads(read_bytes("manifest", folder / MANIFEST))
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def are_whole(folder: Path) -> bool:
    """Whether the lists are there and are those that were written."""
    hashes = _manifest(folder).get("sha256")
    try:
        return isinstance(hashes, dict) and all(file_hash(folder / name) == value for name, value in hashes.items())
    except UsageError:
        return False
