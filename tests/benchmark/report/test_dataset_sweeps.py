"""Data sets at several values of a parameter: found by their words, the base kept apart from its variations."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark.report.dataset_sweeps import DEFAULT, dataset_sweeps, default_option, value_words, variations
from benchmark.report.record_frame import record_frame
from benchmark.report.sheets import main_sheet, sheets


def varied(synthetic: Any, method: str = "itq", dataset: str = "imagenet-mini", sizes: Any = None, **options: Any):
    """A cell on a data set that was asked for with these options."""
    told = ", ".join(f"{name} {value}" for name, value in options.items())
    audit = synthetic.audit()
    if sizes:
        audit["parts"]["train"] |= {"class_counts": sizes, "rows": sum(sizes)}
    more: dict[str, Any] = {"asked": {"dataset": dataset, "options": options}, "audit": audit}
    if told:
        more |= {"revision": f"rev {told}", "protocol": told, "titles": {"method": method, "dataset": f"Mini, {told}"}}
    return synthetic.cell(method, dataset, 16, **more)


def frame(synthetic: Any):
    return record_frame(synthetic.store.records())


def test_values_stand_in_the_order_of_the_skew_they_make(synthetic) -> None:
    varied(synthetic, sizes=[100, 1])
    varied(synthetic, imbalance="balanced", sizes=[5, 5])
    varied(synthetic, imbalance="exponential:10", sizes=[10, 1])
    (found,) = dataset_sweeps(frame(synthetic))
    assert (found.dataset, found.parameter, found.numeric) == ("imagenet-mini", "imbalance", False)
    assert list(found.values) == ["balanced", "exponential:10", "paper"]  # the last is what it is by default
    assert found.base == "ImageNet-mini (miniature)"


def test_numbers_stand_by_size_and_words_as_they_were_run(synthetic) -> None:
    for value in (50, 5):
        varied(synthetic, dataset="mine", width=value)
        varied(synthetic, dataset="other", kind=f"k{value}")
    varied(synthetic, dataset="mine")
    varied(synthetic, dataset="other")
    kind, width = sorted(dataset_sweeps(frame(synthetic)), key=lambda one: one.parameter)
    assert list(kind.values) == ["k50", "k5", DEFAULT]
    assert not width.numeric  # what it is by default is not known of a data set that is not at hand
    assert list(width.values) == ["50", "5", DEFAULT]


def test_a_number_is_a_number_where_the_default_is_known(synthetic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark.report.dataset_sweeps.default_option", lambda *_: 7)
    for value in (50, 5):
        varied(synthetic, dataset="mine", width=value)
    varied(synthetic, dataset="mine")
    (width,) = dataset_sweeps(frame(synthetic))
    assert width.numeric
    assert list(width.values) == ["5", "7", "50"]


def test_variations_weigh_in_no_ordinary_table(synthetic) -> None:
    varied(synthetic)
    varied(synthetic, imbalance="balanced")
    varied(synthetic, dataset="nus-mini")
    (sheet,) = sheets(frame(synthetic))
    assert variations(sheet.cells) == {"Mini, imbalance balanced (miniature)"}
    shown = {one.label for one in main_sheet(sheet).datasets()}
    assert shown == {"ImageNet-mini (miniature)", "NUS-WIDE-mini (miniature)"}


@pytest.mark.parametrize(
    "options",
    [
        [{"imbalance": "balanced"}],  # the only one there is
        [{"imbalance": "balanced"}, {"imbalance": "groups"}],  # no base
        [{}, {"imbalance": "balanced", "width": 5}],  # two at once
        [{}, {"imbalance": "paper"}],  # one value in two spellings
    ],
)
def test_what_is_no_sweep_stays_in_the_tables(synthetic, options: list[dict[str, Any]]) -> None:
    for one in options:
        varied(synthetic, **one)
    assert variations(frame(synthetic)) == set()


def test_a_value_of_two_contents_is_no_point_of_a_line(synthetic) -> None:
    varied(synthetic)
    varied(synthetic, imbalance="balanced")
    more = {"asked": {"dataset": "imagenet-mini", "options": {"imbalance": "balanced"}}, "protocol": "p"}
    synthetic.cell("itq", "imagenet-mini", 16, revision="other", **more)
    assert dataset_sweeps(frame(synthetic)) == []


def test_what_data_sets_are_by_default() -> None:
    assert default_option("imagenet-mini", "imagenet", "imbalance") == "paper"
    assert default_option("feats", "features:/a/feats.npz", "rows") is None
    assert default_option("nobody", "nobody", "imbalance") is None
    assert [value_words(one) for one in (None, "a\nb", 0.5, True)] == [DEFAULT, "a b", "0.5", "true"]
