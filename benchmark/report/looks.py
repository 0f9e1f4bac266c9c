"""How methods, data sets and figures look, and in which order they stand: in every table and figure alike.

No drawing happens here, and no method is known here: whom a report puts in front is in highlight.toml. Colours are
told apart by colour-blind readers, and no two highlighted methods share both marker and line.
"""

from __future__ import annotations

import functools
import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HIGHLIGHT = Path(__file__).parent / "highlight.toml"
COLUMN, FULL = 3.33, 7.0  # inches: one column and the full width of an ACM page


@dataclass(frozen=True)
class Look:
    """Colour, marker and line of one method."""

    color: str
    marker: str
    dash: tuple[float, ...]  # lengths of ink and gap in points; empty for a solid line

    def line(self) -> dict[str, Any]:
        """Keyword arguments of matplotlib's plot."""
        return {"color": self.color, "marker": self.marker, "linestyle": (0, self.dash) if self.dash else "-"}


@dataclass(frozen=True)
class Apart:
    """Data sets that have a MAP table of their own: those with `contains` in their name."""

    contains: str
    name: str
    title: str


@dataclass(frozen=True)
class Ablation:
    """A method and its variants, which have a MAP table of their own."""

    name: str
    title: str
    base: str
    variants: tuple[str, ...]


@dataclass(frozen=True)
class Highlight:
    """What highlight.toml says."""

    order: tuple[str, ...]
    families: tuple[str, ...]
    datasets: tuple[str, ...]
    pair: tuple[str, ...]
    front: tuple[str, ...]
    bits: int
    apart: tuple[Apart, ...]
    ablations: tuple[Ablation, ...]
    symbols: dict[str, str]
    looks: dict[str, Look]

    @property
    def variants(self) -> list[str]:
        return [name for ablation in self.ablations for name in ablation.variants]


@functools.cache
def highlight(path: Path = HIGHLIGHT) -> Highlight:
    """Which methods and data sets are put in front, and how they look."""
    raw: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    lists = {name: tuple(raw[name]) for name in ("order", "families", "datasets", "pair", "front")}
    ablations = tuple(Ablation(**one | {"variants": tuple(one["variants"])}) for one in raw["ablations"])
    looks = {name: Look(one["color"], one["marker"], tuple(one["dash"])) for name, one in raw["looks"].items()}
    apart = tuple(Apart(**one) for one in raw["apart"])
    return Highlight(**lists, bits=raw["bits"], apart=apart, ablations=ablations, symbols=raw["symbols"], looks=looks)


SPARE_COLORS = ("#332288", "#117733", "#AA4499", "#882255", "#44AA99", "#999933", "#661100", "#6699CC")
SPARE_MARKERS = ("*", "8", "H", "1", "2", "3", "4", "+", "x")
SPARE_DASHES: tuple[tuple[float, ...], ...] = ((), (4.0, 1.6), (1.2, 1.4), (5.0, 1.4, 1.2, 1.4))
CONTROL = "control"  # the family of what is no method but a yardstick: grey in figures, and never ranked
GREY = "#a6a6a6"


def look(method: str, family: str = "") -> Look:
    """The look of a method; of one not highlighted by its name alone, so that it is the same in every report."""
    known = highlight().looks
    if method in known:
        return known[method]
    number = int.from_bytes(hashlib.sha256(method.encode(errors="replace")).digest()[:4], "big")
    number, color = divmod(number, len(SPARE_COLORS))
    number, marker = divmod(number, len(SPARE_MARKERS))
    shown = GREY if family == CONTROL else SPARE_COLORS[color]
    return Look(shown, SPARE_MARKERS[marker], SPARE_DASHES[number % len(SPARE_DASHES)])


def method_order(method: str, family: str = "") -> tuple[int, int, str]:
    """Sort key: the highlighted methods in their order, then the others by family and name."""
    order, families = highlight().order, highlight().families
    if method in order:
        return (0, order.index(method), method)
    return (1, families.index(family) if family in families else len(families), method)


def dataset_order(dataset: str) -> tuple[int, str]:
    """Sort key: the highlighted data sets in their order, each before its relatives; then by name."""
    stem = dataset.partition(":")[0].removesuffix("-mini").partition("-")[0]
    known = highlight().datasets
    return (known.index(stem) if stem in known else len(known), dataset)


def matplotlib_settings() -> dict[str, Any]:
    """rcParams of every figure. Type 42 embeds whole TrueType fonts, which publishers accept."""
    return {
        "text.parse_math": False,  # a dollar in somebody's title is a dollar
        "pdf.fonttype": 42,
        "font.family": ["STIXGeneral", "DejaVu Sans"],  # the second has letters that the first lacks
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
