"""A dict of arrays, tensors and plain values as one .npz file, and back; nothing in such a file is ever run.

The member `header` is JSON: what the writer says of the file, and the dict with a number in the place of each array.
Arrays come back in the memory order that they had: a product of matrices may depend on it in its last bit.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmark.errors import UsageError
from benchmark.shallow.scaling import FeatureScaling

FORMAT = 1
HEADER = "header"
SPARSE = 64  # the most memory that an array may take, against what its numbers need
TYPED = "is"  # marks what JSON alone cannot tell: {"is": "array", ...}


AsTensor = Callable[[np.ndarray], Any]


class OtherFormat(UsageError):
    """A model that another version has written."""


def state_bytes(about: Mapping[str, Any], state: Mapping[str, Any]) -> bytes:
    """The file's bytes; `about` is plain data that `read_state` gives back."""
    arrays: list[np.ndarray] = []
    told = {"format": FORMAT, "about": about, "state": _told(state, arrays)}
    members = {str(number): array for number, array in enumerate(arrays)}
    buffer = io.BytesIO()
    np.savez(buffer, **{HEADER: np.frombuffer(json.dumps(told, allow_nan=True).encode(), np.uint8)}, **members)  # type: ignore[arg-type]
    return buffer.getvalue()


def read_state(content: bytes, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(about, state) of such a file; `name` is the file's, for messages."""
    return _read(content, name, _tensor)


def check_state(content: bytes, name: str) -> None:
    """Raise what `read_state` would raise; without torch, which takes seconds to load."""
    _read(content, name, lambda array: array)


def _read(content: bytes, name: str, as_tensor: AsTensor) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            told = json.loads(file[HEADER].tobytes())
            if told["format"] != FORMAT:
                another = f"model {name} has format {told['format']!r}, this version reads {FORMAT}"
                raise OtherFormat(f"{another}; keep it again with this version")
            arrays = {member: file[member] for member in file.files if member != HEADER}
        return told["about"], _untold(told["state"], arrays, as_tensor)
    except UsageError:
        raise
    except Exception as error:  # readers of foreign files fail in every way there is
        # What numpy says of a pickle is how to load it all the same.
        raise UsageError(f"model {name} cannot be read ({type(error).__name__}); keep it again") from None


def _told(value: Any, arrays: list[np.ndarray]) -> Any:
    """The value as JSON; its arrays are added to `arrays`."""
    if isinstance(value, np.ndarray):
        return _told_array("array", value, arrays)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.bool_, np.number)):
        return _told_array("number", np.asarray(value), arrays)
    if isinstance(value, FeatureScaling):
        parts = (value.mode, value.gain, value.mean, value.directions)
        return {TYPED: "scaling", "parts": [_told(part, arrays) for part in parts]}
    if isinstance(value, tuple):
        return {TYPED: "tuple", "parts": [_told(part, arrays) for part in value]}
    if isinstance(value, list):
        return [_told(part, arrays) for part in value]
    if isinstance(value, Mapping):
        return {TYPED: "dict", "parts": [[key, _told(part, arrays)] for key, part in value.items()]}
    return _told_array("tensor", value.contiguous().numpy(), arrays)


def _told_array(kind: str, array: np.ndarray, arrays: list[np.ndarray]) -> dict[str, Any]:
    arrays.append(np.ascontiguousarray(array).reshape(array.shape))
    steps = [stride // array.itemsize for stride in array.strides]
    told: dict[str, Any] = {TYPED: kind, "number": len(arrays) - 1}
    return told if array.flags.c_contiguous else {**told, "steps": steps}


def _untold(told: Any, arrays: Mapping[str, np.ndarray], as_tensor: AsTensor) -> Any:
    if isinstance(told, list):
        return [_untold(part, arrays, as_tensor) for part in told]
    if not isinstance(told, dict):
        return told
    kind = told[TYPED]
    if kind in ("array", "number", "tensor"):
        array = arrays[str(told["number"])]
        return as_tensor(array) if kind == "tensor" else _untold_array(kind, array, told.get("steps"))
    if kind == "dict":
        return {key: _untold(part, arrays, as_tensor) for key, part in told["parts"]}
    parts = [_untold(part, arrays, as_tensor) for part in told["parts"]]
    return FeatureScaling(*parts) if kind == "scaling" else tuple(parts)


def _tensor(array: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(array.copy())


def _untold_array(kind: str, array: np.ndarray, steps: list[int] | None) -> Any:
    if kind == "number":
        return array[()]
    return array if steps is None else _laid_out(array, steps)


def _laid_out(array: np.ndarray, steps: list[int]) -> np.ndarray:
    """The same numbers, as far apart in memory as they were."""
    reach = [step * (size - 1) for step, size in zip(steps, array.shape, strict=True)]
    if not array.size or 0 in steps:  # no numbers, or one number many times
        return array
    size = sum(map(abs, reach)) + 1
    if size > SPARSE * array.size:  # a narrow view of something wide
        return array
    room = np.zeros(size, array.dtype)
    start = -sum(one for one in reach if one < 0)
    strides = [step * array.itemsize for step in steps]
    view = np.lib.stride_tricks.as_strided(room[start:], array.shape, strides)
    view[...] = array
    return view
