"""The only importer of torchvision: `from benchmark.data.vision import torchvision`, and nothing else lives here.

A CPU build of torch may meet a torchvision whose compiled part was built for CUDA (both are what the package
index gives). That part then does not load, its operators `torchvision::nms` and `torchvision::qnms` are never
declared, and `import torchvision` fails, because it registers shape functions for them. The benchmark calls
neither operator, so declaring their schemas first is all it takes for models, transforms and datasets to
work.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def compiled_part_loads() -> bool:
    """Whether torchvision's compiled operators fit this torch; loading them twice is harmless."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None or not spec.submodule_search_locations:
        return True  # nothing to repair: the import below says what is missing
    folder = Path(next(iter(spec.submodule_search_locations)))
    for library in (*folder.glob("_C*.so"), *folder.glob("_C*.pyd")):
        try:
            torch.ops.load_library(str(library))
        except (ImportError, OSError):
            return False
        return True
    return False


def declare_operators() -> torch.library.Library:
    """Declare the schemas that torchvision expects; they live as long as the returned library is held."""
    library = torch.library.Library("torchvision", "DEF")
    for schema in SCHEMAS:
        library.define(schema)
    return library


DECLARED = None if compiled_part_loads() else declare_operators()

import torchvision  # noqa: E402  (the operators must be declared first)

__all__ = ["DECLARED", "torchvision"]
