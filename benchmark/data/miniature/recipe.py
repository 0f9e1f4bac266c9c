"""What identifies the images of the miniatures: the code that makes them. Reading it imports no digit."""

from __future__ import annotations

from pathlib import Path

from benchmark import seeds
from benchmark.data.hashing import code_hash, joined_hash
from benchmark.data.miniature import glyphs, labelled_rows, pixels, scenes


def source_hash() -> str:
    """Hash of the code that makes images and labels; comments and docstrings do not count."""
    modules = (glyphs, labelled_rows, pixels, scenes, seeds)
    return joined_hash([code_hash(Path(str(module.__file__))) for module in modules])
