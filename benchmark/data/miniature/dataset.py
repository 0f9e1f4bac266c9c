"""The data set classes of the miniatures: a plugin file states the rows and the cut-off, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmark.contracts import Splits
from benchmark.data.dataset_kinds import NamedDataset
from benchmark.data.drawn_lists import drawing_code
from benchmark.data.hashing import joined_hash
from benchmark.data.miniature.labelled_rows import RowProtocol, miniature_splits
from benchmark.data.miniature.recipe import source_hash
from benchmark.data.option_values import word
from benchmark.data.split_drawing import class_sizes, draw_training

OWN_SKEW = "paper"  # the class sizes that a protocol states


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


class OneLabelMiniature(Miniature):
    """A miniature whose training set can be drawn anew, in another imbalance, from the same database."""

    def __init__(
        self,
        argument: str | None = None,
        *,
        data_root: Path | None = None,
        imbalance: str = OWN_SKEW,  # paper: its own; or another one of `class_sizes`
    ) -> None:
        super().__init__(argument, data_root=data_root)
        self.imbalance = word(self._option("imbalance"), imbalance)
        if self.imbalance != OWN_SKEW:
            self.protocol = f"miniature, imbalance {imbalance}"
            self.title = f"{self.info.title}, imbalance {imbalance}"

    @cached_property
    def revision(self) -> str:
        """Its own skew leaves it what it is without the parameter."""
        if self.imbalance == OWN_SKEW:
            return super().revision
        return joined_hash([super().revision, self.imbalance, *drawing_code()])[:16]

    def check(self) -> None:
        class_sizes(self.imbalance, np.full(len(self.rows.palette.class_names), 1), 1)  # refuses a wrong profile

    def load(self) -> Splits:
        """As many training rows as ever, as far as each class of the database has them."""
        splits = super().load()
        if self.imbalance == OWN_SKEW:
            return splits
        labels = np.asarray(splits.database.labels)
        rows = draw_training(labels, self.imbalance, len(splits.train), self.name)
        return replace(splits, train=splits.database.take(rows))
