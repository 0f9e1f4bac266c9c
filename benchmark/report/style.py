"""How methods, data sets and figures look: one colour, marker and line per method, in every figure alike.

No drawing happens here. Colours are those of Okabe and Ito (told apart by colour-blind readers), and no two
methods share both marker and line, so that a grey print can be read too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

COLUMN, FULL = 3.33, 7.0  # inches: one column and the full width of an ACM page

# The order of the paper's Table 1; rows of tables and legends follow it.
ORDER = (
    "dph", "dph-f", "dph-w", "dph-q", "hashnet", "dhn", "dsh", "dpsh", "dnnh", "cnnh", "sdh", "ksh", "itq", "sh",
    "lsh",
)  # fmt: skip
DATASETS = ("imagenet", "nus", "coco", "cifar10")
FAMILIES = ("deep", "supervised", "unsupervised", "data-independent", "control")


@dataclass(frozen=True)
class Look:
    """Colour, marker and line of one method."""

    color: str
    marker: str
    dash: tuple[float, ...]  # lengths of ink and gap in points; empty for a solid line

    def line(self) -> dict[str, Any]:
        """Keyword arguments of matplotlib's plot."""
        return {"color": self.color, "marker": self.marker, "linestyle": (0, self.dash) if self.dash else "-"}


SOLID: tuple[float, ...] = ()
DASHED, DOTTED, MIXED = (4.0, 1.6), (1.2, 1.4), (5.0, 1.4, 1.2, 1.4)
LOOKS = {
    "dph": Look("#D55E00", "o", SOLID),
    "dph-f": Look("#0072B2", "s", DASHED),
    "dph-w": Look("#009E73", "^", DOTTED),
    "dph-q": Look("#CC79A7", "D", MIXED),
    "hashnet": Look("#0072B2", "s", SOLID),
    "dhn": Look("#009E73", "^", SOLID),
    "dsh": Look("#CC79A7", "D", SOLID),
    "dpsh": Look("#56B4E9", "v", SOLID),
    "dnnh": Look("#E69F00", "P", SOLID),
    "cnnh": Look("#7A5195", "X", SOLID),
    "sdh": Look("#000000", "h", DASHED),
    "ksh": Look("#8C564B", "<", DASHED),
    "itq": Look("#2F4B7C", ">", MIXED),
    "sh": Look("#A0A000", "d", DOTTED),
    "lsh": Look("#777777", "p", DOTTED),
}
SPARE_COLORS = ("#332288", "#117733", "#AA4499", "#882255", "#44AA99", "#999933", "#661100", "#6699CC")
SPARE_MARKERS = ("*", "8", "H", "1", "2", "3", "4", "+", "x")
SPARE_DASHES = (SOLID, DASHED, DOTTED, MIXED)


def look(method: str) -> Look:
    """The look of a method; of one unknown here by its name alone, so that it is the same in every report."""
    if method in LOOKS:
        return LOOKS[method]
    number = int.from_bytes(hashlib.sha256(method.encode()).digest()[:4], "big")
    number, color = divmod(number, len(SPARE_COLORS))
    number, marker = divmod(number, len(SPARE_MARKERS))
    return Look(SPARE_COLORS[color], SPARE_MARKERS[marker], SPARE_DASHES[number % len(SPARE_DASHES)])


def method_order(method: str, family: str = "") -> tuple[int, int, str]:
    """Sort key: the paper's methods in the paper's order, then the others by family and name."""
    if method in ORDER:
        return (0, ORDER.index(method), method)
    return (1, FAMILIES.index(family) if family in FAMILIES else len(FAMILIES), method)


def dataset_order(dataset: str) -> tuple[int, str]:
    """Sort key: ImageNet, NUS-WIDE, COCO as in the paper, each before its relatives; then by name."""
    stem = dataset.partition(":")[0].removesuffix("-mini").partition("-")[0]
    return (DATASETS.index(stem) if stem in DATASETS else len(DATASETS), dataset)


def matplotlib_settings() -> dict[str, Any]:
    """rcParams of every figure. Type 42 embeds whole TrueType fonts, which publishers accept."""
    return {
        "pdf.fonttype": 42,
        "font.family": "STIXGeneral",
        "mathtext.fontset": "stix",
        "font.size": 8,
        "axes.titlesize": 8.5,
        "axes.labelsize": 8.5,
        "xtick.labelsize": 7.5,
        "ytick.labelsize": 7.5,
        "legend.fontsize": 7.5,
        "axes.linewidth": 0.6,
        "axes.grid": True,
        "grid.color": "#d8d8d8",
        "grid.linewidth": 0.5,
        "axes.axisbelow": True,
        "lines.linewidth": 1.1,
        "lines.markersize": 3.6,
        "lines.markeredgewidth": 0.8,
        "legend.frameon": False,
        "legend.handlelength": 2.4,
        "savefig.dpi": 200,
    }
