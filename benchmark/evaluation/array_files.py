"""Arrays out of .npy, .npz, .csv, .mat and .pt files, as people keep codes and labels.

scipy and torch are imported only where needed. Every fault is a UsageError that names the file. Files are never
trusted: nothing in them is run.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.arrays import as_array
from benchmark.errors import UsageError

Choose = Callable[[Iterable[str]], str]  # names of the arrays in a file -> the one that is wanted


def read_array(place: str, name: str) -> np.ndarray:
    """The array of FILE or FILE:NAME; of several in a file, the one called `name`. An .npy file is mapped, not read."""
    path, chosen = _locate(place)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: unknown kind of file, expected {', '.join(_READERS)}")

    taken = []

    def choose(names: Iterable[str]) -> str:
        taken.append(_choose(sorted(names), path, chosen, name))
        return taken[-1]

    try:
        array = as_array(reader(path, choose), str(path))
    except UsageError:
        raise
    except Exception as error:  # readers of foreign files fail in every way there is
        raise UsageError(f"{path}: cannot be read: {_without_advice(error)}") from error
    if chosen is not None and not taken:
        raise UsageError(f"{path}: holds one array and no names, so none called {chosen!r}; give {path} alone")
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{path}: holds {array.dtype}, expected numbers (bool, whole or real)")
    return array


def _locate(place: str) -> tuple[Path, str | None]:
    """The file, and the name of the array in it where one follows a colon."""
    path, chosen = Path(place), None
    try:
        if not path.exists() and ":" in place:
            head, _, chosen = place.rpartition(":")
            path = Path(head)
        if path.is_file():
            return path, chosen
        kind = "no such file" if not path.exists() else "a folder" if path.is_dir() else "not a regular file"
    except (OSError, ValueError) as error:  # too long a name, a folder one may not look into
        kind = f"cannot be read: {_first_line(error)}"
    raise UsageError(f"{path}: {kind}; expected a file of {', '.join(_READERS)}")


def _choose(names: list[str], path: Path, chosen: str | None, name: str) -> str:
    if chosen is None:
        chosen = name if name in names else names[0] if len(names) == 1 else None
    if chosen is None or chosen not in names:
        wanted = f"no array {chosen!r}" if chosen else f"{len(names)} arrays"
        raise UsageError(f"{path}: {wanted}; choose with {path}:NAME from {', '.join(names) or 'nothing'}")
    return chosen


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else repr(error)


def _without_advice(error: Exception) -> str:
    """What a reader says; numpy and torch tell how to load a file that holds objects unsafely, which nobody should."""
    told = _first_line(error)
    if isinstance(error, pickle.UnpicklingError) or "pickle" in told:
        return "it is damaged, or holds Python objects, which are never loaded; expected arrays of numbers"
    return told


def _refuse_empty(path: Path) -> None:
    if not path.stat().st_size:
        raise UsageError(f"{path}: an empty file, expected an array")


def _read_npy(path: Path, choose: Choose) -> np.ndarray:
    _refuse_empty(path)
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _read_npz(path: Path, choose: Choose) -> np.ndarray:
    with np.load(path, allow_pickle=False) as file:
        return file[choose(file.files)]


def _read_csv(path: Path, choose: Choose) -> np.ndarray:
    """Numbers with commas between them; a first line of words is a heading. Whole numbers are whole, and
    such as fit into a byte may be packed codes."""
    _refuse_empty(path)
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline().split(",")
        rows = bool(file.readline().strip())
    heading = not any(_is_number(word) for word in first)  # one of numbers and words is a damaged row
    if heading and not rows:
        raise UsageError(f"{path}: no row of numbers")
    found: np.ndarray = np.loadtxt(path, delimiter=",", ndmin=2, skiprows=int(heading), encoding="utf-8-sig")
    whole = found.size and np.isfinite(found).all() and np.abs(found).max() < 2**31 and (found == found.round()).all()
    if not whole:
        return found
    return found.astype(np.uint8 if found.min() >= 0 and found.max() <= 255 else np.int64)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _read_mat(path: Path, choose: Choose) -> Any:
    from scipy.io import loadmat

    try:
        found = loadmat(path)
    except NotImplementedError as error:
        raise UsageError(f"{path}: MATLAB 7.3 file; save it with '-v7'") from error
    return found[choose(name for name in found if not name.startswith("__"))]


def _read_pt(path: Path, choose: Choose) -> Any:
    import torch

    with warnings.catch_warnings(action="ignore"):  # of a pickle, before it is refused
        found = torch.load(path, map_location="cpu", weights_only=True)  # never runs code from the file
    if isinstance(found, torch.Tensor):
        return found
    if isinstance(found, Mapping):
        tensors = {str(name): value for name, value in found.items() if isinstance(value, torch.Tensor)}
        return tensors[choose(tensors)]
    raise UsageError(f"{path}: holds {type(found).__name__}, expected a tensor or a dict of tensors")


_READERS: dict[str, Callable[[Path, Choose], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".mat": _read_mat,
    ".pt": _read_pt,
    ".pth": _read_pt,
}
