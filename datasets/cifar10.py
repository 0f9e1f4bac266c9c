"""cifar10: CIFAR-10 in torchvision's files (cifar-10-batches-py), split as most hashing papers do.

100 queries per class, the rest is the database, 5,000 training images from it, 500 of each class or skewed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmark import Split, Splits, UsageError, as_multi_hot, register_dataset
from benchmark.data import (
    ImageArrays,
    NamedDataset,
    Piece,
    class_sizes,
    draw_queries,
    draw_training,
    drawing_code,
    file_hash,
    first_file,
    joined_hash,
    need_root,
    whole_number,
    word,
)

FOLDERS = ("cifar10", "cifar-10", "CIFAR10", "cifar")
BATCHES = "cifar-10-batches-py"
ORIGIN = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
FILES = ("batches.meta", *(f"data_batch_{number}" for number in range(1, 6)), "test_batch")


@register_dataset("cifar10", title="CIFAR-10")
class Cifar10(NamedDataset):
    """CIFAR-10 with drawn splits.

    @techreport{krizhevsky2009cifar, title={Learning Multiple Layers of Features from Tiny Images}, author={Krizhevsky,
      Alex}, institution={University of Toronto}, year={2009}}
    """

    backbone = "alexnet"

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        queries_per_class: int = 100,
        train_size: int = 5000,
        imbalance: str = "balanced",  # balanced, paper, groups or exponential:RHO
        map_cutoff: int = 1000,  # k of MAP@k
        split_seed: int = 0,
    ) -> None:
        super().__init__()
        self._root = need_root(self.name, data_root)
        self.map_cutoff = whole_number("cifar10.map_cutoff", map_cutoff, least=1)
        self._drawing = (
            whole_number("cifar10.queries_per_class", queries_per_class, least=1),
            whole_number("cifar10.train_size", train_size, least=1),
            word("cifar10.imbalance", imbalance),
            whole_number("cifar10.split_seed", split_seed),
        )
        self.protocol = (
            f"drawn, {queries_per_class} queries per class, imbalance {imbalance}, "
            f"{train_size} training images, seed {split_seed}"
        )

    @property
    def revision(self) -> str:
        folder = self._folder()
        return joined_hash([repr(self._drawing), *drawing_code(), *(file_hash(folder / name) for name in FILES)])

    def check(self) -> None:
        class_sizes(self._drawing[2], np.full(10, 5000), self._drawing[1])  # refuses a wrong profile
        folder = self._folder()
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise UsageError(f"cifar10: {folder} lacks {', '.join(missing)}; unpack {ORIGIN} again")

    def pieces(self) -> list[Piece]:
        """What the data set needs on disk, for `prepare`."""
        folder = first_file(self._root, FOLDERS, [BATCHES])
        files = None if folder is None else sum((folder / name).is_file() for name in FILES)
        return [Piece(f"{BATCHES}/", folder, "170 MB", ORIGIN, files, len(FILES))]

    def _folder(self) -> Path:
        folder = first_file(self._root, FOLDERS, [BATCHES])
        if folder is None:
            raise UsageError(f"cifar10: {BATCHES}/ is not under {self._root}; unpack {ORIGIN} there")
        return folder

    def load(self) -> Splits:
        images, numbers, names = self._read()
        labels = as_multi_hot(numbers, len(names))
        queries_per_class, train_size, imbalance, seed = self._drawing
        query = draw_queries(labels, queries_per_class, self.name, seed)
        database = np.setdiff1d(np.arange(len(labels)), query)
        train = database[draw_training(labels[database], imbalance, train_size, self.name, seed)]
        splits = {
            part: Split(images=ImageArrays(images[rows]), labels=labels[rows], ids=[f"{row:05d}" for row in rows])
            for part, rows in (("train", train), ("query", query), ("database", database))
        }
        return Splits(splits["train"], splits["query"], splits["database"], class_names=names)

    def _read(self) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """All 60,000 images; torchvision compares the files with their known checksums before it unpickles
        them."""
        from benchmark.data.vision import torchvision

        root = self._folder().parent
        try:
            parts = [torchvision.datasets.CIFAR10(root, train=train) for train in (True, False)]
        except (RuntimeError, OSError) as error:
            raise UsageError(f"cifar10: {self._folder()}: {error}; unpack {ORIGIN} again") from None
        images = np.concatenate([part.data for part in parts])
        numbers = np.concatenate([np.asarray(part.targets) for part in parts])
        return images, numbers, list(parts[0].classes)
