"""Drawings: each a name, the frame behind it and how to draw it; written as pdf, png and csv.

What goes into a drawing is gathered in the *_figures modules; here is only ink. A drawing whose data, options and
drawing code are those of last time is not drawn again.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.data.hashing import code_hash
from benchmark.report.display_names import shortened
from benchmark.report.looks import COLUMN, FULL, HIGHLIGHT, PALE, Look, assigned_looks, matplotlib_settings
from benchmark.report.table import frame_csv

if TYPE_CHECKING:
    import pandas as pd

Axes = Any
MARKS_PER_LINE = 8  # a dense curve carries a few markers only
ROW_HEIGHT = 0.155  # inches of a row of a legend
LETTERS_PER_INCH = 16  # of a title
LABEL_HEIGHT = 0.115  # inches between two names at the ends of lines


@dataclass(frozen=True, eq=False)
class Drawing:
    """One figure to be drawn: `kind` names a function of this module, `data` is the csv beside it."""

    name: str
    kind: str
    title: str
    alt: str
    data: pd.DataFrame
    options: dict[str, Any] = field(default_factory=dict)
    note: str = ""  # what stands below it on the page, after the title
    looks: Mapping[str, Look] = field(default_factory=dict)  # method -> look
    front: tuple[str, ...] = ()  # methods with a thicker line
    faint: tuple[str, ...] = ()  # methods drawn pale and without a name, where there are too many for a legend

    def look(self, method: str) -> Look:
        return self.looks.get(method) or assigned_looks({method: ""})[method]

    def csv(self) -> str:
        return frame_csv(self.data, digits=6)

    def digest(self) -> str:
        """Changes with the data, the options and the code that draws."""
        options = json.dumps(self.options, sort_keys=True, default=_as_bytes_digest)
        dressed = repr((sorted(self.looks.items(), key=lambda one: one[0]), self.front, self.faint))
        parts = (self.name, self.kind, self.title, self.csv(), options, dressed, _drawing_code())
        return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()


def _as_bytes_digest(value: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()


@functools.cache
def _drawing_code() -> str:
    """Of what decides how data become ink."""
    folder = Path(__file__).parent
    code = [code_hash(folder / name) for name in ("drawing.py", "looks.py", "display_names.py", "table.py")]
    return "".join([*code, hashlib.sha256(HIGHLIGHT.read_bytes()).hexdigest()])


def draw_figure(drawing: Drawing, folder: Path) -> None:
    """Write name.pdf, name.png and name.csv into `folder`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    if drawing.kind == "scatter":
        drawing = replace(drawing, data=embedding(drawing.options))
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(matplotlib_settings()), warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a letter no font has is a box, which needs no words
        figure = KINDS[drawing.kind](drawing)
        try:
            figure.draw_without_rendering()  # the layout, once for both files
            figure.set_layout_engine("none")
            # No creation date: the same data gives the same bytes.
            figure.savefig(folder / f"{drawing.name}.pdf", metadata={"CreationDate": None})
            _save_png(figure, folder / f"{drawing.name}.png", photographs=drawing.kind == "retrieved")
        finally:
            plt.close(figure)
    (folder / f"{drawing.name}.csv").write_text(drawing.csv(), encoding="utf-8", errors="replace")


def _save_png(figure: Any, path: Path, photographs: bool) -> None:
    """A chart in 256 colours: a fifth of the bytes in the page that embeds it, and no visible difference."""
    from PIL import Image

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    image = Image.open(buffer).convert("RGB")
    if not photographs:
        image = image.quantize(256, dither=Image.Dither.NONE)
    image.save(path, compress_level=7)  # to optimise saves a twentieth and takes ten times as long


def _figure(width: float, height: float, columns: int = 1, **keywords: Any) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    return plt.subplots(1, columns, figsize=(width, height), layout="constrained", **keywords)


