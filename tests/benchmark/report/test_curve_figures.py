"""Curves: the points are means of the records and of the stored arrays, of every method and length there is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from benchmark.report.curve_figures import (
    against_bits,
    along,
    dataset_curves,
    explorer_charts,
    overview_figure,
    three_panels,
)
from benchmark.report.record_frame import record_frame
from benchmark.report.sheets import sheets
from benchmark.report.stored_arrays import StoredArrays


@pytest.fixture
def shown(synthetic) -> Any:
    """Two methods, two lengths, two seeds, and a failure: sheet, data set, arrays."""
    for method in ("itq", "lsh"):
        for bits in (16, 64):
            for seed in range(2):
                synthetic.cell(method, "nus-mini", bits, seed)
    error = {"kind": "E", "message": "m", "traceback": ""}
    synthetic.cell("ksh", "nus-mini", 64, status="failed", error=error, metrics={})
    records = list(synthetic.store.records())
    (sheet,) = sheets(record_frame(records))
    return sheet, sheet.datasets()[0], StoredArrays(synthetic.store, records)


def test_a_point_is_the_mean_over_seeds_and_has_their_spread(shown: Any) -> None:
    sheet, _, stored = shown
    data = against_bits(sheet.cells, "map")
    assert list(zip(data["method"], data["x"], strict=True)) == [
        ("itq", 16), ("itq", 64), ("lsh", 16), ("lsh", 64)
    ]  # fmt: skip
    for row in data.itertuples():
        own = [
            record.metrics["map"] for record in stored.records.values()
            if record.ok and (record.cell["method"], record.cell["bits"]) == (row.method, row.x)
        ]  # fmt: skip
        assert row.y == pytest.approx(np.mean(own))
        assert row.std == pytest.approx(np.std(own, ddof=1))
    assert against_bits(sheet.cells, "no such score").empty


def test_a_curve_is_the_mean_of_the_stored_ones(shown: Any) -> None:
    sheet, _, stored = shown
    at = sheet.cells[sheet.cells["bits"] == 64]
    data = along(at, stored, "recall", "precision")
    for method in ("itq", "lsh"):
        keys = at[(at["method"] == method)]["key"]
        expected = np.mean([stored.of(key)["precision"] for key in keys], axis=0)
        np.testing.assert_allclose(data[data["method"] == method]["y"].astype(float), expected)
    assert along(at, stored, "recall", "n").empty  # of different lengths


def test_precision_within_the_radius_never_stands_without_its_empty_balls(shown: Any) -> None:
    data, _ = three_panels(*shown)["radius"]
    assert (data["empty_ball_share"] == 0.3).all()
    assert len(data) == 4


def test_a_data_set_has_three_panels_a_strip_and_its_map(shown: Any) -> None:
    drawings = dataset_curves(*shown)
    assert [one.name.split("-nus")[0] for one in drawings] == ["radius", "recall", "top-n", "strip", "map"]
    assert len({one.title for one in drawings}) == 5
    for one in drawings:
        assert one.alt.endswith("One line per method: ITQ, LSH.")
    strip = drawings[3]
    assert [len(strip.data[strip.data["panel"] == name]) for name in ("radius", "recall", "top-n")] == [
        len(one.data) for one in drawings[:3]
    ]
    assert drawings[-1].options["chance"] == 0.09


def test_without_payloads_there_are_points_but_no_curves(synthetic) -> None:
    record = synthetic.cell("itq", "nus-mini", 16)
    (sheet,) = sheets(record_frame([record]))
    stored = StoredArrays(synthetic.store, [])
    names = [one.name.split("-nus")[0] for one in dataset_curves(sheet, sheet.datasets()[0], stored)]
    assert names == ["radius", "map"]


def test_the_explorer_has_every_length_and_plain_values(shown: Any) -> None:
    charts = explorer_charts(*shown)
    assert json.loads(json.dumps(charts)) == charts
    assert [(chart["kind"], chart["bits"]) for chart in charts[3:]] == [
        (kind, bits) for bits in (16, 64) for kind in ("Precision-recall", "P@N")
    ]
    assert all([one["method"] for one in chart["series"]] == ["itq", "lsh"] for chart in charts)


@pytest.mark.parametrize("seeds", [1, 2])
def test_whiskers_and_means_are_explained_where_there_are_several_seeds(synthetic, seeds: int) -> None:
    synthetic.grid(bits=(16, 32), seeds=seeds)
    records = list(synthetic.store.records())
    (sheet,) = sheets(record_frame(records))
    drawings = dataset_curves(sheet, sheet.datasets()[0], StoredArrays(synthetic.store, records))
    notes = {drawing.name.partition("-")[0]: drawing.note for drawing in drawings}
    whiskers = "Means over seeds; whiskers: one standard deviation (n − 1)."
    assert {notes[name] for name in ("map", "radius", "strip")} == ({whiskers} if seeds > 1 else {""})
    assert notes["recall"] == ("Means over seeds." if seeds > 1 else "")


def test_the_opening_picture_says_that_it_has_no_controls(synthetic) -> None:
    synthetic.grid(bits=(16,))
    (sheet,) = sheets(record_frame(synthetic.store.records()))
    assert "controls" not in overview_figure(sheet)[0].note
    synthetic.cell("best", "nus-mini", 16, family="control")
    (sheet,) = sheets(record_frame(synthetic.store.records()))
    assert overview_figure(sheet)[0].note.endswith("Without the controls.")
