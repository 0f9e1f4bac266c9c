"""Which methods of a figure have names: all where they are few; of many the best, the highlighted and the controls.

Forty lines with forty names cannot be read. The others are drawn all the same, pale and behind, and their numbers are
in the csv beside the figure and in the tables; a note under the figure says who they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmark.report.drawing import Drawing
from benchmark.report.looks import Look, highlight
from benchmark.report.sheets import Sheet, competitors, controls, leading, map_at, methods, scored
from benchmark.wording import listed

if TYPE_CHECKING:
    import pandas as pd

NAMED = 12  # methods with a name in a crowded figure, the highlighted among them, controls besides
CROWDED = ("panel", "radius", "strip", "overview", "swept_data", "training", "classes", "cost")


def best_ranked(cells: pd.DataFrame) -> list[str]:
    """Methods by their mean rank in MAP, as part of those ranked, over the columns that each has; the best first."""
    good = competitors(scored(cells))
    scores = good.groupby(["dataset_label", "bits", "method"])["map"].mean().unstack("method")
    order = scores.rank(axis=1, ascending=False, pct=True).mean().sort_values(kind="stable")
    return [str(name) for name in order.index]


def leaders(cells: pd.DataFrame) -> list[str]:
    """The method of highest MAP on each data set at each length: none of them may be without its name."""
    good = competitors(scored(cells))
    scores = good.groupby(["dataset_label", "bits", "method"])["map"].mean().unstack("method")
    return [str(name) for name in dict.fromkeys(scores.idxmax(axis=1))]


def with_names(sheet: Sheet) -> list[str]:
    """Methods that have names in the figures of a sheet; the same in all of them."""
    chosen = list(dict.fromkeys([*leading(scored(sheet.cells), sheet.highlight), *leaders(sheet.cells)]))
    best = [name for name in best_ranked(sheet.cells) if name not in chosen]
    return [*chosen, *best[: max(0, NAMED - len(chosen))], *(name for name, _ in controls(sheet.cells))]


def unnamed(sheet: Sheet) -> set[str]:
    """Methods that have no name in a crowded figure of a sheet; nobody where there are few."""
    if competitors(sheet.cells)["method"].nunique() <= NAMED or not len(scored(sheet.cells)):
        return set()
    return set(sheet.cells["method"]) - set(with_names(sheet))


def dressed(drawings: Sequence[Drawing], sheet: Sheet, looks: Mapping[str, Look]) -> list[Drawing]:
    """The drawings of a sheet with the looks of their methods; in crowded ones only some have names."""
    named = with_names(sheet) if len(scored(sheet.cells)) else []
    front = tuple(sheet.highlight or highlight().front)
    return [_dressed(drawing, sheet, named, front, looks) for drawing in drawings]


def _dressed(
    drawing: Drawing, sheet: Sheet, named: Sequence[str], front: tuple[str, ...], looks: Mapping[str, Look]
) -> Drawing:
    shown = list(dict.fromkeys(drawing.data["method"])) if "method" in drawing.data else []
    own = {name: looks[name] for name in shown if name in looks}
    crowded = len(competitors(sheet.cells[sheet.cells["method"].isin(shown)])["method"].unique()) > NAMED
    faint: tuple[str, ...] = ()
    note = ""
    if drawing.kind == "strip" and sheet.highlight:
        faint = tuple(name for name in shown if name not in sheet.highlight)
        note = "Highlighted by request" if faint else ""
    elif drawing.kind in CROWDED and crowded:
        faint = tuple(name for name in shown if name not in named)
        besides = ", and controls" if set(shown) & {name for name, _ in controls(sheet.cells)} else ""
        score = map_at(sheet.cells)
        note = f"Named: the highlighted, who leads a data set at some length, the best by mean rank in {score}{besides}"
    titles = dict(methods(sheet.cells))
    left = f"{note}; pale: {listed([titles.get(name, name) for name in faint])}. Their numbers are in the csv."
    without = sheet.variant_words if drawing.kind in CROWDED else ""
    told = " ".join(part for part in (drawing.note, left if faint else "", without) if part)
    return replace(drawing, looks=own, front=front, faint=faint, note=told)
