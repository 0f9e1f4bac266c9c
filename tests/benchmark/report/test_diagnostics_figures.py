"""Costs, classes, training, t-SNE: what is drawn is what was recorded, and what was not recorded is not drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.report import diagnostics_figures
from benchmark.report.diagnostics_figures import (
    DIAGNOSTICS,
    ITEMS_PER_CLASS,
    class_names,
    classes_figure,
    cost_figure,
    embedding_figure,
    training_figure,
)
from benchmark.report.record_frame import record_frame
from benchmark.report.sheets import sheets
from benchmark.report.stored_arrays import StoredArrays


def shown(synthetic: Any) -> Any:
    records = list(synthetic.store.records())
    (sheet,) = sheets(record_frame(records))
    return sheet, sheet.datasets()[0], StoredArrays(synthetic.store, records)


def test_cost_is_the_mean_of_fit_and_encode(synthetic) -> None:
    for seed, fit in enumerate((1.0, 3.0)):
        synthetic.cell("itq", "nus-mini", 64, seed, seconds={"fit": fit, "encode": 0.5})
    made = cost_figure(*shown(synthetic))
    assert made is not None
    assert list(made.data["x"]) == pytest.approx([2.5])


def test_classes_of_like_frequency_are_averaged_together(synthetic) -> None:
    record = synthetic.cell("itq", "nus-mini", 64)
    sheet, column, stored = shown(synthetic)
    made = classes_figure(sheet, column, stored)
    assert made is not None
    single, bins = (made.data[made.data["part"] == part] for part in ("class", "bin"))
    np.testing.assert_allclose(single["y"], stored.of(record.key)["class_ap"])
    np.testing.assert_allclose(single["x"], np.linspace(5, 200, 12).astype(int))
    # Twelve classes of different frequency in six bins: neighbours in pairs.
    np.testing.assert_allclose(bins["y"], single["y"].to_numpy().reshape(6, 2).mean(1))
    np.testing.assert_allclose(bins["x"], np.sqrt(single["x"].to_numpy().reshape(6, 2).prod(1)))


def test_classes_of_one_frequency_stay_together() -> None:
    each = pd.DataFrame({"x": [7] * 4, "y": [0.0, 0.2, 0.4, 0.6]})
    found = diagnostics_figures._binned(each)
    assert list(found["x"]) == pytest.approx([7])
    assert list(found["y"]) == pytest.approx([0.3])


def test_the_training_is_that_of_the_first_seed_relative_to_its_first_loss(synthetic) -> None:
    for seed in (1, 0):
        training = {"step": [0, 5, 9], "loss": [2.0, 1.0, 0.5 + seed], "gradient_norm": [3.0, 2.0, 1.0]}
        synthetic.cell("dph", "nus-mini", 64, seed, training=training)
    made = training_figure(*shown(synthetic))
    assert made is not None
    assert list(made.data["x"]) == [0, 5, 9]
    assert list(made.data["loss"]) == [1.0, 0.5, 0.25]
    assert list(made.data["gradient_norm"]) == [3.0, 2.0, 1.0]


def test_a_long_training_is_thinned_but_keeps_its_ends(synthetic) -> None:
    training = {"step": list(range(5000)), "loss": np.linspace(1, 0.1, 5000).tolist()}
    synthetic.cell("dph", "nus-mini", 64, training=training)
    made = training_figure(*shown(synthetic))
    assert made is not None
    assert len(made.data) == diagnostics_figures.STEPS_SHOWN
    assert (made.data["x"].iloc[0], made.data["x"].iloc[-1]) == (0, 4999)
    assert made.data["gradient_norm"].isna().all()


def test_what_was_not_recorded_is_not_drawn(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 64, seconds={})
    sheet, column, _ = shown(synthetic)
    empty = StoredArrays(type("Empty", (), {})(), list(synthetic.store.records()))
    empty.dataset = lambda revision: {}  # type: ignore[method-assign]
    empty.of = lambda key: {}  # type: ignore[method-assign]
    assert {name: make(sheet, column, empty) for name, make in DIAGNOSTICS.items()} == dict.fromkeys(DIAGNOSTICS)


def test_codes_shown_are_those_of_items_with_exactly_one_of_ten_classes(synthetic) -> None:
    record = synthetic.cell("itq", "nus-mini", 64)
    sheet, column, stored = shown(synthetic)
    made = embedding_figure(sheet, column, stored)
    assert made is not None
    labels, codes = (stored.labels(record.revision) or ())[1], (stored.codes(record.key) or ())[1]
    items, of_class = diagnostics_figures._items_of_ten_classes(labels, record.revision)
    assert len(set(of_class)) == 10
    assert max(np.bincount(of_class)) <= ITEMS_PER_CLASS
    assert all(labels[item, number] for item, number in zip(items, of_class, strict=True))
    np.testing.assert_array_equal(made.options["codes"]["ITQ"], codes[items])
    assert made.options["class"] == [f"class {number}" for number in of_class]


def test_items_with_two_of_the_chosen_classes_are_left_out() -> None:
    labels = np.eye(10, dtype=bool).repeat(5, axis=0)
    labels[0, 9] = True
    items, _ = diagnostics_figures._items_of_ten_classes(labels, "r")
    assert set(items) == set(range(1, 50))


@pytest.mark.parametrize(
    ("names", "expected"),
    [(None, ["class 0", "class 1"]), (["a"], ["class 0", "class 1"]), (["a", ""], ["a", "class 1"])],
)
def test_classes_without_a_name_go_by_number(synthetic, names: Any, expected: list[str]) -> None:
    stored = StoredArrays(synthetic.store, [])
    stored._datasets["r"] = {} if names is None else {"class_names": np.array(names)}
    assert class_names(stored, "r", 2) == expected