def _lines(axes: Axes, drawing: Drawing, data: pd.DataFrame, column: str = "y") -> None:
    """One line per method; a whisker of one standard deviation where the data has one."""
    for order, ((method, title), rows) in enumerate(data.groupby(["method", "title"], sort=False)):
        x, y = rows["x"].to_numpy(), rows[column].to_numpy()
        if method in drawing.faint:
            axes.plot(x, y, color=PALE, linewidth=0.6, zorder=1.5, marker="o" if len(x) == 1 else "", markersize=2)
            continue
        style = drawing.look(str(method)).line() | {
            "markevery": max(1, len(x) // MARKS_PER_LINE),
            "label": _entry(title),
        }
        width = 1.6 if method in drawing.front else 1.0
        style |= {"linewidth": width, "zorder": max(2, 90 - order)}
        axes.plot(x, y, **style)  # the legend has lines in their order; whiskers are none of them
        if column == "y" and "std" in rows and rows["std"].notna().any():
            whisker = {"fmt": "none", "ecolor": style["color"], "capsize": 1.5, "elinewidth": 0.6}
            axes.errorbar(x, y, yerr=rows["std"].astype(float), zorder=style["zorder"], **whisker)
    _label_others(axes, len(set(data["method"]) & set(drawing.faint)))


def _label_others(axes: Axes, number: int, **style: Any) -> None:
    """The last entry of a legend: how many are pale."""
    if number:
        axes.plot([], [], **{"color": PALE, "linewidth": 1.5, **style}, label=f"{number} other{'s' * (number != 1)}")


def _curves(axes: Axes, drawing: Drawing, data: pd.DataFrame, panel: dict[str, Any]) -> None:
    _lines(axes, drawing, data)
    if panel.get("chance") is not None:
        axes.axhline(panel["chance"], color="#444444", linewidth=0.7, linestyle=(0, (1, 2)), label="chance")
    axes.set(xlabel=panel["xlabel"], ylabel=panel["ylabel"])
    floor = 0.9 * panel["chance"] if panel.get("chance") is not None else 0  # chance is the zero of a MAP axis
    axes.set_ylim(floor, 1.06 * max(axes.get_ylim()[1] / 1.05, 1e-3))
    if panel.get("xticks"):
        axes.set_xticks(panel["xticks"])
    if panel.get("unit"):
        axes.set_xlim(0, 1)


def _legend_below(figure: Any, axes: Axes, scale: float = 1.0) -> None:
    """One legend under everything, as many entries in a row as the width holds; the figure grows by its rows."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    columns = _fitting_columns([len(label) for label in labels], 72 * figure.get_figwidth() - 8)
    rows = -(-len(labels) // columns)
    figure.set_figheight(figure.get_figheight() + ROW_HEIGHT * rows)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, columnspacing=1.2, markerscale=scale)


def _fitting_columns(lengths: Sequence[int], width: float) -> int:
    """Columns of a legend that fit into so many points, filled from the top as matplotlib fills them."""
    for columns in range(len(lengths), 1, -1):
        rows = -(-len(lengths) // columns)
        widest = [max(lengths[start : start + rows]) for start in range(0, len(lengths), rows)]
        if sum(36 + 3.8 * longest for longest in widest) <= width:  # handle, gaps and letters of 7.5 points
            return len(widest)
    return 1


def _entry(label: object, longest: int = 28) -> str:
    """A label as a legend can hold it; matplotlib leaves out what begins with an underscore."""
    text = shortened(str(label), longest)
    return f" {text}" if text.startswith("_") else text


def _wrapped(title: str, width: float = COLUMN) -> str:
    """In lines that so many inches hold."""
    return textwrap.fill(shortened(title, 160), int(LETTERS_PER_INCH * width))


def _titled_whole(figure: Any, title: str) -> None:
    """A title over all panels."""
    figure.suptitle(_wrapped(title, figure.get_figwidth()), fontsize=9)


def _titled(axes: Axes, title: str) -> None:
    axes.set_title(_wrapped(title))


def panel(drawing: Drawing) -> Any:
    """A single panel, one column wide, legend below."""
    figure, axes = _figure(COLUMN, 2.2)
    _curves(axes, drawing, drawing.data, drawing.options)
    _titled(axes, drawing.title)
    _legend_below(figure, axes)
    return figure


def radius(drawing: Drawing) -> Any:
    """P@H<=2 against bits, and under it the share of empty balls without which it cannot be read."""
    import matplotlib.pyplot as plt

    size = (COLUMN, 2.9)
    figure, (upper, lower) = plt.subplots(2, 1, figsize=size, sharex=True, height_ratios=(2.2, 1), layout="constrained")
    _curves(upper, drawing, drawing.data, drawing.options | {"xlabel": ""})
    _lines(lower, drawing, drawing.data, "empty_ball_share")
    lower.set(xlabel=drawing.options["xlabel"], ylabel="Empty balls", ylim=(-0.04, 1.04))
    _titled(upper, drawing.title)
    _legend_below(figure, upper)
    return figure


def strip(drawing: Drawing) -> Any:
    """The paper's three panels side by side with one legend, full width."""
    panels = drawing.options["panels"]
    figure, all_axes = _figure(FULL, 2.2, len(panels))
    for axes, (name, panel), letter in zip(all_axes, panels.items(), "abc", strict=False):
        _curves(axes, drawing, drawing.data[drawing.data["panel"] == name], panel)
        axes.set_title(f"({letter}) {panel['title']}")
    _titled_whole(figure, drawing.title)
    # Not every method is in every panel: vectors have no radius.
    _legend_below(figure, max(all_axes, key=lambda axes: len(axes.get_legend_handles_labels()[1])))
    return figure


def overview(drawing: Drawing) -> Any:
    """MAP against bits, one panel per data set, the methods' names at the ends of their lines instead of a legend."""
    import matplotlib.pyplot as plt

    panels = drawing.options["panels"]
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    named = drawing.data["method"].nunique() - len(drawing.faint)
    height = max(2.3, 0.6 + LABEL_HEIGHT * named)
    size = (max(COLUMN + 0.6, FULL * columns / 3), 0.25 + height * rows)
    figure, all_axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axes in all_axes.flat[len(panels) :]:
        axes.axis("off")
    for axes, (label, panel) in zip(all_axes.flat, panels.items(), strict=False):
        own = drawing.data[drawing.data["dataset"] == label]
        _curves(axes, drawing, own, panel)
        _name_line_ends(axes, drawing, own, height)
        axes.set_title(textwrap.fill(shortened(label, 80), 40))
    _titled_whole(figure, drawing.title)
    return figure


def _name_line_ends(axes: Axes, drawing: Drawing, data: pd.DataFrame, height: float) -> None:
    """Names right of the panel, each joined to the last point of its line and moved only as far as it must be. A line
    that ends before the panel does is not drawn on: its name says how far it goes."""
    last = data.loc[data.groupby("method", sort=False)["x"].idxmax()]
    last = last[~last["method"].isin(drawing.faint)].sort_values("y", kind="stable")
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    places = spread_apart(last["y"].to_numpy(float), LABEL_HEIGHT * (high - low) / (height - 0.6), low, high)
    for (_, row), y in zip(last.iterrows(), places, strict=True):
        color, end = drawing.look(row["method"]).color, right + 0.05 * (right - left)
        whole = row["x"] == last["x"].max()
        if whole:
            axes.plot([row["x"], right, end], [row["y"], row["y"], y], color=color, lw=0.4, clip_on=False, zorder=1)
        weight = "bold" if row["method"] in drawing.front else "normal"
        words = _entry(row["title"], 18) + ("" if whole else f" (to {row['x']:g})")
        axes.text(end, y, f" {words}", color=color, fontsize=6.8, va="center", ha="left", weight=weight)
    axes.set(xlim=(left, right), ylim=(low, high))


def spread_apart(wanted: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Places at least a gap apart, in the order of the wanted ones (rising) and near them, inside low..high if they
    fit. Neighbours that are too near form a block around the mean of where they want to be."""
    blocks: list[tuple[float, int]] = []  # where the lowest member would stand, summed over members; how many
    for own in wanted:
        blocks.append((float(own), 1))
        while len(blocks) > 1:
            (before, many), (last, few) = blocks[-2:]
            if before / many + gap * many <= last / few:
                break
            blocks[-2:] = [(before + last - few * many * gap, many + few)]
    parts = [total / members + gap * np.arange(members) for total, members in blocks]
    steps = gap * np.arange(len(wanted))
    found = np.maximum(np.concatenate([*parts, np.empty(0)]), low + steps)
    return np.asarray(np.minimum(found, high - steps[::-1]))


def sensitivity(drawing: Drawing) -> Any:
    """MAP against a swept parameter, one line per data set, the value in use circled."""
    figure, axes = _figure(COLUMN, 2.3)
    for (name, rows), line in zip(drawing.data.groupby("dataset", sort=False), DATASET_LINES * 9, strict=False):
        axes.errorbar(rows["x"], rows["y"], yerr=rows["std"].astype(float), label=_entry(name, 40), capsize=1.5, **line)
        usual = rows[rows["in_use"]]
        axes.plot(usual["x"], usual["y"], "o", ms=9, mfc="none", mec="#444444", mew=0.7, ls="none")
    if drawing.options["log"]:
        _log_axis(axes, "x")
    axes.set(xlabel=drawing.options["xlabel"], ylabel=drawing.options["ylabel"])
    _titled(axes, drawing.title)
    axes.set_ylim(0, 1.08 * drawing.data["y"].max())
    _legend_below(figure, axes)
    return figure


def swept_data(drawing: Drawing) -> Any:
    """MAP against a swept parameter of a data set: one panel per code length, one line per method."""
    lengths = sorted(drawing.data["bits"].unique())
    wide = drawing.options["wide"]
    figure, all_axes = _figure(FULL if wide else COLUMN, 2.6, len(lengths), squeeze=False, sharey=True)
    for axes, bits in zip(all_axes[0], lengths, strict=True):
        _lines(axes, drawing, drawing.data[drawing.data["bits"] == bits])
        axes.set(title=f"{bits} bits" if wide else _wrapped(drawing.title))
        _value_axis(axes, drawing)
    all_axes[0][0].set(ylabel=drawing.options["ylabel"], ylim=(0, 1.08 * drawing.data["y"].max()))
    if wide:
        _titled_whole(figure, drawing.title)
    _legend_below(figure, all_axes[0][0])
    return figure


def _value_axis(axes: Axes, drawing: Drawing) -> None:
    """Values of a data set's parameter: numbers, or words side by side."""
    axes.set(xlabel=drawing.options["xlabel"])
    if ticks := drawing.options["ticks"]:
        axes.set_xticks(range(len(ticks)), ticks, rotation=25, ha="right", rotation_mode="anchor")
    elif drawing.options["log"]:
        _log_axis(axes, "x")


def gain(drawing: Drawing) -> Any:
    """How far one method is ahead of another against a swept parameter of a data set, one line per code length."""
    figure, axes = _figure(COLUMN, 2.6)
    axes.axhline(0, color="#444444", lw=0.7)
    for (bits, rows), line in zip(drawing.data.groupby("bits"), DATASET_LINES * 9, strict=False):
        reach = [rows["y"] - rows["low"], rows["high"] - rows["y"]]
        axes.errorbar(rows["x"], rows["y"], yerr=reach, label=f"{bits} bits", capsize=1.5, **line)
    _value_axis(axes, drawing)
    axes.set(ylabel=drawing.options["ylabel"])
    _titled(axes, drawing.title)
    _legend_below(figure, axes)
    return figure


DATASET_LINES: tuple[dict[str, Any], ...] = (
    {"color": "#D55E00", "marker": "o", "linestyle": "-"},
    {"color": "#0072B2", "marker": "s", "linestyle": "--"},
    {"color": "#009E73", "marker": "^", "linestyle": "-."},
    {"color": "#000000", "marker": "D", "linestyle": ":"},
)
CLASS_COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#A0A000", "#7A5195", "#8C564B",
)  # fmt: skip
CLASS_MARKERS = "osD^vP*X<>"


def embedding(options: dict[str, Any]) -> pd.DataFrame:
    """t-SNE of packed codes, method by method. Costs seconds, hence done only for a figure that is drawn."""
    import pandas as pd
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    parts = []
    for title, packed in options["codes"].items():
        codes = np.unpackbits(packed, axis=1, count=options["bits"]) * 2.0 - 1.0
        # Codes shared by many items are one point; a trace of noise lets the dots be seen as several.
        codes += np.random.default_rng(0).normal(scale=0.05, size=codes.shape)
        projection = TSNE(perplexity=min(30, len(codes) // 4), init="pca", random_state=0, max_iter=500)
        with threadpool_limits(
            1
        ):  # threads that wait for a busy machine's other core spin: a minute in place of a second
            points = projection.fit_transform(codes)
        parts.append(pd.DataFrame({"title": title, "class": options["class"], "x": points[:, 0], "y": points[:, 1]}))
    return pd.concat(parts, ignore_index=True)


def scatter(drawing: Drawing) -> Any:
    """t-SNE of codes: one panel per method, colour and marker by class."""
    titles = list(dict.fromkeys(drawing.data["title"]))
    width = COLUMN if len(titles) <= 2 else FULL
    figure, all_axes = _figure(width, 1.1 + 0.8 * width / len(titles), len(titles), squeeze=False)
    for axes, title in zip(all_axes[0], titles, strict=True):
        rows = drawing.data[drawing.data["title"] == title]
        for number, name in enumerate(dict.fromkeys(drawing.data["class"])):
            points = rows[rows["class"] == name]
            style = {"c": CLASS_COLORS[number % 10], "marker": CLASS_MARKERS[number % 10], "label": _entry(name)}
            axes.scatter(points["x"], points["y"], s=5, linewidths=0, **style)
        axes.set(title=_entry(title), xticks=[], yticks=[])
        axes.set_box_aspect(1)
    _titled_whole(figure, drawing.title)
    _legend_below(figure, all_axes[0][0], scale=2.2)
    return figure


def training(drawing: Drawing) -> Any:
    """Loss relative to its start and gradient norm against steps, one line per deep method."""
    figure, (loss, gradient) = _figure(FULL, 2.1, 2)
    for axes, name, label in ((loss, "loss", "Loss / first loss"), (gradient, "gradient_norm", "Gradient norm")):
        rows = drawing.data.dropna(subset=[name]).rename(columns={name: "y"})
        _lines(axes, drawing, rows)
        axes.set(xlabel="Step", ylabel=label)
    norms = drawing.data["gradient_norm"].dropna()
    if len(norms) and norms.min() > 0:
        _log_axis(gradient, "y")
    _titled_whole(figure, drawing.title)
    _legend_below(figure, loss)
    return figure


def _log_axis(axes: Axes, which: str) -> None:
    """Logarithmic with plain numbers at 1, 2 and 5, which a short range needs and a long one bears."""
    from matplotlib.ticker import LogLocator, NullFormatter

    getattr(axes, f"set_{which}scale")("log")
    axis = getattr(axes, f"{which}axis")
    low, high = np.log10(getattr(axes, f"get_{which}lim")())
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high - low < 2.5 else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def classes(drawing: Drawing) -> Any:
    """MAP of each class against its frequency: a line of binned means per method, dots for the highlighted ones."""
    figure, axes = _figure(COLUMN, 2.2)
    binned = drawing.data[drawing.data["part"] == "bin"]
    for method, points in drawing.data[drawing.data["part"] == "class"].groupby("method", sort=False):
        if method in drawing.options["dots"]:
            axes.scatter(points["x"], points["y"], s=4, color=drawing.look(str(method)).color, alpha=0.35, linewidths=0)
    _lines(axes, drawing, binned)
    if drawing.options["log"]:
        _log_axis(axes, "x")
    axes.set(xlabel="Training rows of the class", ylabel=drawing.options["ylabel"])
    _titled(axes, drawing.title)
    axes.set_ylim(bottom=0)
    _legend_below(figure, axes)
    return figure


def cost(drawing: Drawing) -> Any:
    """Quality against cost: one marker per method. The axis begins below the worst, as only differences matter."""
    data = drawing.data
    figure, axes = _figure(COLUMN, 2.2)
    for row in data.itertuples(index=False):
        if row.method in drawing.faint:
            axes.plot(row.x, row.y, "o", color=PALE, ms=3, zorder=1.5)
            continue
        axes.plot(row.x, row.y, **drawing.look(row.method).mark(), ms=5, mew=1.1, label=_entry(row.title))
    _label_others(axes, int(data["method"].isin(drawing.faint).sum()), marker="o", markersize=3, linestyle="none")
    axes.set_xscale("log")
    decades = np.log10([0.9 * data["x"].min(), 1.1 * data["x"].max()])
    room = 0.08 * max(data["y"].max() - data["y"].min(), 1e-3)
    axes.set(xlim=10.0 ** np.array([np.floor(decades[0]), np.ceil(decades[1])]))
    axes.set(ylim=(data["y"].min() - room, data["y"].max() + room))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set(xlabel=drawing.options["xlabel"], ylabel=drawing.options["ylabel"])
    _titled(axes, drawing.title)
    _legend_below(figure, axes)
    return figure


def critical(drawing: Drawing) -> Any:
    """Mean ranks on an axis, bars over methods that no test tells apart (Demsar 2006)."""
    import matplotlib.pyplot as plt

    data = drawing.data.sort_values("rank", kind="stable")
    count, groups = len(data), drawing.options["groups"]
    half = -(-count // 2)
    base = -0.2 - 0.13 * len(groups)
    lowest = base - 0.17 * half  # inches, as all heights here
    figure = plt.figure(figsize=(FULL, 0.52 - lowest))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(1 - 0.42 * count, count * 1.42), ylim=(lowest, 0.52))
    axes.text((1 + count) / 2, 0.44, shortened(drawing.title, 110), ha="center", va="center", fontsize=8.5)
    axes.axis("off")
    axes.plot([1, count], [0, 0], "k-", lw=0.8)
    for tick in range(1, count + 1):
        axes.plot([tick, tick], [0, 0.06], "k-", lw=0.8)
        axes.text(tick, 0.09, str(tick), ha="center", va="bottom", fontsize=7.5)
    for number, (low, high) in enumerate(groups):
        axes.plot([low - 0.06, high + 0.06], [-0.1 - 0.13 * number] * 2, "k-", lw=2.4, solid_capstyle="butt")
    for place, row in enumerate(data.itertuples(index=False)):
        left = place < half
        y = base - 0.17 * (place if left else count - 1 - place)
        edge = 1 - 0.05 * count if left else count * 1.05
        axes.plot([row.rank, row.rank, edge], [0, y, y], "-", color=drawing.look(row.method).color, lw=0.9)
        name = shortened(row.title, 18)
        label = f"{name}  {row.rank:.2f}" if left else f"{row.rank:.2f}  {name}"
        axes.text(edge, y, f" {label} ", ha="right" if left else "left", va="center", fontsize=8)
    return figure


def retrieved(drawing: Drawing) -> Any:
    """Queries with the top 10 of each method shown; hits in green solid frames, misses in orange dashed ones."""
    import matplotlib.pyplot as plt

    images, queries = drawing.options["images"], drawing.options["queries"]
    side, gap, left, top = 0.5, 0.06, 1.62, 0.32  # inches
    rows = len(queries[0]["rows"])
    block = rows * (side + gap) - gap + 0.16
    height = top + block * len(queries)
    figure = plt.figure(figsize=(FULL, height))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, FULL), ylim=(height, 0), autoscale_on=False)  # one, in inches
    axes.axis("off")

    def place(name: str, x: float, y: float, color: str, line: Any) -> None:
        axes.imshow(images[name], interpolation="nearest", aspect="auto", extent=(x, x + side, y + side, y))
        frame = {"edgecolor": color, "linestyle": line, "linewidth": 1.8, "fill": False, "clip_on": False}
        axes.add_patch(plt.Rectangle((x, y), side, side, **frame))

    def write(words: str, x: float, y: float, align: str) -> None:
        figure.text(x / FULL, 1 - y / height, words, ha=align, va="center", fontsize=8)

    write(shortened(drawing.title, 110), FULL / 2, 0.1, "center")
    for number, query in enumerate(queries):
        y = top + number * block
        middle = y + (rows - 1) * (side + gap) / 2 - 0.08
        place(query["image"], 0.12, middle, "#000000", "solid")
        beside = middle - 0.1 if rows > 1 else middle + side + 0.14  # of several methods the names lie below it
        write(shortened(query["name"], 20), 0.04, beside, "left")
        for row in query["rows"]:
            write(shortened(row["title"], 14), left - 0.08, y + side / 2, "right")
            for rank, (item, hit) in enumerate(zip(row["items"], row["hits"], strict=True)):
                color, line = ("#009E73", "solid") if hit else ("#D55E00", (0, (2, 1.2)))
                place(item, left + rank * (side + 0.01), y, color, line)
            write(f"{sum(row['hits'])}/{len(row['hits'])}", FULL - 0.02, y + side / 2, "right")
            y += side + gap
    return figure


def mark_outline(look: Look) -> str:
    """A method's marker as the `d` of an SVG path around 0, 0, about one unit wide."""
    from matplotlib.markers import MarkerStyle

    style = MarkerStyle(look.symbol)
    outline = style.get_path().transformed(style.get_transform())
    letters = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}  # matplotlib's codes of a path

    def part(points: np.ndarray, code: int) -> str:
        return letters[code] + (" ".join(f"{x:.3g} {-y:.3g}" for x, y in points.reshape(-1, 2)) if code != 79 else "")

    return "".join(part(points, int(code)) for points, code in outline.iter_segments(simplify=False))


KINDS: dict[str, Callable[[Drawing], Any]] = {
    function.__name__: function
    for function in (
        panel,
        radius,
        strip,
        overview,
        sensitivity,
        swept_data,
        gain,
        scatter,
        training,
        classes,
        cost,
        critical,
        retrieved,
    )
}
