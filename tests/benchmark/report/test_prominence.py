"""Crowded figures: who has a name, who is pale, and that the note says so."""

from __future__ import annotations

import pandas as pd

from benchmark.report.curve_figures import overview_figure
from benchmark.report.drawing import Drawing
from benchmark.report.looks import assigned_looks
from benchmark.report.prominence import NAMED, best_ranked, dressed, unnamed, with_names
from benchmark.report.record_frame import record_frame
from benchmark.report.sheets import Sheet, sheets


def sheet_of(synthetic, count: int, highlight: tuple[str, ...] = ()) -> Sheet:
    for number in range(count):
        synthetic.cell(f"m{number:02}", "nus-mini", 16, quality=0.9 - 0.02 * number, titles={"method": f"M{number}"})
    synthetic.cell("random", "nus-mini", 16, quality=0.1, family="control", titles={"method": "Random"})
    (sheet,) = sheets(record_frame(list(synthetic.store.records())), highlight)
    return sheet


def strip(sheet: Sheet) -> Drawing:
    names = list(dict.fromkeys(sheet.cells["method"]))
    return Drawing("strip-x", "strip", "t", "a", pd.DataFrame({"method": names, "title": names, "x": 1.0, "y": 0.5}))


def test_few_methods_all_have_names(synthetic) -> None:
    sheet = sheet_of(synthetic, NAMED)
    (drawing,) = dressed([strip(sheet)], sheet, {})
    assert (drawing.faint, drawing.note, unnamed(sheet)) == ((), "", set())


def test_of_many_the_best_the_highlighted_and_the_controls_have_names(synthetic) -> None:
    sheet = sheet_of(synthetic, 20, ("m19",))
    maps = sheet.cells.set_index("method")["map"].drop("random").sort_values(ascending=False)
    assert best_ranked(sheet.cells) == list(maps.index)
    best = [name for name in maps.index if name != "m19"]
    named = with_names(sheet)
    assert named == ["m19", *best[: NAMED - 1], "random"]
    (drawing,) = dressed(overview_figure(sheet), sheet, assigned_looks(dict.fromkeys(named, "")))
    assert set(drawing.faint) == unnamed(sheet) == set(best[NAMED - 1 :])
    assert all(f"M{int(name[1:])}" in drawing.note.partition("pale: ")[2] for name in drawing.faint)
    assert "and controls" not in drawing.note  # there are none in this figure
    assert drawing.front == ("m19",)
    assert set(drawing.looks) <= set(named)


def test_a_strip_shows_whom_it_was_asked_to(synthetic) -> None:
    sheet = sheet_of(synthetic, 4, ("m03",))
    (drawing,) = dressed([strip(sheet)], sheet, {})
    assert set(drawing.faint) == {"m00", "m01", "m02", "random"}
    assert drawing.note.startswith("Highlighted by request; pale: M0, M1, M2 and Random.")


def test_who_leads_anywhere_has_a_name_whatever_its_rank(synthetic) -> None:
    for dataset in ("nus-mini", "coco-mini"):
        for number in range(20):
            quality = 0.95 if (number, dataset) == (19, "coco-mini") else 0.9 - 0.02 * number
            synthetic.cell(f"m{number:02}", dataset, 16, quality=quality)
    (sheet,) = sheets(record_frame(list(synthetic.store.records())))
    first = sheet.cells.loc[sheet.cells.groupby("dataset_label")["map"].idxmax(), "method"]
    assert "m19" in set(first)
    assert set(first) <= set(with_names(sheet))
