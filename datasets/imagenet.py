"""imagenet and imagenet-balanced: HashNet's 100 classes, with the paper's skewed training set (one class of 1300, nine
of ~411, 90 of ~56) or HashNet's balanced one (130 of each).

Under the data root: the published lists train.txt (or train_balanced.txt), test.txt and database.txt, in imagenet/ or
beside the images; or the official folders train/ and val/ by WordNet id, from which the same protocol is drawn.
MAP@1000.
"""

from __future__ import annotations

from pathlib import Path

from benchmark import Splits, register_dataset
from benchmark.data.ilsvrc import Ilsvrc
from benchmark.data.official import Piece, need_root


@register_dataset("imagenet", title="ImageNet", stand_in="imagenet-mini")
class ImageNet:
    """The paper's ImageNet."""

    name = "imagenet"
    title = "ImageNet"
    map_cutoff = 1000
    miniature = False
    backbone = "alexnet"
    profile = "paper"  # what the published training list holds
    train_list = "train.txt"

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
        lists = {"train": (self.train_list,), "query": ("test.txt", "query.txt"), "database": ("database.txt",)}
        drawn = (self.profile, imbalance, train_size, split_seed)
        self._splits = Ilsvrc(self.name, root, lists, *drawn, skip_broken, drop_overlap)
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


@register_dataset("imagenet-balanced", title="ImageNet, balanced")
class ImageNetBalanced(ImageNet):
    """ImageNet as in the HashNet paper."""

    name = "imagenet-balanced"
    title = "ImageNet, balanced"
    profile = "balanced"
    train_list = "train_balanced.txt"

    def __init__(
        self,
        argument: str | None = None,
        data_root: Path | None = None,
        *,
        imbalance: str = "balanced",
        train_size: int = 13_000,
        split_seed: int = 0,
        skip_broken: bool = False,
        drop_overlap: bool = False,
    ) -> None:
        super().__init__(
            argument,
            data_root,
            imbalance=imbalance,
            train_size=train_size,
            split_seed=split_seed,
            skip_broken=skip_broken,
            drop_overlap=drop_overlap,
        )
