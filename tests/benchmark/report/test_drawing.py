"""Ink: any title can be drawn, the same data give the same bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest

from benchmark.report import render
from benchmark.report.drawing import Drawing, draw_figure, mark_outline, overview, spread_apart
from benchmark.report.looks import Look, highlight, matplotlib_settings

NASTY = {
    "dollars": "cost of $5 and $\\frac{", "one dollar": "$", "newline": "two\nlines\r\n", "null": "a\0b",
    "right to left": "עברית \u202e x", "emoji": "fire 🔥 漢字", "empty": "", "spaces": "  ", "long": "x" * 5000,
    "path": "../../a/b", "tex": r"50%_#&{}~^\end{table}", "underscore": "_hidden", "formula": "=1+1",
    "surrogate": "half \ud800 pair", "markup": "<b>&amp;</b> [/x] {{ 1 }} {% x %}",
}  # fmt: skip


def lines(title: str) -> Drawing:
    data = pd.DataFrame({"method": ["itq"] * 2, "title": [title] * 2, "x": [16, 32], "y": [0.1, 0.2], "std": None})
    return Drawing("d", "panel", f"T {title}", "alt", data, {"xlabel": "x", "ylabel": "y"})


def test_pictures_are_the_same_bytes_for_the_same_data(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        draw_figure(lines("ITQ"), tmp_path / folder)
    for suffix in ("pdf", "png", "csv"):
        assert (tmp_path / f"a/d.{suffix}").read_bytes() == (tmp_path / f"b/d.{suffix}").read_bytes()


def test_a_dollar_is_a_dollar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E: mathtext took it for a formula and raised."""
    from matplotlib.mathtext import MathTextParser

    monkeypatch.setattr(MathTextParser, "parse", lambda *_: pytest.fail("taken for mathematics"))
    draw_figure(lines(NASTY["dollars"]), tmp_path)
    assert (tmp_path / "d.png").stat().st_size > 0


def test_a_label_that_begins_with_an_underscore_stands_in_the_legend(tmp_path: Path, monkeypatch) -> None:
    from matplotlib.figure import Figure

    seen: list[str] = []
    monkeypatch.setattr(Figure, "legend", lambda self, handles, labels, **_: seen.extend(labels))
    draw_figure(lines("_hidden"), tmp_path)
    assert [label.strip() for label in seen] == ["_hidden"]


def test_long_labels_are_shortened(tmp_path: Path) -> None:
    from PIL import Image

    draw_figure(lines("x" * 5000), tmp_path)
    assert max(Image.open(tmp_path / "d.png").size) < 1000


@pytest.mark.parametrize("title", NASTY.values(), ids=NASTY)
def test_no_title_kills_a_report(synthetic, undrawn, tmp_path: Path, title: str) -> None:
    """E: titles of methods, data sets and classes, swept and plain; every file is there and is named as ours are."""
    titles = {"method": title, "dataset": title}
    for method in ("dph", "odd"):
        synthetic.cell(method, "nus-mini", 16, titles=titles)
        synthetic.cell(method, "imagenet-mini", 16, titles=titles)
    html = render(synthetic.store, tmp_path).read_text(encoding="utf-8")
    assert "could not be shown" not in html
    names = [path.name for path in [*(tmp_path / "figures").iterdir(), *(tmp_path / "tables").iterdir()]]
    assert all(len(name) < 200 and "\n" not in name for name in names)
    assert "title" in (tmp_path / "figures/map-nus-mini-quick-mini-cnn.csv").read_text()


@pytest.mark.parametrize("name", NASTY.values(), ids=NASTY)
def test_no_name_of_a_swept_method_or_data_set_kills_a_report(synthetic, undrawn, tmp_path: Path, name: str) -> None:
    """E: `/` or 5,000 letters in the name of a swept method."""
    for value in (0.1, 0.5, 1.0):
        synthetic.cell(name, name, 16, params={"gamma": value}, titles={}, revision="r")
    html = render(synthetic.store, tmp_path).read_text(encoding="utf-8")
    assert "could not be shown" not in html
    assert len(list((tmp_path / "figures").glob("sensitivity-*.pdf"))) == 1


