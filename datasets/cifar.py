"""cifar10, cifar100 and cifar100-lt: CIFAR in torchvision's files, split as hashing papers do.

cifar10: 100 queries per class, the rest is the database, 5,000 training images from it, 500 of each class or skewed;
MAP@1000. By protocol=NAME, one of the three splits in use, at MAP@all: "54000" (the same, the training images are not
in the database), "59000" (they are), "50000" (1,000 queries per class, all of the rest is database and training set).
cifar100: 5,000 queries, 10,000 training images, the database is the rest of 45,000, MAP@all, as SHC has it.
cifar100-lt: the official test images are the queries, the official training images the database, training sets as the
long-tail papers size them: the i-th largest class has floor(500 i^-mu), 3,732 images at imbalance factor 50, 2,598 at
100.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchmark import UsageError, register_dataset
from benchmark.data import (
    Piece,
    SingleLabelSizes,
    TorchvisionDataset,
    cut_off,
    file_hash,
    first_file,
    need_root,
    whole_number,
    word,
)
from benchmark.program import typed

SITE = "https://www.cs.toronto.edu/~kriz"
LONG_TAIL = {  # imbalance factor -> how the long-tail papers draw the training set
    50: SingleLabelSizes(train_size=3732, imbalance="zipf:0.83", official=True),
    100: SingleLabelSizes(train_size=2598, imbalance="zipf:0.99", official=True),
}


class CifarFiles(TorchvisionDataset):
    """What the two share: where their files lie, and that torchvision reads them."""

    kind: ClassVar[str]  # torchvision's name
    folders: ClassVar[Sequence[str]]
    batches: ClassVar[str]  # the folder in the archive
    archive: ClassVar[str]
    size: ClassVar[str]
    files: ClassVar[Sequence[str]]

    def __init__(self, data_root: Path | None, sizes: SingleLabelSizes, map_cutoff: int | str, split_seed: int) -> None:
        super().__init__()
        self._root = need_root(self.name, data_root)
        self.sizes = sizes
        self.map_cutoff = cut_off(self._option("map_cutoff"), map_cutoff)
        self.split_seed = whole_number(self._option("split_seed"), split_seed)

    def hashes(self) -> list[str]:
        folder = self._folder()
        return [file_hash(folder / name) for name in self.files]

    def check(self) -> None:
        super().check()
        folder = self._folder()
        missing = [name for name in self.files if not (folder / name).is_file()]
        if missing:
            raise UsageError(f"{self.name}: {folder} lacks {', '.join(missing)}; unpack {SITE}/{self.archive} again")

    def pieces(self) -> list[Piece]:
        """What the data set needs on disk, for `prepare`."""
        folder = first_file(self._root, self.folders, [self.batches])
        files = None if folder is None else sum((folder / name).is_file() for name in self.files)
        return [Piece(f"{self.batches}/", folder, self.size, f"{SITE}/{self.archive}", files, len(self.files))]

    def _folder(self) -> Path:
        folder = first_file(self._root, self.folders, [self.batches])
        if folder is None:
            raise UsageError(f"{self.name}: {self.batches}/ is not under {self._root}; {self._remedy()}")
        return folder

    def _remedy(self) -> str:
        return f"unpack {SITE}/{self.archive} there, or '{typed(['prepare', self.name, '--download'])}' fetches it"

    def opened(self, download: bool = False) -> list[Any]:
        """torchvision compares the files with their known checksums before it unpickles them."""
        from benchmark.data.vision import torchvision

        root = self._root if download else self._folder().parent
        constructor = getattr(torchvision.datasets, self.kind)
        try:
            return [constructor(root, train=train, download=download) for train in (True, False)]
        except (RuntimeError, OSError) as error:
            raise UsageError(f"{self.name}: {root}: {error}; unpack {SITE}/{self.archive} again") from None


class DrawnCifar(CifarFiles):
    """Splits drawn from all 60,000 images, by a protocol that has a name, or by numbers."""

    protocols: ClassVar[Mapping[str, SingleLabelSizes]]
    usual: ClassVar[str]
    usual_cutoff: ClassVar[int]  # where no protocol is named; those that are score the whole database

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        protocol: str | int | None = None,  # by name; what is not given below is as it has it
        queries_per_class: int | None = None,
        train_size: int | None = None,
        imbalance: str | None = None,  # balanced, paper, groups, exponential:RHO or zipf:MU
        map_cutoff: int | str | None = None,  # k of MAP@k, or all
        split_seed: int = 0,
    ) -> None:
        name = self.usual if protocol is None else word(self._option("protocol"), str(protocol), *self.protocols)
        given: dict[str, Any] = {}
        if queries_per_class is not None:
            given["queries_per_class"] = whole_number(self._option("queries_per_class"), queries_per_class, least=1)
        if train_size is not None:
            given["train_size"] = whole_number(self._option("train_size"), train_size, least=1)
        if imbalance is not None:
            given["imbalance"] = word(self._option("imbalance"), imbalance)
        cutoff = self.usual_cutoff if protocol is None else 0
        sizes = replace(self.protocols[name], **given)
        if imbalance is not None and not sizes.train_size:
            raise UsageError(
                f"{self._option('imbalance')}: give train_size too; protocol {name} trains on all there is"
            )
        super().__init__(data_root, sizes, cutoff if map_cutoff is None else map_cutoff, split_seed)


@register_dataset("cifar10", title="CIFAR-10")
class Cifar10(DrawnCifar):
    """CIFAR-10 with drawn splits.

    @techreport{krizhevsky2009cifar, title={Learning Multiple Layers of Features from Tiny Images}, author={Krizhevsky,
      Alex}, institution={University of Toronto}, year={2009}}
    """

    kind, batches = "CIFAR10", "cifar-10-batches-py"
    folders = ("cifar10", "cifar-10", "CIFAR10", "cifar")
    archive, size = "cifar-10-python.tar.gz", "170 MB"
    files = ("batches.meta", *(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
    protocols = {  # DeepHash-pytorch's cifar10-1, cifar10 and cifar10-2
        "59000": SingleLabelSizes(100, 5000),
        "54000": SingleLabelSizes(100, 5000, train_in_database=False),
        "50000": SingleLabelSizes(1000),
    }
    usual, usual_cutoff = "59000", 1000


@register_dataset("cifar100", title="CIFAR-100")
class Cifar100(DrawnCifar):
    """CIFAR-100 with drawn splits.

    @techreport{krizhevsky2009cifar, title={Learning Multiple Layers of Features from Tiny Images}, author={Krizhevsky,
      Alex}, institution={University of Toronto}, year={2009}}
    """

    kind, batches = "CIFAR100", "cifar-100-python"
    folders = ("cifar100", "cifar-100", "CIFAR100", "cifar")
    archive, size = "cifar-100-python.tar.gz", "161 MB"
    files = ("meta", "train", "test")
    protocols = {"shc": SingleLabelSizes(50, 10_000, train_in_database=False)}
    usual, usual_cutoff = "shc", 0


@register_dataset("cifar100-lt", title="CIFAR-100-LT")
class Cifar100LongTail(CifarFiles):
    """CIFAR-100 with a long-tailed training set, as in LTHNet and its successors.

    @techreport{krizhevsky2009cifar, title={Learning Multiple Layers of Features from Tiny Images}, author={Krizhevsky,
      Alex}, institution={University of Toronto}, year={2009}}
    """

    kind, batches, folders = Cifar100.kind, Cifar100.batches, Cifar100.folders
    archive, size, files = Cifar100.archive, Cifar100.size, Cifar100.files

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        imbalance_factor: int = 50,  # the largest class over the smallest: 50 or 100
        map_cutoff: int | str = "all",  # k of MAP@k, or all
        split_seed: int = 0,
    ) -> None:
        factor = whole_number(self._option("imbalance_factor"), imbalance_factor)
        if factor not in LONG_TAIL:
            told = "expected 50 or 100, which papers use; any other: cifar100.imbalance=zipf:MU"
            raise UsageError(f"{self._option('imbalance_factor')}={factor}: {told}")
        super().__init__(data_root, LONG_TAIL[factor], map_cutoff, split_seed)
