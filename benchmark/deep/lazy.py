"""torch, imported when first used: a finished grid must be re-planned without paying for the import.

Deep plugins write `from benchmark.deep import torch` and then plain torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any


class _LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


if TYPE_CHECKING:
    import torch as torch
else:
    torch = _LazyModule("torch")