@pytest.mark.slow
def test_figures_of_nasty_titles_are_really_drawn(synthetic, tmp_path: Path) -> None:
    """E: all kinds of figure with the worst title each; slow fonts and all."""
    from benchmark.report.drawing import KINDS

    worst = "_" + NASTY["dollars"] + NASTY["right to left"]
    draw_figure(lines(NASTY["emoji"]), tmp_path)  # once: a font for every sign takes seconds
    for drawing in examples(worst):
        draw_figure(drawing, tmp_path)
        assert (tmp_path / f"{drawing.name}.pdf").stat().st_size > 0
    assert {drawing.kind for drawing in examples(worst)} == set(KINDS)


def examples(title: str) -> list[Drawing]:
    """One drawing of each kind."""
    labels: dict[str, Any] = {"xlabel": title, "ylabel": title}
    rows = pd.DataFrame({"method": "itq", "title": title, "x": [16.0, 32.0], "y": [0.1, 0.2], "std": None})
    swept = rows.assign(dataset=title, in_use=[True, False], std=0.1)
    one_panel = labels | {"log": True, "wide": False, "ticks": [title, title]}
    codes = np.random.default_rng(0).integers(0, 256, (40, 2), dtype=np.uint8)
    images = {"q": np.zeros((4, 4, 3), np.uint8)}
    query = {"image": "q", "name": title, "rows": [{"title": title, "items": ["q"], "hits": [True]}]}
    panels = {"p": labels | {"title": title}, "q": labels | {"title": title}}
    strip = pd.concat([rows.assign(panel="p"), rows.assign(panel="q")])
    dots = pd.concat([rows.assign(part="bin"), rows.assign(part="class")])
    ranks = pd.DataFrame({"method": ["a", "b", "c"], "title": title, "rank": [1.0, 2.0, 3.0]})
    embedded = {"codes": {title: codes}, "bits": 16, "class": [title] * 40}
    return [
        Drawing("panel", "panel", title, "", rows, labels),
        Drawing("radius", "radius", title, "", rows.assign(empty_ball_share=0.5), labels),
        Drawing("strip", "strip", title, "", strip, {"panels": panels}),
        Drawing("overview", "overview", title, "", rows.assign(dataset=title), {"panels": {title: labels}}),
        Drawing("sensitivity", "sensitivity", title, "", swept, labels | {"log": True}),
        Drawing("swept", "swept_data", title, "", rows.assign(bits=16), one_panel),
        Drawing("swept2", "swept_data", title, "", rows.assign(bits=[16, 32]), one_panel | {"wide": True, "ticks": []}),
        Drawing("gain", "gain", title, "", rows.assign(bits=[16, 32], low=-0.1, high=0.4), one_panel),
        Drawing("scatter", "scatter", title, "", pd.DataFrame(), embedded),
        Drawing("training", "training", title, "", rows.assign(loss=1.0, gradient_norm=[1.0, 2.0])),
        Drawing("classes", "classes", title, "", dots, labels | {"dots": ["itq"], "log": True}),
        Drawing("cost", "cost", title, "", rows, labels),
        Drawing("critical", "critical", title, "", ranks, {"groups": [[1.0, 2.0]], "gap": 1.0}),
        Drawing("retrieved", "retrieved", title, "", rows, {"images": images, "queries": [query]}),
    ]


def test_a_figure_that_cannot_be_drawn_is_named(synthetic, undrawn, tmp_path: Path, monkeypatch) -> None:
    """E: it costs itself, not the report."""
    from benchmark.report import composition

    whole = composition.draw_figure

    def broken(drawing: Drawing, folder: Path) -> None:
        if drawing.kind == "cost":
            raise RuntimeError("no more ink")
        whole(drawing, folder)

    monkeypatch.setattr(composition, "draw_figure", broken)
    synthetic.cell("itq", "nus-mini", 16)
    html = render(synthetic.store, tmp_path).read_text()
    assert "figure cost-nus-mini-quick-mini-cnn: RuntimeError: no more ink" in html
    assert "figures/cost-" not in html
    assert (tmp_path / "figures/map-nus-mini-quick-mini-cnn.pdf").is_file()


