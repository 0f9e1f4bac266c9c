"""What a plugin must offer and what it is given: the contracts of the house, and nothing that does work.

A method is a class with `fit(train)` and `encode(split)`; a data set is a class with `load()`. Neither derives
from anything. The runner withholds from a method what it did not declare (see `Split.visible`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np

from benchmark.errors import UsageError
from benchmark.similarity import LabelSimilarity, Similarity

Family = Literal["data-independent", "unsupervised", "supervised", "deep", "control"]
Input = Literal["features", "images"]
Needs = Literal["nothing", "similarity", "labels"]


class Images(Protocol):
    """Images of one split, decoded when asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> np.ndarray:
        """One image: (height, width, 3) uint8."""
        ...


@dataclass(frozen=True)
class ImageSubset:
    """Some rows of `images`, in the given order, still lazy."""

    images: Images
    indices: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int, /) -> np.ndarray:
        return self.images[int(self.indices[index])]


class PixelsOnly:
    """Images without the names behind them: paths tell classes (`cat/1.jpg`), and a method may not see those.

    Against mistakes, not a sandbox: what is behind is kept where no attribute of a plain object shows it.
    """

    __slots__ = ("__behind",)

    def __init__(self, images: Images) -> None:
        self.__behind = images

    def __len__(self) -> int:
        return len(self.__behind)

    def __getitem__(self, index: int, /) -> np.ndarray:
        return self.__behind[index]


def as_multi_hot(labels: Any, classes: int | None = None) -> np.ndarray:
    """Class numbers (n,) or multi-hot (n, c) as a bool array (n, c); class number -1 means unlabelled."""
    array = np.asarray(labels)
    if array.ndim == 1:
        if not np.issubdtype(array.dtype, np.integer):
            raise UsageError(f"labels: class numbers of type {array.dtype}, expected integers")
        if array.size and array.min() < -1:
            raise UsageError(f"labels: class number {array.min()}, expected -1 (unlabelled) or more")
        highest = int(array.max(initial=-1))
        width = highest + 1 if classes is None else classes
        if highest >= width:
            raise UsageError(f"labels: class number {highest}, expected less than {width}")
        hot = np.zeros((len(array), width), bool)
        labelled = np.flatnonzero(array >= 0)
        hot[labelled, array[labelled]] = True
        return hot
    if array.ndim != 2:
        raise UsageError(f"labels: {array.ndim} dimensions, expected (n,) class numbers or (n, c) multi-hot")
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        raise UsageError("labels: a multi-hot array may hold 0 and 1 only")
    if classes is not None and array.shape[1] != classes:
        raise UsageError(f"labels: {array.shape[1]} columns, expected {classes}")
    return array.astype(bool)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of one part of a data set: any of features, images, labels, similarity, and the rows' names.

    `labels` may be given as class numbers and is kept as multi-hot bool. Where labels are given and similarity is
    not, similarity is "shares a label". Where both features and images are given, methods on features get the
    features, and no backbone computes others from the images.
    """

    features: np.ndarray | None = None
    images: Images | None = None
    labels: np.ndarray | None = None
    similarity: Similarity | None = None
    ids: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.labels is not None:
            object.__setattr__(self, "labels", as_multi_hot(self.labels))
            if self.similarity is None:
                object.__setattr__(self, "similarity", LabelSimilarity(self.labels))
        sizes = {name: len(part) for name, part in self._parts().items()}
        if not sizes:
            raise UsageError("split: empty, expected at least one of features, images, labels")
        if len(set(sizes.values())) > 1:
            raise UsageError(f"split: parts disagree in length: {sizes}")
        if self.features is not None and np.ndim(self.features) != 2:
            raise UsageError(f"split: features have {np.ndim(self.features)} dimensions, expected (n, d)")

    def _parts(self) -> dict[str, Any]:
        names = ("features", "images", "labels", "similarity", "ids")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def __len__(self) -> int:
        return len(next(iter(self._parts().values())))

    def visible(self, input: Input, needs: Needs) -> Split:
        """What a method that declared `input` and `needs` may see; the rest is withheld.

        A deep method (`input="images"`) that is given no images gets the features instead.
        """
        images = self.images if input == "images" else None
        return Split(
            features=self.features if input == "features" or images is None else None,
            images=images,
            labels=self.labels if needs == "labels" else None,
            similarity=self.similarity if needs != "nothing" else None,
        )

    def take(self, indices: np.ndarray) -> Split:
        """The chosen rows, in the given order."""
        indices = np.asarray(indices)
        return Split(
            features=None if self.features is None else self.features[indices],
            images=None if self.images is None else ImageSubset(self.images, indices),
            labels=None if self.labels is None else self.labels[indices],
            similarity=None if self.similarity is None else self.similarity.take(indices),
            ids=None if self.ids is None else [self.ids[i] for i in indices],
        )

    def with_features(self, features: np.ndarray) -> Split:
        """The same rows with these features."""
        return replace(self, features=features)


@dataclass(frozen=True, eq=False)
class Splits:
    """The three parts of a data set. Training rows usually are database rows too; query rows never are."""

    train: Split
    query: Split
    database: Split
    class_names: Sequence[str] | None = None
    notes: Sequence[str] = ()  # what a reader of any result must know: rows skipped, overlap allowed, ...

    def parts(self) -> dict[str, Split]:
        return {"train": self.train, "query": self.query, "database": self.database}


@dataclass(frozen=True)
class MethodInfo:
    """What `@register_method` declares, and where the method came from."""

    name: str
    title: str
    family: Family
    input: Input
    needs: Needs
    paper: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None


@dataclass(frozen=True)
class DatasetInfo:
    """What `@register_dataset` declares, and where the data set came from."""

    name: str
    title: str
    stand_in: str | None = None  # the miniature used when there is no data root
    takes: str | None = None  # what follows the colon in `name:ARGUMENT`, e.g. "FILE.npz"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None


@runtime_checkable
class HashMethod(Protocol):
    """A hashing method. Keyword-only parameters of `__init__` are its hyper-parameters.

    Optional: `unsupported(train, bits) -> reason or None` (a static method) declines a cell; `search_space`, a dict
    of parameter -> values to try, is what `tune` searches; `history`, a dict of lists set by `fit`, is kept in
    the record (loss curve, gradient norms).
    """

    info: ClassVar[MethodInfo]

    def __init__(self, bits: int, seed: int = 0) -> None: ...

    def fit(self, train: Split) -> Self: ...

    def encode(self, split: Split) -> np.ndarray:
        """(n, bits) int8 codes over {-1, +1}, by the learned function only."""
        ...


@runtime_checkable
class HashDataset(Protocol):
    """A data set. Constructing it and reading its attributes is cheap, but for `revision`, which reads every image
    or feature the first time and remembers.

    Built as `cls(argument, data_root=..., **parameters)`, where `argument` is what stood behind the colon.
    """

    info: ClassVar[DatasetInfo]
    name: str  # how every result, table and plot calls it
    title: str  # for figures and captions
    map_cutoff: int  # k of MAP@k
    protocol: str  # one word or phrase: where the splits come from
    revision: str  # hash of the lists and of the images or features themselves, or of what generates them
    miniature: bool
    backbone: str | None  # default backbone for its images; None where there are features only

    def check(self) -> None:
        """Raise UsageError that names every missing or malformed file; cheap."""
        ...

    def load(self) -> Splits: ...
