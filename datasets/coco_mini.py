"""coco-mini: the stand-in for MS-COCO. 80 categories, digit x hue, 2.9 per image, one of them in 55 % of images.

That one ("zero red") plays the part of "person": it makes chance high, as on the real set. Every row has a label.
MAP@250, a twentieth of the paper's cut-off.
"""

from __future__ import annotations

from benchmark import register_dataset
from benchmark.data.miniature import EIGHT_HUES, ManyLabelsProtocol, Miniature, Palette


@register_dataset("coco-mini", title="MS-COCO miniature")
class CocoMini(Miniature):
    map_cutoff = 250
    rows = ManyLabelsProtocol(
        palette=Palette(EIGHT_HUES),
        label_counts=(0, 2075, 2991, 2065, 1267, 684, 350, 250, 180, 138),  # train.txt; 6 and more spread
        decay=0.5,
        dominant=547,
    )
