"""Sweeps: MAP against the values of one parameter, the default among them, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmark.registry import get_method
from benchmark.report.record_frame import record_frame
from benchmark.report.sensitivity_figures import dataset_figures, default_value, sensitivity_figures
from benchmark.report.sheets import defaults, sheets
from benchmark.report.stored_arrays import StoredArrays


def drawings_of(synthetic: Any) -> list[Any]:
    (sheet,) = sheets(record_frame(synthetic.store.records()))
    return sensitivity_figures(sheet)


def test_points_are_means_over_seeds_in_order_with_the_default_among_them(synthetic) -> None:
    default = get_method("dph").info.parameters["gamma"]
    scores: dict[float, list[float]] = {}
    for value in (default + 5, default, default + 1):
        for seed in range(2):
            params = {} if value == default else {"gamma": value}
            record = synthetic.cell("dph", "nus-mini", 64, seed, params=params)
            scores.setdefault(float(value), []).append(record.metrics["map"])
    (only,) = drawings_of(synthetic)
    assert list(only.data["x"]) == sorted(scores)
    assert list(only.data["y"]) == pytest.approx([np.mean(scores[x]) for x in sorted(scores)])
    assert list(only.data["std"]) == pytest.approx([np.std(scores[x], ddof=1) for x in sorted(scores)])
    assert list(only.data["in_use"]) == [True, False, False]
    assert only.options["xlabel"] == "γ"


def test_the_value_in_use_is_the_tuned_one_and_no_point_is_of_a_value_that_nothing_was_trained_with(synthetic) -> None:
    """The plain cell, tuned to 1, was drawn at the default of 0.1 beside the same cell swept at 1."""
    plain = synthetic.cell("dph", "nus-mini", 64, tuned={"inv_epsilon": 1.0, "gamma": 2})
    for value in (0.01, 1.0):
        synthetic.cell("dph", "nus-mini", 64, params={"inv_epsilon": value}, tuned={"gamma": 2})
    (only,) = drawings_of(synthetic)
    assert list(only.data["x"]) == [0.01, 1.0]
    assert list(only.data["in_use"]) == [False, True]
    assert plain.cell["tuned"]
    assert "Circled" in only.note


def test_a_value_in_use_that_was_not_swept_is_a_point_of_its_own(synthetic) -> None:
    synthetic.cell("dph", "nus-mini", 64, tuned={"inv_epsilon": 0.5})
    for value in (0.01, 1.0):
        synthetic.cell("dph", "nus-mini", 64, params={"inv_epsilon": value})
    (only,) = drawings_of(synthetic)
    assert dict(zip(only.data["x"], only.data["in_use"], strict=True)) == {0.01: False, 0.5: True, 1.0: False}


@pytest.mark.parametrize(
    "params",
    [
        [{"gamma": 2}],  # one value is no sweep where the default is not there
        [{"gamma": 2, "beta": 1}, {"gamma": 3, "beta": 1}],  # two at once
        [{"gamma": "a"}, {"gamma": "b"}],
        [{"gamma": True}, {"gamma": False}],
        [{"gamma": 1e200}, {"gamma": 2e200}],
    ],
)
def test_what_is_no_sweep_of_one_number_makes_no_figure(synthetic, params: list[dict[str, Any]]) -> None:
    for one in params:
        synthetic.cell("dph", "nus-mini", 64, params=one)
    assert drawings_of(synthetic) == []


def test_every_data_set_is_a_line_and_every_parameter_a_figure(synthetic) -> None:
    for dataset in ("nus-mini", "imagenet-mini"):
        for value in (1, 100):
            synthetic.cell("dph", dataset, 64, params={"gamma": value})
            synthetic.cell("own", dataset, 64, params={"some_width": value + 1})
    gamma, width = drawings_of(synthetic)
    assert gamma.data["dataset"].nunique() == width.data["dataset"].nunique() == 2
    assert gamma.options["log"]
    assert width.options["xlabel"] == "some width"
    assert width.name != gamma.name
    assert not width.data["in_use"].any()


def test_a_method_that_is_not_at_hand_has_no_default() -> None:
    assert default_value("nobody", "gamma") is None
    assert default_value("dph", "nothing") is None
    assert default_value("dph", "gamma") == float(get_method("dph").info.parameters["gamma"])


# --- of data sets ------------------------------------------------------------------------------------------


def on_variation(synthetic: Any, method: str, bits: int, value: str = "", **changes: Any) -> float:
    options = {"imbalance": value} if value else {}
    counts = {"": [30, 3], "balanced": [11, 11]}[value]
    audit = synthetic.audit()
    audit["parts"]["train"] |= {"class_counts": counts, "rows": sum(counts)}
    more = {"revision": f"rev {value}", "protocol": f"imbalance {value}"} if value else {}
    asked = {"dataset": "imagenet", "options": options}
    record = synthetic.cell(method, "imagenet-mini", bits, asked=asked, audit=audit, **more, **changes)
    return float(record.metrics["map"])


def data_drawings(synthetic: Any) -> list[Any]:
    (sheet,) = sheets(record_frame(synthetic.store.records()))
    stored = StoredArrays(synthetic.store, list(synthetic.store.records()))
    return dataset_figures(defaults(sheet), stored)


def test_a_swept_data_set_is_a_line_per_method_and_a_panel_per_length(synthetic) -> None:
    scores: dict[tuple[Any, ...], list[float]] = {}
    for bits in (16, 32):
        for method in ("itq", "dph"):
            for value in ("", "balanced"):
                for seed in range(2):
                    made = on_variation(synthetic, method, bits, value, seed=seed)
                    scores.setdefault((bits, method, value or "paper"), []).append(made)
    only, _ = data_drawings(synthetic)
    assert only.kind == "swept_data"
    assert only.options["ticks"] == ["balanced", "paper"]
    rows = {(row.bits, row.method, row.value): row for row in only.data.itertuples()}
    assert set(rows) == set(scores)
    for key, row in rows.items():
        assert row.y == pytest.approx(np.mean(scores[key]))
        assert row.std == pytest.approx(np.std(scores[key], ddof=1))
        assert row.x == ["balanced", "paper"].index(key[2])
    assert "against imbalance of ImageNet-mini (miniature" in only.title
    assert "@ 16 and 32 bits" in only.title


def test_the_note_tells_skew_and_settings_of_each_value(synthetic) -> None:
    on_variation(synthetic, "itq", 16)
    on_variation(synthetic, "itq", 16, "balanced", settings="defaults")
    (only,) = data_drawings(synthetic)
    assert "balanced 11:11 of 22; paper 30:3 of 33" in only.note
    assert "as shipped (paper)" in only.note
    assert "not tuned for this data (balanced)" in only.note


def test_failed_variations_and_changed_methods_draw_no_line(synthetic) -> None:
    on_variation(synthetic, "itq", 16)
    on_variation(synthetic, "itq", 16, "balanced", status="failed", error={"message": "x"})
    assert data_drawings(synthetic) == []


def test_the_gain_of_the_pair_is_a_line_per_length_with_its_interval(synthetic) -> None:
    """Against the difference of per-query APs, computed the slow way, and only where both were run."""
    for bits in (16, 32):
        for method in ("itq", "hashnet", "dph"):
            for value in ("", "balanced"):
                for seed in range(3):
                    if (method, bits, value) != ("hashnet", 32, ""):
                        on_variation(synthetic, method, bits, value, seed=seed)
    _, gain = data_drawings(synthetic)
    assert gain.kind == "gain"
    assert "DPH above HashNet" in gain.title
    assert "95 % intervals of the difference, over queries and seeds" in gain.note
    assert list(zip(gain.data["bits"], gain.data["value"], strict=True)) == [
        (16, "balanced"),
        (16, "paper"),
        (32, "balanced"),
    ]
    assert gain.options["ticks"] == ["balanced", "paper"]
    records = list(synthetic.store.records())
    for row in gain.data.itertuples():
        scores = {}
        for method in ("dph", "hashnet"):
            scores[method] = [
                synthetic.store.payload(record)["ap"]
                for record in records
                if record.cell["method"] == method
                and record.cell["bits"] == row.bits
                and ("balanced" in record.cell["protocol"]) == (row.value == "balanced")
            ]
        assert len(scores["dph"]) == len(scores["hashnet"]) == 3
        assert row.y == pytest.approx(np.mean(scores["dph"]) - np.mean(scores["hashnet"]))
        assert row.low < row.y < row.high
        assert row.high - row.y == pytest.approx(row.y - row.low)


def test_one_seed_has_an_interval_over_queries_and_one_value_no_gain(synthetic) -> None:
    for method in ("hashnet", "dph"):
        for value in ("", "balanced"):
            on_variation(synthetic, method, 16, value)
    on_variation(synthetic, "dph", 32, "")
    _, gain = data_drawings(synthetic)
    assert "over queries." in gain.note
    assert set(gain.data["bits"]) == {16}


def test_without_a_rival_there_is_no_gain(synthetic) -> None:
    for value in ("", "balanced"):
        on_variation(synthetic, "dph", 16, value)
    on_variation(synthetic, "hashnet", 16)
    assert [drawing.kind for drawing in data_drawings(synthetic)] == ["swept_data"]
