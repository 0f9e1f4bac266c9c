"""imagenet-mini: the stand-in for ImageNet. 100 classes, digit x hue, one per image.

Database, cut-off and tail follow the paper's lists at a tenth (130 rows per class, MAP@100); the training set is a
quarter (2,500: one class of 325, nine of about 103, 90 of about 14) so that a tail class still has examples, and
queries are 10 per class. The head class alone has more database rows (its 325) than the others: training rows
are database rows.
"""

from __future__ import annotations

from pathlib import Path

from benchmark import register_dataset
from benchmark.contracts import Splits
from benchmark.miniature import Look, Palette, SingleLabel, revision_of, single_label_splits

HUES = ("red", "orange", "lime", "green", "jade", "cyan", "azure", "blue", "purple", "pink")
PROTOCOL = SingleLabel(
    palette=Palette(HUES),
    look=Look(sizes=(14, 20)),
    head=325,
    middle=103,
    tail=14,
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
