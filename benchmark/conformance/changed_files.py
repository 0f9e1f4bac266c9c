"""Copies of a data set's files that are changed one at a time, to see whether its revision notices."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmark.conformance.dataset_trial import IMAGE_SUFFIXES

ALTERED = 20  # files that are changed, one at a time, until one is found that rows are made of


@contextlib.contextmanager
def elsewhere() -> Iterator[Path]:
    """A folder for a while; what data sets remember of it goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("HASHBENCH_CACHE")
        os.environ["HASHBENCH_CACHE"] = os.path.join(folder, "cache")
        try:
            yield Path(folder).resolve()
        finally:
            os.environ.pop("HASHBENCH_CACHE")
            if before is not None:
                os.environ["HASHBENCH_CACHE"] = before


def changed_one_by_one(folder: Path) -> Iterator[Path]:
    """Files below, each changed before it is given and put back after; the last first, which a sample would miss."""
    known = (*IMAGE_SUFFIXES, ".npz", ".npy")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in known and path.is_file())
    spread = files[::-1][:: max(1, len(files) // ALTERED)][:ALTERED]
    for path in spread:
        content = path.read_bytes()
        if _change(path):
            yield path
        path.write_bytes(content)


def _change(path: Path) -> bool:
    """Other pixels or other numbers in a file of the same format; whether that could be done."""
    try:
        if path.suffix.lower() not in (".npz", ".npy"):
            return _invert(path)
        loaded = np.load(path)
        if path.suffix.lower() == ".npy":
            np.save(path, -1 - loaded)
            return True
        arrays = dict(loaded)
        name = next(name for name, array in arrays.items() if array.dtype.kind == "f" and array.size)
        np.savez(path, **arrays | {name: -1 - arrays[name]})
    except Exception:  # no such format, an array of texts, ...: it stays as it is
        return False
    return True


def _invert(path: Path) -> bool:
    from PIL import Image

    with Image.open(path) as image:
        form, pixels = image.format, np.asarray(image.convert("RGB"))
    Image.fromarray(255 - pixels).save(path, format=form)
    return True
