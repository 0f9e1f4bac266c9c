"""Drawings: each a name, the frame behind it and how to draw it; written as pdf, png and csv.

What goes into a drawing is gathered in curves.py; here is only ink. A drawing whose data, options and drawing code
are those of last time is not drawn again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.report.style import COLUMN, FULL, look, matplotlib_settings

if TYPE_CHECKING:
    import pandas as pd

Axes = Any
MARKS_PER_LINE = 8  # a dense curve carries a few markers only


@dataclass(frozen=True, eq=False)
class Drawing:
    """One figure to be drawn: `kind` names a function of this module, `data` is the csv beside it."""

    name: str
    kind: str
    title: str
    alt: str
    data: pd.DataFrame
    options: dict[str, Any] = field(default_factory=dict)

    def csv(self) -> str:
        return str(self.data.to_csv(index=False, lineterminator="\n", float_format="%.6g"))

    def digest(self) -> str:
        """Changes with the data, the options and the code that draws."""
        options = json.dumps(self.options, sort_keys=True, default=_as_bytes_digest)
        parts = (self.name, self.kind, self.title, self.csv(), options, _drawing_code())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _as_bytes_digest(value: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()


def _drawing_code() -> str:
    folder = Path(__file__).parent
    return "".join(
        hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("figures.py", "style.py")
    )


def draw(drawing: Drawing, folder: Path) -> None:
    """Write name.pdf, name.png and name.csv into `folder`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(matplotlib_settings()):
        figure = KINDS[drawing.kind](drawing)
        try:
            # No creation date: the same data gives the same bytes.
            figure.savefig(folder / f"{drawing.name}.pdf", metadata={"CreationDate": None})
            figure.savefig(folder / f"{drawing.name}.png")
        finally:
            plt.close(figure)
    (folder / f"{drawing.name}.csv").write_text(drawing.csv(), encoding="utf-8")


def _figure(width: float, height: float, columns: int = 1, **keywords: Any) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    return plt.subplots(1, columns, figsize=(width, height), **keywords)


def _curves(axes: Axes, data: pd.DataFrame, panel: dict[str, Any]) -> None:
    """One line per method; a whisker of one standard deviation where the data has one."""
    for (method, title), rows in data.groupby(["method", "title"], sort=False):
        x, y = rows["x"].to_numpy(), rows["y"].to_numpy()
        every = max(1, len(x) // MARKS_PER_LINE)
        style = look(str(method)).line() | {"markevery": every, "markerfacecolor": "white", "label": title}
        width = 1.6 if method == "dph" else 1.0
        if "std" in rows and rows["std"].notna().any():
            axes.errorbar(x, y, yerr=rows["std"], capsize=1.5, elinewidth=0.6, linewidth=width, **style)
        else:
            axes.plot(x, y, linewidth=width, **style)
    if panel.get("chance") is not None:
        axes.axhline(panel["chance"], color="#444444", linewidth=0.7, linestyle=(0, (1, 2)), label="chance")
    axes.set(xlabel=panel["xlabel"], ylabel=panel["ylabel"])
    axes.set_ylim(bottom=0)
    if panel.get("xticks"):
        axes.set_xticks(panel["xticks"])
    if panel.get("unit"):
        axes.set_xlim(0, 1)


def _legend_below(figure: Any, axes: Axes, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(columns, len(labels)), columnspacing=1.2
    )


def curves(drawing: Drawing) -> Any:
    """A single panel, one column wide, legend below."""
    rows = -(-drawing.data["method"].nunique() // 4)
    figure, axes = _figure(COLUMN, 2.2 + 0.16 * rows)
    _curves(axes, drawing.data, drawing.options)
    axes.set_title(drawing.title)
    _legend_below(figure, axes, 4)
    return figure


def strip(drawing: Drawing) -> Any:
    """The paper's three panels side by side with one legend, full width."""
    panels = drawing.options["panels"]
    figure, all_axes = _figure(FULL, 2.35, len(panels))
    for axes, (name, panel), letter in zip(all_axes, panels.items(), "abc", strict=False):
        _curves(axes, drawing.data[drawing.data["panel"] == name], panel)
        axes.set_title(f"({letter}) {panel['title']}")
    figure.suptitle(drawing.title, fontsize=9)
    _legend_below(figure, all_axes[0], 8)
    return figure


KINDS: dict[str, Callable[[Drawing], Any]] = {"curves": curves, "strip": strip}
