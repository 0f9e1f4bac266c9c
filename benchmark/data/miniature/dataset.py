"""The data set class of the miniatures: a plugin file states the rows and the cut-off, and nothing else."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import ClassVar

from benchmark.contracts import Splits
from benchmark.data.dataset_kinds import NamedDataset
from benchmark.data.hashing import joined_hash
from benchmark.data.miniature.labelled_rows import RowProtocol, miniature_splits
from benchmark.data.miniature.recipe import source_hash


class Miniature(NamedDataset):
    """An embedded stand-in; what it needs ships with scikit-learn."""

    rows: ClassVar[RowProtocol]
    map_cutoff: ClassVar[int]
    protocol = "miniature"
    miniature = True
    backbone = "mini-cnn"

    def __init__(self, argument: str | None = None, *, data_root: Path | None = None) -> None:
        super().__init__()

    @cached_property
    def revision(self) -> str:
        """Identifies every pixel and label without drawing one: hash of the protocol and of the code behind it."""
        return joined_hash([self.name, repr(self.rows), source_hash()])[:16]

    def check(self) -> None:
        """Nothing can be missing: the glyphs ship with scikit-learn."""

    def load(self) -> Splits:
        return miniature_splits(self.name, self.rows)
