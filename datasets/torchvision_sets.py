"""`torchvision:NAME`: any of torchvision's classification sets, e.g. torchvision:SVHN.

Its files lie in DATA_ROOT/torchvision/NAME, as torchvision lays them out there; `prepare torchvision:NAME --download`
fetches them. The training part is the database, the test part the queries; a set in one piece gives 50 queries per
class and the rest as the database. All of the database is the training set, or a part of it of the wanted size and
imbalance.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from benchmark import UsageError, register_dataset
from benchmark.data import (
    Piece,
    SingleLabelSizes,
    TorchvisionDataset,
    accepted,
    cut_off,
    need_root,
    tree_hashes,
    whole_number,
    word,
)
from benchmark.program import typed

# In a training and a test part, and in one piece.
PARTED = (
    "CIFAR10", "CIFAR100", "CLEVRClassification", "Country211", "DTD", "EMNIST", "FER2013", "FGVCAircraft",
    "FashionMNIST", "Flowers102", "Food101", "GTSRB", "ImageNet", "Imagenette", "KMNIST", "LFWPeople", "MNIST",
    "OxfordIIITPet", "PCAM", "Places365", "QMNIST", "RenderedSST2", "STL10", "SVHN", "StanfordCars", "USPS",
)  # fmt: skip
WHOLE = ("Caltech101", "Caltech256", "EuroSAT", "SEMEION", "SUN397")
# What a set asks for besides its part; words that it has for its parts, the first that it knows.
FIXED = {"EMNIST": {"split": "balanced"}}
WORDS = (("trainval", "train", "train-standard"), ("test", "val"))
ARCHIVES = (".zip", ".gz", ".tgz", ".tar")  # what was fetched; what is read has been unpacked


@register_dataset("torchvision", title="A set of torchvision's", takes="NAME")
class TorchvisionSet(TorchvisionDataset):
    """A classification set that torchvision knows."""

    def __init__(
        self,
        argument: str,
        data_root: Path | None = None,
        *,
        queries_per_class: int | None = None,  # default: the whole test part; 50 of a set in one piece
        train_size: int = 0,  # 0: the whole database
        imbalance: str = "balanced",  # with train_size: balanced, paper, groups, exponential:RHO or zipf:MU
        map_cutoff: int | str = 1000,  # k of MAP@k, or all
        split_seed: int = 0,
    ) -> None:
        self.kind = _known(argument)
        super().__init__(f"torchvision:{self.kind}")
        self.title = self.kind
        self._root = need_root(self.name, data_root)
        self._folder = self._root / "torchvision" / self.kind
        per_class = (0 if self.kind in PARTED else 50) if queries_per_class is None else queries_per_class
        self.sizes = SingleLabelSizes(
            whole_number("torchvision.queries_per_class", per_class, least=int(queries_per_class is not None)),
            whole_number("torchvision.train_size", train_size),
            word("torchvision.imbalance", imbalance),
            official=self.kind in PARTED,
        )
        if imbalance != "balanced" and not train_size:
            raise UsageError(
                "torchvision.imbalance: give torchvision.train_size too; without it all of a class is used"
            )
        self.map_cutoff = cut_off("torchvision.map_cutoff", map_cutoff)
        self.split_seed = whole_number("torchvision.split_seed", split_seed)

    def check(self) -> None:
        super().check()
        self.opened()

    def pieces(self) -> list[Piece]:
        """What the data set needs on disk, for `prepare`."""
        files = len(self._files())
        found = self._folder if files else None
        origin = f"prepare {self.name} --download, or by hand as torchvision's documentation says"
        return [Piece(f"torchvision/{self.kind}/", found, "size unknown", origin, files if files else None)]

    def _files(self) -> list[str]:
        """What torchvision may read, relative to the folder."""
        found = (path for path in self._folder.rglob("*") if path.is_file() and path.suffix not in ARCHIVES)
        return sorted(path.relative_to(self._folder).as_posix() for path in found)

    def hashes(self) -> list[str]:
        found = tree_hashes(self._folder, self._files())
        return [f"{name} {value}" for name, value in found.items()]

    def opened(self, download: bool = False) -> list[Any]:
        from benchmark.data.vision import torchvision

        constructor = getattr(torchvision.datasets, self.kind, None)
        if constructor is None:
            raise UsageError(f"{self.name}: this torchvision ({torchvision.__version__}) does not have it; update it")
        keywords = accepted(constructor)
        if download and "download" not in keywords:
            raise UsageError(f"{self.name}: torchvision cannot fetch it; put its files into {self._folder} by hand")
        settings = FIXED.get(self.kind, {}) | ({"download": True} if download else {})
        if download:
            self._folder.mkdir(parents=True, exist_ok=True)
        return [self._open(constructor, settings | part) for part in _parts(self.kind, keywords)]

    def _open(self, constructor: Any, settings: dict[str, Any]) -> Any:
        """With the first word for its part that torchvision takes."""
        words = settings.get("split")
        choices = [settings] if not isinstance(words, tuple) else [settings | {"split": word} for word in words]
        for number, choice in enumerate(choices, 1):
            try:
                return constructor(self._folder, **choice)
            except ValueError as error:  # it does not know this word
                if number == len(choices):
                    raise UsageError(f"{self.name}: {error}") from None
            except (RuntimeError, OSError, ImportError) as error:
                told = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
                fetch = f"'{typed(['prepare', self.name, '--data-root', self._root, '--download'])}' fetches it"
                remedy = "put its files there by hand" if choice.get("download") else fetch
                raise UsageError(f"{self.name}: {self._folder}: {told}; {remedy}") from None
        raise AssertionError(choices)


def _known(name: str) -> str:
    """The name again; UsageError with those near to it where it is no classification set."""
    names = sorted((*PARTED, *WHOLE))
    if name in names:
        return name
    folded = {one.lower(): one for one in names}
    near = [folded[one] for one in difflib.get_close_matches(name.lower(), folded, n=3)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
    raise UsageError(f"dataset 'torchvision:{name}': torchvision has no classification set of that name; {hint}")


def _parts(kind: str, keywords: Any) -> list[dict[str, Any]]:
    """How the constructor is told which part is meant: by train=, by split=, or not at all."""
    if kind in WHOLE:
        return [{}]
    if "train" in keywords:
        return [{"train": True}, {"train": False}]
    return [{"split": words} for words in WORDS]
