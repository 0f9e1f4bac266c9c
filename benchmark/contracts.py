"""What a plugin must offer and what it is given: the contracts of the house, and nothing that does work.

A method is a class with `fit(train)` and `encode(split)`; a data set is a class with `load()`. Neither derives
from anything. What a method did not declare is withheld from it (see `Split.visible`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np

from benchmark.errors import UsageError
from benchmark.labels import as_multi_hot
from benchmark.parameters import Parameter as Parameter
from benchmark.parameters import checked_value as checked_value
from benchmark.parameters import parameter as parameter
from benchmark.similarity import Degrees, LabelSimilarity, PairSimilarity, Similarity, TripletList

Family = Literal["data-independent", "unsupervised", "supervised", "deep", "control"]
Input = Literal["features", "images"]
Needs = Literal["nothing", "triplets", "similarity", "labels"]
Ranks = Literal["codes", "vectors"]


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
    """Images without what else their source knows (`paths` name class folders): a length, and pixels to read only.

    Isolation against mistakes, not a sandbox: what is hidden lies in a closure, which nobody opens by accident.
    """

    def __init__(self, images: Images) -> None:
        self._hidden = lambda: images

    def __len__(self) -> int:
        return len(self._hidden())

    def __getitem__(self, index: int, /) -> np.ndarray:
        pixels = np.asarray(self._hidden()[index]).view()
        pixels.flags.writeable = False
        return pixels

    def __reduce__(self) -> tuple[Any, ...]:
        return PixelsOnly, (self._hidden(),)


class PairsOnly:
    """A similarity without what it is computed from (labels): it answers the questions of `Similarity`, nothing else.

    Isolation against mistakes, not a sandbox, as for `PixelsOnly`.
    """

    def __init__(self, similarity: Similarity) -> None:
        self._hidden = lambda: similarity

    def __len__(self) -> int:
        return len(self._hidden())

    def block(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._hidden().block(rows, columns)

    def degrees(self) -> Degrees:
        return self._hidden().degrees()

    def take(self, indices: np.ndarray) -> PairsOnly:
        return PairsOnly(self._hidden().take(indices))

    def __reduce__(self) -> tuple[Any, ...]:
        return PairsOnly, (self._hidden(),)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of one part of a data set: any of features, images, labels, similarity, triplets, and the rows' names.

    `labels` may be given as class numbers and is kept as multi-hot bool. Where labels are given and similarity is
    not, similarity is "shares a label". Where both features and images are given, methods on features get the
    features, and no backbone computes others from the images.
    """

    features: np.ndarray | None = None
    images: Images | None = None
    labels: np.ndarray | None = None
    similarity: Similarity | None = None
    ids: Sequence[str] | None = None
    triplets: TripletList | None = None

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
        names = ("features", "images", "labels", "similarity", "ids", "triplets")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def __len__(self) -> int:
        return len(next(iter(self._parts().values())))

    def visible(self, input: Input, needs: Needs) -> Split:
        """What a method that declared `input` and `needs` may see; the rest is withheld.

        A deep method (`input="images"`) that is given no images gets the features instead. Images come as pixels
        only, and a similarity made of labels does not show them; a pair list is what it is. This isolates against
        mistakes; it is no sandbox.
        """
        images = self.images if input == "images" else None
        return Split(
            features=self.features if input == "features" or images is None else None,
            images=images if images is None or isinstance(images, PixelsOnly) else PixelsOnly(images),
            labels=self.labels if needs == "labels" else None,
            similarity=self._shown_similarity(needs),
            triplets=self.triplets if needs == "triplets" else None,
        )

    def _shown_similarity(self, needs: Needs) -> Similarity | None:
        if needs == "nothing" or self.similarity is None:
            return None
        plain = needs == "labels" or isinstance(self.similarity, (PairsOnly, PairSimilarity))
        return self.similarity if plain else PairsOnly(self.similarity)

    def required_labels(self) -> np.ndarray:
        """The labels, for who cannot do without them."""
        if self.labels is None:
            raise UsageError("split: no labels, expected class numbers or multi-hot labels")
        return self.labels

    def required_similarity(self) -> Similarity:
        """The similarity, for who cannot do without it."""
        if self.similarity is None:
            raise UsageError("split: no similarity, expected labels or a pair list")
        return self.similarity

    def take(self, indices: np.ndarray) -> Split:
        """The chosen rows, in the given order."""
        indices = np.asarray(indices)
        return Split(
            features=None if self.features is None else self.features[indices],
            images=None if self.images is None else ImageSubset(self.images, indices),
            labels=None if self.labels is None else self.labels[indices],
            similarity=None if self.similarity is None else self.similarity.take(indices),
            ids=None if self.ids is None else [self.ids[i] for i in indices],
            triplets=None if self.triplets is None else self.triplets.take(indices),
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
    groups: tuple[str, ...] = ()  # words that stand for several methods
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name -> default
    source: Path | None = None
    declared: Mapping[str, Parameter] = field(default_factory=dict)  # the same with types, search values and docs
    takes_training: bool = False  # whether the constructor has the keyword `training`
    entry: str | None = None  # `module:name` to import it by, where it came with a package
    labels_at_encode: bool = False  # whether it sees the labels of the rows that it encodes; controls only
    ranks: Ranks = "codes"  # "vectors": `embed` in place of `encode`, compared by their cosine; controls only

    @property
    def coding(self) -> str:
        """The call that makes of rows what is ranked."""
        return "embed" if self.ranks == "vectors" else "encode"

    @property
    def needs_at_encode(self) -> Needs:
        """What that call sees besides features or images."""
        return "labels" if self.labels_at_encode else "nothing"


@dataclass(frozen=True)
class DatasetInfo:
    """What `@register_dataset` declares, and where the data set came from."""

    name: str
    title: str
    stand_in: str | None = None  # the miniature used when there is no data root
    takes: str | None = None  # what follows the colon in `name:ARGUMENT`, e.g. "FILE.npz"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None
    entry: str | None = None


@runtime_checkable
class HashMethod(Protocol):
    """A hashing method, as registration leaves it: an author writes `fit` and `encode`, and the parameters.

    Parameters are attributes declared by `parameter`, or the keyword-only arguments of an `__init__`. Optional:
    `unsupported(train, bits) -> reason or None` (a static method) declines a cell; `search_space`, a dict of
    parameter -> values, adds to what `tune` searches; `thread_limit` is the number of threads above which fit and
    encode gain nothing; `history`, a dict of lists set by `fit`, is kept in the record (loss curve, gradient norms);
    `keep() -> dict` and `restore(kept)` say what of a fitted method a model's file holds: arrays, tensors and plain
    values. Without them it is all attributes of the instance (see `models/learned.py`).
    """

    info: ClassVar[MethodInfo]

    def __init__(self, bits: int, seed: int = 0, **parameters: Any) -> None: ...

    def fit(self, train: Split) -> Self: ...

    def encode(self, split: Split) -> np.ndarray:
        """(n, bits) int8 codes over {-1, +1}, by the learned function only."""
        ...

    @staticmethod
    def unsupported(train: Split, bits: int) -> str | None:
        """Why this cell cannot be run, or None."""
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
    map_cutoff: int  # k of MAP@k; 0 for the whole database
    protocol: str  # one word or phrase: where the splits come from
    revision: str  # hash of the lists and of the images or features themselves, or of what generates them
    miniature: bool
    backbone: str | None  # default backbone for its images; None where there are features only

    def check(self) -> None:
        """Raise UsageError that names every missing or malformed file; cheap."""
        ...

    def load(self) -> Splits: ...
