"""nus-mini: the stand-in for NUS-WIDE. 81 concepts, ten digits x eight hues and one colourless, several per image.

Long-tailed; as in the paper's lists, 22 % of the training and database rows have no label, and queries (10 per
concept) all have one. MAP@250, a twentieth of the paper's cut-off.
"""

from __future__ import annotations

from benchmark import register_dataset
from benchmark.data.miniature import EIGHT_HUES, ManyLabelsProtocol, Miniature, Palette


@register_dataset("nus-mini", title="NUS-WIDE miniature")
class NusMini(Miniature):
    map_cutoff = 250
    rows = ManyLabelsProtocol(
        palette=Palette(EIGHT_HUES, colourless="grey"),
        label_counts=(2203, 2939, 1927, 1216, 818, 441, 270, 120, 50, 16),  # train_new.txt; 6 and more spread
        decay=0.9,
    )
