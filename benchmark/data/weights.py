"""Weight files of backbones: read without running anything they contain, and matched by strict names.

Two kinds: `.npz` of arrays (numpy, no pickles) and `.pth` / `.pt` state dicts (torch, `weights_only`). Which
network they belong to is the business of `benchmark.deep.backbones`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark.data.hashing import file_hash
from benchmark.errors import UsageError

if TYPE_CHECKING:
    import torch

SUFFIXES = (".npz", ".pth", ".pt")
DEFAULT = "IMAGENET1K_V1"  # torchvision's name for the weights the literature starts from


def is_file(weights: str) -> bool:
    """Whether `weights` means a file; else it is one of torchvision's names, or "random"."""
    return Path(weights).suffix in SUFFIXES or "/" in weights


def check_weights(weights: str | Path | None) -> None:
    """Raise UsageError unless `weights` is a readable file, "random", or may be a name of torchvision's."""
    if weights is None:
        return
    text = str(weights)
    if not is_file(text):
        if text != "random" and not re.fullmatch(r"[A-Z][A-Z0-9_]*", text):
            raise UsageError(f"weights '{text}': neither a file ({', '.join(SUFFIXES)}) nor a name such as {DEFAULT}")
        return
    if Path(text).suffix not in SUFFIXES:
        raise UsageError(f"weights file {text}: expected a name that ends in {', '.join(SUFFIXES)}")
    if not Path(text).is_file():
        raise UsageError(f"weights file {text} does not exist")


def weights_name(weights: str | Path | None, partial: bool = False) -> str:
    """What identifies these weights in a cell's key: the file's hash or torchvision's name. Costs no
    torch."""
    check_weights(weights)
    text = DEFAULT if weights is None else str(weights)
    name = f"sha256:{file_hash(Path(text))}" if is_file(text) else text
    return f"{name}+partial" if partial else name


def read_weights(path: str | Path) -> dict[str, torch.Tensor]:
    """Parameter name -> float tensor."""
    check_weights(path)
    path = Path(path)
    tensors = _read_npz(path) if path.suffix == ".npz" else _read_state_dict(path)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise UsageError(f"weights file {path}: '{name}' holds values that are not finite")
    return tensors


def _read_npz(path: Path) -> dict[str, torch.Tensor]:
    import torch

    try:
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except Exception as error:  # numpy raises whatever the zip, header or pickle check raises
        raise UsageError(f"weights file {path} is no npz of plain arrays: {error}") from None
    whole = {name: a.astype(np.float32) if a.dtype.kind == "f" else a for name, a in found.items()}
    try:
        return {name: torch.from_numpy(array) for name, array in whole.items()}
    except TypeError as error:
        raise UsageError(f"weights file {path}: {error}") from None


def _read_state_dict(path: Path) -> dict[str, torch.Tensor]:
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling raises anything; weights_only refuses all but plain tensors
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"weights file {path} is no state dict of plain tensors: {reason}") from None
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise UsageError(f"weights file {path}: expected a dict of parameter name -> tensor (model.state_dict())")
    return {str(name): t.float() if t.is_floating_point() else t for name, t in found.items()}


def match_weights(
    tensors: Mapping[str, torch.Tensor],
    wanted: Mapping[str, torch.Tensor],
    origin: str,
    may_miss: Iterable[str] = (),
) -> list[str]:
    """Names in `wanted` that `tensors` lacks, all of them in `may_miss`; any other difference is a
    UsageError."""
    unexpected = [name for name in tensors if name not in wanted]
    if unexpected:
        raise UsageError(f"weights file {origin}: unexpected {_some(unexpected)}; is it for another backbone?")
    for name, tensor in tensors.items():
        if tensor.shape != wanted[name].shape:
            have, need = tuple(tensor.shape), tuple(wanted[name].shape)
            raise UsageError(f"weights file {origin}: '{name}' has shape {have}, expected {need}")
    missing = [name for name in wanted if name not in tensors and not name.endswith("num_batches_tracked")]
    needed = sorted(set(missing) - set(may_miss), key=missing.index)
    if needed:
        hint = "" if set(needed) < set(wanted) else "; is it for another backbone?"
        raise UsageError(f"weights file {origin}: missing {_some(needed)}{hint}")
    return missing


def _some(names: list[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + more
