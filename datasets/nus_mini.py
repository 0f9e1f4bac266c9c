"""nus-mini: the stand-in for NUS-WIDE. 81 concepts, ten digits x eight hues and one colourless, several per image.

Long-tailed; as in the paper's lists, 22 % of the training and database rows have no label, and queries (10 per
concept) all have one. MAP@250, a twentieth of the paper's cut-off.
"""

from __future__ import annotations

from pathlib import Path

from benchmark import register_dataset
from benchmark.contracts import Splits
from benchmark.data.miniature import Look, MultiLabel, Palette, multi_label_splits, revision_of

HUES = ("red", "amber", "lime", "jade", "cyan", "blue", "violet", "pink")
PROTOCOL = MultiLabel(
    palette=Palette(HUES, colourless="grey"),
    look=Look(sizes=(12, 15)),
    label_counts=(2203, 2939, 1927, 1216, 818, 441, 270, 120, 50, 16),  # train_new.txt; 6 and more spread
    decay=0.9,
    dominant=0,
    population=20_000,
    database=8_000,
    train=2_500,
    queries_per_class=10,
)


@register_dataset("nus-mini", title="NUS-WIDE miniature")
class NusMini:
    name = "nus-mini"
    title = "NUS-WIDE miniature"
    map_cutoff = 250
    protocol = "miniature"
    miniature = True
    backbone = "mini-cnn"

    def __init__(self, argument: str | None = None, *, data_root: Path | None = None) -> None:
        self.revision = revision_of(self.name, PROTOCOL)

    def check(self) -> None:
        """Nothing can be missing: the glyphs ship with scikit-learn."""

    def load(self) -> Splits:
        return multi_label_splits(self.name, PROTOCOL)
