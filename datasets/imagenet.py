"""imagenet: HashNet's 100 classes with the paper's skewed training set (one class of 1300, nine of ~411, 90
of ~56).

Under the data root: the published lists train.txt, test.txt and database.txt, in imagenet/ or beside the
images; or the official folders train/ and val/ by WordNet id, from which the same protocol is drawn.
MAP@1000.
"""

from __future__ import annotations

from pathlib import Path

from benchmark import Splits, register_dataset
from benchmark.ilsvrc import Ilsvrc
from benchmark.official import Piece, need_root

LISTS = {"train": ("train.txt",), "query": ("test.txt", "query.txt"), "database": ("database.txt",)}


@register_dataset("imagenet", title="ImageNet", stand_in="imagenet-mini")
class ImageNet:
    """The paper's ImageNet."""

    name = "imagenet"
    title = "ImageNet"
    map_cutoff = 1000
    miniature = False
    backbone = "alexnet"

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        imbalance: str = "paper",  # paper, groups, balanced or exponential:RHO
        train_size: int = 10_000,  # where the training set is drawn
        split_seed: int = 0,  # where splits are drawn
        skip_broken: bool = False,  # leave out rows whose image is missing or does not decode
        drop_overlap: bool = False,  # leave query rows out of the database
    ) -> None:
        root = need_root(self.name, data_root)
        self._splits = Ilsvrc(
            self.name, root, LISTS, "paper", imbalance, train_size, split_seed, skip_broken, drop_overlap
        )
        self.protocol = self._splits.protocol

    @property
    def revision(self) -> str:
        return self._splits.listing.revision

    def check(self) -> None:
        self._splits.check()

    def load(self) -> Splits:
        return self._splits.load()

    def pieces(self) -> list[Piece]:
        """What the data set needs on disk, for `prepare`."""
        return self._splits.pieces()

    def lists(self) -> dict[str, Path]:
        """Its list files, for `prepare`."""
        return dict(self._splits.listing.files)
