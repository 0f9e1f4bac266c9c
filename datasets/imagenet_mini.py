"""imagenet-mini: the stand-in for ImageNet. 100 classes, digit x hue, one per image.

Database and cut-off are the paper's at a tenth (130 rows per class, sorted by class; MAP@100). The training set
keeps the paper's skew (1300 / 9 x ~411 / 90 x ~56 of 10,000) at three tenths, so that a tail class still has
examples: one class of 390, nine of about 123, 90 of 3 to 31, mean 17. Training rows are database rows, so the head
class alone has more of those (390) than the others. Queries: 10 per class. Another `imbalance` draws as many
training rows, in other proportions, from the same database.
"""

from __future__ import annotations

from benchmark import register_dataset
from benchmark.data.miniature import OneLabelMiniature, OneLabelProtocol, Palette, Variation

HUES = ("red", "orange", "lime", "green", "jade", "cyan", "azure", "blue", "purple", "pink")


@register_dataset("imagenet-mini", title="ImageNet miniature")
class ImagenetMini(OneLabelMiniature):
    map_cutoff = 100
    rows = OneLabelProtocol(
        palette=Palette(HUES),
        variation=Variation(sizes=(16, 22), reach=5),
        head=390,
        middle=123,
        tail=17,
        per_class=130,
        queries_per_class=10,
    )
