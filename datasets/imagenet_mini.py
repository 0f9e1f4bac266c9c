"""imagenet-mini: the stand-in for ImageNet. 100 classes, digit x hue, one per image.

Database and cut-off are the paper's at a tenth (130 rows per class, sorted by class; MAP@100). The training set
keeps the paper's skew (1300 / 9 x ~411 / 90 x ~56 of 10,000) at three tenths, so that a tail class still has
examples: one class of 390, nine of about 123, 90 of 3 to 31, mean 17. Training rows are database rows, so the head
class alone has more of those (390) than the others. Queries: 10 per class.
"""

from __future__ import annotations

from pathlib import Path

from benchmark import register_dataset
from benchmark.contracts import Splits
from benchmark.data.miniature import Look, Palette, SingleLabel, revision_of, single_label_splits

HUES = ("red", "orange", "lime", "green", "jade", "cyan", "azure", "blue", "purple", "pink")
PROTOCOL = SingleLabel(
    palette=Palette(HUES),
    look=Look(sizes=(16, 22), reach=5),
    head=390,
    middle=123,
    tail=17,
    per_class=130,
    queries_per_class=10,
)


@register_dataset("imagenet-mini", title="ImageNet miniature")
class ImagenetMini:
    name = "imagenet-mini"
    title = "ImageNet miniature"
    map_cutoff = 100
    protocol = "miniature"
    miniature = True
    backbone = "mini-cnn"

    def __init__(self, argument: str | None = None, *, data_root: Path | None = None) -> None:
        self.revision = revision_of(self.name, PROTOCOL)

    def check(self) -> None:
        """Nothing can be missing: the glyphs ship with scikit-learn."""

    def load(self) -> Splits:
        return single_label_splits(self.name, PROTOCOL)
