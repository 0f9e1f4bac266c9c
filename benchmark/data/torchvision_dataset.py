"""Data sets that torchvision reads: images of one class each, in an official training and test part or in one piece.

What such a data set states: how many rows each part of its splits gets, which files it reads, and how torchvision opens
them. Rows are numbered in torchvision's order, the training part first; splits are drawn by row number. Nothing here
imports torch before rows are asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.contracts import Split, Splits, as_multi_hot
from benchmark.data.dataset_kinds import NamedDataset
from benchmark.data.drawn_lists import DrawnLists, draw_lists, drawing_code
from benchmark.data.hashing import joined_hash
from benchmark.data.images import as_rgb
from benchmark.data.names import fault_of_name
from benchmark.data.split_drawing import SingleLabelSizes, class_sizes, draw_single_label
from benchmark.errors import UsageError

# Where torchvision keeps class numbers, by set; asking row by row would decode every image.
KEPT = ("targets", "labels", "_labels", "y")
SAMPLES = ("_samples", "samples")  # pairs of image and class number
PROBED = 5  # rows of which the number is compared with what torchvision gives out


class TorchvisionDataset(NamedDataset):
    """What a data set does: `opened`, and `hashes` of its files."""

    backbone: str | None = "alexnet"
    sizes: SingleLabelSizes
    split_seed: int

    def opened(self, download: bool = False) -> list[Any]:
        """torchvision's own data sets: the training and the test part, or the one piece there is."""
        raise NotImplementedError(f"data set '{self.name}' does not say how its files are opened")

    def hashes(self) -> list[str]:
        """Of the files that are read."""
        raise NotImplementedError(f"data set '{self.name}' does not say which files it reads")

    @property
    def protocol(self) -> str:
        return f"drawn, {self.sizes}, seed {self.split_seed}"

    @property
    def revision(self) -> str:
        return joined_hash([repr(self.sizes), str(self.split_seed), *drawing_code(), *self.hashes()])

    def check(self) -> None:
        if self.sizes.train_size:
            class_sizes(self.sizes.imbalance, np.full(10, 5000), self.sizes.train_size)  # refuses a wrong profile

    @cached_property
    def rows(self) -> OfficialRows:
        return official_rows(self.opened())

    def load(self) -> Splits:
        rows = self.rows
        labels = as_multi_hot(rows.numbers, len(rows.class_names))
        drawn = draw_single_label(labels, rows.in_test, self.sizes, self.name, self.split_seed)
        parts = {
            part: Split(images=rows.images(chosen), labels=labels[chosen], ids=[f"{row:05d}" for row in chosen])
            for part, chosen in vars(drawn).items()
        }
        return Splits(parts["train"], parts["query"], parts["database"], class_names=rows.class_names)

    def lists(self) -> dict[str, Path]:
        """The splits as list files; an image is called by its row number."""
        identity = {**asdict(self.sizes), "split_seed": self.split_seed, "files": self.hashes()}
        return draw_lists(self.name.replace(":", "-"), identity, self._drawn)

    def _drawn(self) -> DrawnLists:
        splits = self.load()
        rows = {part: _as_listed(split) for part, split in splits.parts().items()}
        return DrawnLists(rows, self.rows.class_names)


def _as_listed(split: Split) -> tuple[list[str], np.ndarray]:
    return [f"{name}.png" for name in split.ids or ()], split.required_labels()


@dataclass(frozen=True, eq=False)
class TorchvisionImages:
    """Rows of torchvision's data sets, decoded when asked for: of row i, `piece[i]` says which set has it, and
    `index[i]` where."""

    pieces: Sequence[Any]
    piece: np.ndarray
    index: np.ndarray

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, index: int, /) -> np.ndarray:
        image, _ = self.pieces[self.piece[index]][int(self.index[index])]
        return np.asarray(as_rgb(image))


@dataclass(frozen=True, eq=False)
class OfficialRows:
    """All rows of a data set: class numbers from 0 without gaps, and which rows are of the test part."""

    pieces: Sequence[Any]
    numbers: np.ndarray
    class_names: Sequence[str]

    @cached_property
    def piece(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.pieces)), [len(piece) for piece in self.pieces])

    @property
    def in_test(self) -> np.ndarray:
        return self.piece == 1

    def images(self, rows: np.ndarray) -> TorchvisionImages:
        starts = np.cumsum([0, *(len(piece) for piece in self.pieces)])
        return TorchvisionImages(self.pieces, self.piece[rows], rows - starts[self.piece[rows]])


def official_rows(pieces: Sequence[Any]) -> OfficialRows:
    """The rows of all pieces, in their order."""
    told = np.concatenate([class_numbers(piece) for piece in pieces])
    values, numbers = np.unique(told, return_inverse=True)
    return OfficialRows(pieces, numbers, _class_names(pieces[0], values))


def class_numbers(piece: Any) -> np.ndarray:
    """One number per row: as torchvision keeps them where that is what it gives out, else asked row by row."""
    kept = [getattr(piece, name, None) for name in KEPT]
    samples = next((found for name in SAMPLES if (found := getattr(piece, name, None)) is not None), None)
    if isinstance(samples, Sequence):
        kept.append([sample[1] for sample in samples])
    probed = np.unique(np.linspace(0, len(piece) - 1, PROBED).astype(int)).tolist()
    for numbers in kept:
        found = None if numbers is None else np.asarray(numbers)
        fits = found is not None and found.shape == (len(piece),) and found.dtype.kind in "iu"
        if found is not None and fits and all(piece[row][1] == found[row] for row in probed):
            return found.astype(np.int64)
    given = [piece[row][1] for row in range(len(piece))]
    if not all(isinstance(number, (int, np.integer)) for number in given):
        raise UsageError(f"torchvision's {type(piece).__name__} gives no class number for each image")
    return np.array(given, np.int64)


def _class_names(piece: Any, values: np.ndarray) -> list[str]:
    """torchvision's names of the classes, or else their numbers."""
    known = getattr(piece, "classes", None) or getattr(piece, "categories", None)
    if isinstance(known, Sequence) and len(known) > values.max(initial=-1) >= 0 and values.min() >= 0:
        names = [str(known[value]) for value in values]
        if len(set(names)) == len(names) and not any(map(fault_of_name, names)):
            return names
    return [str(value) for value in values]


def accepted(constructor: Any) -> Mapping[str, Any]:
    """The keywords that a class of torchvision's takes, those that it hands on to its base class included."""
    found: dict[str, Any] = {}
    for cls in constructor.__mro__:
        if "__init__" in vars(cls):
            own = inspect.signature(cls.__init__).parameters
            found = {**{name: one for name, one in own.items() if one.kind is not one.VAR_KEYWORD}, **found}
            if not any(one.kind is one.VAR_KEYWORD for one in own.values()):
                break
    return found
