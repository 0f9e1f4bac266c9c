"""How methods, data sets and figures look, and in which order they stand: in every table and figure alike.

No drawing happens here, and no method is known here: whom a report puts in front is in highlight.toml. Colours are
told apart by colour-blind readers where there are few methods; no two methods share a marker, white inside or filled.
"""

from __future__ import annotations

import functools
import hashlib
import string
import tomllib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Free = TypeVar("Free", bound=Hashable)
HIGHLIGHT = Path(__file__).parent / "highlight.toml"
COLUMN, FULL = 3.33, 7.0  # inches: one column and the full width of an ACM page


MANY_POINTED = {"star": 1, "ray": 2}  # matplotlib's styles of a marker of so many points
Mark = tuple[str, bool]  # marker, whether filled


@dataclass(frozen=True)
class Look:
    """Colour, marker and line of one method."""

    color: str
    marker: str
    dash: tuple[float, ...]  # lengths of ink and gap in points; empty for a solid line
    filled: bool = False

    @property
    def symbol(self) -> Any:
        """The marker as matplotlib has it."""
        kind, points = self.marker.rstrip("0123456789"), self.marker.lstrip(string.ascii_lowercase)
        return (int(points), MANY_POINTED[kind], 0) if kind in MANY_POINTED else self.marker

    def mark(self) -> dict[str, Any]:
        """Keyword arguments of matplotlib's plot, for points alone."""
        face = self.color if self.filled else "white"
        return {"color": self.color, "marker": self.symbol, "markerfacecolor": face, "linestyle": "none"}

    def line(self) -> dict[str, Any]:
        """The same for a line with its points."""
        return self.mark() | {"linestyle": (0, self.dash) if self.dash else "-"}


@dataclass(frozen=True)
class SpareLooks:
    """What looks are made of for methods that have none in highlight.toml."""

    colors: tuple[str, ...]
    marks: tuple[Mark, ...]
    dashes: tuple[tuple[float, ...], ...]


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
    apart: tuple[Apart, ...]
    ablations: tuple[Ablation, ...]
    symbols: dict[str, str]
    looks: dict[str, Look]
    spare: SpareLooks


@functools.cache
def highlight(path: Path = HIGHLIGHT) -> Highlight:
    """Which methods and data sets are put in front, and how they look."""
    raw: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    lists = {name: tuple(raw[name]) for name in ("order", "families", "datasets", "pair", "front")}
    ablations = tuple(Ablation(**one | {"variants": tuple(one["variants"])}) for one in raw["ablations"])
    looks = {name: Look(**one | {"dash": tuple(one["dash"])}) for name, one in raw["looks"].items()}
    apart = tuple(Apart(**one) for one in raw["apart"])
    spare = raw["spare"]
    marks = [(one, filled) for filled in (False, True) for one in spare["open"]] + [
        (one, False) for one in spare["thin"]
    ]
    spare = SpareLooks(tuple(spare["colors"]), tuple(marks), tuple(map(tuple, spare["dashes"])))
    return Highlight(**lists, apart=apart, ablations=ablations, symbols=raw["symbols"], looks=looks, spare=spare)


CONTROL = "control"  # the family of what is no method but a yardstick: grey in figures, and never ranked
GREY = "#A6A6A6"
PALE = "#DCDCDC"  # of methods that a crowded figure shows without their names


def assigned_looks(families: Mapping[str, str]) -> dict[str, Look]:
    """Method -> look, for the methods of one results folder with their families; no two alike as long as looks last.

    Built-in methods have theirs in highlight.toml. Others take the colour and the marker that the hash of their name
    points at, or the next free one: a look changes only where a newcomer points at the same.
    """
    known, spare = highlight().looks, highlight().spare
    found = {name: known[name] for name in families if name in known}
    colors: set[str] = set()
    marks = {(one.marker, one.filled) for one in found.values()}
    for name in sorted(set(families) - set(known)):
        number = int.from_bytes(hashlib.sha256(name.encode(errors="replace")).digest()[:8], "big")
        turns, place = divmod(number, len(spare.colors))
        color = GREY if families[name] == CONTROL else _free(spare.colors, place, colors)
        marker, filled = _free(spare.marks, turns, marks)
        found[name] = Look(color, marker, spare.dashes[turns % len(spare.dashes)], filled)
    return found


def _free(pool: Sequence[Free], place: int, taken: set[Free]) -> Free:
    """The first at or behind a place that nobody has taken; where all are taken, they are given once more."""
    if len(taken) >= len(pool):
        taken.clear()
    order = (pool[(place + step) % len(pool)] for step in range(len(pool)))
    chosen = next(one for one in order if one not in taken)
    taken.add(chosen)
    return chosen


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
