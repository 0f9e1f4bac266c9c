"""The embedded miniatures: stand-ins for ImageNet, NUS-WIDE and MS-COCO made from scikit-learn's digits.

A class is a digit in a hue ("three red"); an image is a 32x32 canvas with one glyph (ImageNet) or several
(NUS-WIDE, MS-COCO) over a textured background, among scrambled glyphs that belong to no class. Every number is
drawn and rendered in integers, so the pixels are the same on every machine. The plugin files in datasets/ hold
the protocol (sizes, proportions); the modules here hold the data set class (`dataset`), how rows are drawn
(`labelled_rows`), what is on a canvas (`scenes`), and how it becomes pixels (`pixels`). Nothing here knows the
network trained on them.
"""

from benchmark.data.miniature.dataset import Miniature, OneLabelMiniature
from benchmark.data.miniature.labelled_rows import ManyLabelsProtocol, OneLabelProtocol
from benchmark.data.miniature.scenes import EIGHT_HUES, Palette, Variation

__all__ = [
    "EIGHT_HUES",
    "ManyLabelsProtocol",
    "Miniature",
    "OneLabelMiniature",
    "OneLabelProtocol",
    "Palette",
    "Variation",
]