@pytest.mark.parametrize("wanted", [[0.1, 0.11, 0.12, 0.5], [0.5] * 6, [0.0, 0.9, 1.0], [], [0.3]])
def test_names_at_line_ends_keep_their_order_and_do_not_overlap(wanted: list[float]) -> None:
    found = spread_apart(np.array(wanted), 0.1, 0.0, 1.0)
    assert len(found) == len(wanted)
    assert (np.diff(found) > 0.1 - 1e-9).all()
    assert ((found > -1e-9) & (found < 1 + 1e-9)).all()
    if len(wanted) > 1 and np.diff(wanted).min() >= 0.1:
        assert np.allclose(found, wanted)


def overview_of(title: str, lengths: dict[str, list[int]]) -> Any:
    parts = [
        pd.DataFrame({"method": name, "title": name, "x": x, "y": 0.1, "std": None, "dataset": "set"})
        for name, x in lengths.items()
    ]
    panel = {"xlabel": "x", "ylabel": "y", "xticks": [16, 32, 64], "chance": None}
    with matplotlib.rc_context(matplotlib_settings()):
        data = pd.concat(parts, ignore_index=True)
        figure = overview(Drawing("d", "overview", title, "alt", data, {"panels": {"set": panel}}))
        figure.draw_without_rendering()
    return figure


def test_a_title_stays_inside_a_figure_of_one_panel() -> None:
    title = "MAP@250 against the number of bits; profile quick, backbone mini-cnn, miniatures, settings as they ship"
    figure = overview_of(title, {"whole": [16, 64]})
    extent = figure._suptitle.get_window_extent()
    assert 0 <= extent.x0 < extent.x1 <= figure.bbox.width
    assert figure._suptitle.get_text().replace("\n", " ") == title


def test_a_line_that_ends_early_is_not_drawn_on_to_its_name() -> None:
    """The hair line to the name looked like a score that did not change."""
    figure = overview_of("T", {"whole": [16, 64], "short": [16, 32]})
    words = [text.get_text().strip() for text in figure.axes[0].texts]
    assert words == ["whole", "short (to 32)"]
    reach = {line.get_color(): line.get_xdata()[-1] for line in figure.axes[0].lines if len(line.get_xdata()) == 3}
    assert len(reach) == 1


def test_the_marks_of_a_chart_are_those_of_the_figures() -> None:
    assert mark_outline(Look("#000000", "s", ())) == "M-0.5 0.5L0.5 0.5L0.5 -0.5L-0.5 -0.5Z"
    for look in highlight().looks.values():
        assert re.fullmatch(r"(?:[MLQC][-+.e\d ]+|Z)+", mark_outline(look))


def test_a_legend_of_forty_names_leaves_room_for_the_axes(tmp_path: Path) -> None:
    """E: the legend was laid over the lines."""
    from benchmark.report.drawing import panel

    names = [f"A method of name {number}" for number in range(40)]
    parts = [lines("x").data.assign(method=name, title=name) for name in names]
    with matplotlib.rc_context(matplotlib_settings()):
        figure = panel(Drawing("d", "panel", "T", "alt", pd.concat(parts), {"xlabel": "x", "ylabel": "y"}))
        figure.draw_without_rendering()
    (axes,), (legend,) = figure.axes, figure.legends
    assert axes.get_window_extent().height / figure.dpi > 1
    assert legend.get_window_extent().y1 <= axes.get_window_extent().y0
    assert legend.get_window_extent().x0 >= 0


def test_pale_methods_have_no_entry_of_their_own(tmp_path: Path) -> None:
    from benchmark.report.drawing import panel

    parts = [lines("x").data.assign(method=name, title=name) for name in ("a", "b", "c")]
    drawing = Drawing("d", "panel", "T", "alt", pd.concat(parts), {"xlabel": "x", "ylabel": "y"}, faint=("b", "c"))
    (legend,) = panel(drawing).legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "2 others"]


def test_a_legend_keeps_the_order_of_methods_where_some_have_whiskers() -> None:
    """Methods with several seeds came after those with one."""
    from benchmark.report.drawing import panel

    spreads = {"a": 0.1, "b": None, "c": 0.1}
    parts = [lines("x").data.assign(method=name, title=name, std=std) for name, std in spreads.items()]
    data = pd.concat(parts, ignore_index=True)
    (legend,) = panel(Drawing("d", "panel", "T", "alt", data, {"xlabel": "x", "ylabel": "y"})).legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]
