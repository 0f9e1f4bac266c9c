"""Whatever holds numbers -> a numpy array: lists, tensors on any device, sparse matrices, series and data frames.

Asks an object what it can do and imports none of the packages those come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmark.errors import UsageError


def as_array(data: Any, name: str = "array") -> np.ndarray:
    """`data` as a numpy array; a memory map stays on disk. UsageError, beginning with `name`, where it is none.

    A tensor leaves its graph and its device; a type numpy lacks (bfloat16) becomes float32.
    """
    if hasattr(data, "detach"):
        return _of_tensor(data)
    if hasattr(data, "toarray"):
        data = data.toarray()
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise UsageError(f"{name}: a masked array with {np.ma.count_masked(data)} masked values; fill or drop them")
    if isinstance(data, (list, tuple)) and any(hasattr(part, "detach") for part in data):
        data = [as_array(part, name) for part in data]
    try:
        return np.asarray(data)
    except (ValueError, TypeError, OverflowError) as error:  # above all rows of unequal length
        raise UsageError(f"{name}: cannot be read as an array: {str(error).splitlines()[0]}") from error


def _of_tensor(tensor: Any) -> np.ndarray:
    here = tensor.detach().cpu()
    if hasattr(here, "layout") and "sparse" in str(here.layout):
        here = here.to_dense()
    try:
        return np.asarray(here)
    except TypeError:  # a type that numpy does not have
        return np.asarray(here.float())
