"""Which records count and what they are called: never by time, never two data sets under one name (A2)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from benchmark.report import render
from benchmark.report.record_frame import readable_rows, record_frame

MINI = "NUS-WIDE-mini (miniature)"


def table_of(out: Path, name: str = "map-quick-mini-cnn") -> dict[str, dict[str, str]]:
    """Method -> column -> entry."""
    with (out / "tables" / f"{name}.csv").open(encoding="utf-8") as handle:
        return {row["Method"]: row for row in csv.DictReader(handle)}


def own_file(synthetic: Any, folder: str, method: str = "itq", **changes: Any) -> Any:
    """A cell on somebody's features:FOLDER/feats.npz, which is called `feats` wherever it lies."""
    return synthetic.cell(
        method,
        "feats",
        16,
        revision=changes.pop("revision", f"{folder}0000000"),
        asked={"dataset": f"features:/home/me/{folder}/feats.npz"},
        protocol="as given",
        backbone=None,
        **changes,
    )


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a"), ("a", "b", "a")])
def test_two_data_sets_of_one_name_keep_their_own_numbers(synthetic, undrawn, tmp_path: Path, order) -> None:
    """A2: run a/feats.npz, then b/feats.npz, in any order: each number stands under its own label."""
    made = {folder: own_file(synthetic, folder) for folder in dict.fromkeys(order)}
    render(synthetic.store, tmp_path)
    row = table_of(tmp_path, "map-quick-features")["ITQ"]
    for folder, record in made.items():
        assert float(row[f"{folder}/feats 16 bits"]) == record.metrics["map"]
    figures = [path.name for path in (tmp_path / "figures").glob("radius-*.pdf")]
    assert sorted(figures) == ["radius-a-feats-quick-features.pdf", "radius-b-feats-quick-features.pdf"]


def test_one_data_set_whose_name_is_its_own_needs_no_path(synthetic, undrawn, tmp_path: Path) -> None:
    own_file(synthetic, "a")
    stale = own_file(synthetic, "b")
    render(synthetic.store, tmp_path, stale={stale.key})
    assert "feats 16 bits" in table_of(tmp_path, "map-quick-features")["ITQ"]


def test_one_file_with_two_contents_is_told_apart_by_revision(synthetic, undrawn, tmp_path: Path) -> None:
    """A2: same words, two revisions, neither stale."""
    one, two = (own_file(synthetic, "a", revision=revision) for revision in ("1234567890", "abcdef7890"))
    render(synthetic.store, tmp_path)
    row = table_of(tmp_path, "map-quick-features")["ITQ"]
    assert float(row["feats, 123456 16 bits"]) == one.metrics["map"]
    assert float(row["feats, abcdef 16 bits"]) == two.metrics["map"]


def test_another_cutoff_is_another_column(synthetic, undrawn, tmp_path: Path) -> None:
    """A2: MAP@20 and MAP@50 of one split."""
    made = {k: synthetic.cell("itq", "nus-mini", 16, cutoff=k) for k in (20, 50)}
    render(synthetic.store, tmp_path)
    row = table_of(tmp_path)["ITQ"]
    for k, record in made.items():
        assert float(row[f"{MINI}, MAP@{k} 16 bits"]) == record.metrics["map"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"parts": {"weights": "other"}, "asked": {"weights": "/home/me/mine.pth"}}, "weights mine.pth"),
        ({"parts": {"profile": {"steps": 9}}}, "profile content"),
        ({"parts": {"evaluator": 99}}, "evaluator 99"),
    ],
)
def test_other_weights_or_profile_content_are_other_sheets(synthetic, changed, words, undrawn, tmp_path: Path) -> None:
    """A2: what the names do not say is said, and the numbers stay apart."""
    one, two = synthetic.cell("itq", "nus-mini", 16), synthetic.cell("itq", "nus-mini", 16, **changed)
    render(synthetic.store, tmp_path)
    tables = [table_of(tmp_path, path.stem) for path in (tmp_path / "tables").glob("map-quick-mini-cnn*.csv")]
    assert sorted(float(table["ITQ"][f"{MINI} 16 bits"]) for table in tables) == sorted(
        record.metrics["map"] for record in (one, two)
    )
    assert words in (tmp_path / "index.html").read_text()


def test_a_method_edited_and_reverted_shows_the_result_of_its_present_code(synthetic, undrawn, tmp_path: Path) -> None:
    """A2: the present key is the first one again; the one made in between is newer and does not count."""
    first = synthetic.cell("itq", "nus-mini", 16)
    between = synthetic.cell("itq", "nus-mini", 16, parts={"sources": {"method": "edited"}}, quality=0.9)
    index = render(synthetic.store, tmp_path, stale={between.key})
    assert float(table_of(tmp_path)["ITQ"][f"{MINI} 16 bits"]) == first.metrics["map"]
    assert "Stale results" in index.read_text()


def test_a_record_from_the_future_counts_no_more_than_others(synthetic, undrawn, tmp_path: Path) -> None:
    """A2: a wrong clock decides nothing."""
    first = synthetic.cell("itq", "nus-mini", 16)
    ended = {"ended": "2999-01-01T00:00:00", "versions": {}, "machine": {}}
    future = synthetic.cell("itq", "nus-mini", 16, parts={"sources": {"method": "x"}}, provenance=ended)
    render(synthetic.store, tmp_path, stale={future.key})
    assert float(table_of(tmp_path)["ITQ"][f"{MINI} 16 bits"]) == first.metrics["map"]


def test_of_two_results_that_nothing_tells_apart_neither_is_shown(synthetic, undrawn, tmp_path: Path) -> None:
    """A2: other code of a method that is not registered any more, and nobody knows which is meant."""
    for code in ("one", "two"):
        synthetic.cell("gone", "nus-mini", 16, parts={"sources": {"method": code}})
    synthetic.cell("itq", "nus-mini", 16)
    render(synthetic.store, tmp_path)
    row = table_of(tmp_path)["gone"]
    assert row[f"{MINI} 16 bits"] == ""
    assert "unclear: 2 results were made by different code" in row["notes"]


def test_cells_of_one_method_by_two_versions_of_its_code_are_said_to_be_so(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 32, parts={"sources": {"method": "newer"}})
    html = render(synthetic.store, tmp_path).read_text()
    assert "Cells of ITQ were made by different versions of the method&#39;s code." in html


def test_sources_that_one_cell_has_more_of_are_no_other_code(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 32, parts={"sources": {"method": "s", "features": "f"}})
    assert "different versions" not in render(synthetic.store, tmp_path).read_text()


def test_stale_results_of_other_data_make_no_column(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    old = synthetic.cell("itq", "nus-mini", 32, revision="before")
    render(synthetic.store, tmp_path, stale={old.key})
    assert [key for key in table_of(tmp_path)["ITQ"] if "bits" in key] == [f"{MINI} 16 bits"]


def test_real_data_and_miniatures_of_one_backbone_have_files_of_their_own(synthetic, undrawn, tmp_path: Path) -> None:
    """Relative of A2: the second table was written over the first."""
    small = synthetic.cell("itq", "nus-mini", 16, backbone="alexnet")
    real = synthetic.cell("itq", "nus", 16, backbone="alexnet")
    render(synthetic.store, tmp_path)
    assert float(table_of(tmp_path, "map-quick-alexnet")["ITQ"]["nus 16 bits"]) == real.metrics["map"]
    mini = table_of(tmp_path, "map-quick-alexnet-miniature")["ITQ"]
    assert float(mini[f"{MINI} 16 bits"]) == small.metrics["map"]


def test_two_tunings_of_one_cell_are_not_averaged_as_seeds(synthetic) -> None:
    """Relative of A2: `tuned` is in no name."""
    for rate in (0.1, 0.2):
        made = synthetic.cell("itq", "nus-mini", 16)
        made.cell["tuned"] = {"learning_rate": rate}
        synthetic.store.commit(made, None)
    table = record_frame(synthetic.store.records())
    assert list(table["status"]) == ["unclear"] * 2
    assert "tuned" in table["reason"].iloc[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"metrics": {"map": 0.5, "k": 100, "chance_map": "much"}}, "chance_map"),
        ({"seconds": {"fit": "long"}}, "seconds_fit"),
        ({"titles": ["a", "list"]}, "its titles is"),
        ({"provenance": "nowhere"}, "its provenance is"),
        ({"health": {"bit_balance": [1, 2]}}, "health_bit_balance"),
    ],
)
def test_an_odd_record_is_named_and_costs_itself_only(synthetic, undrawn, tmp_path: Path, changes, words) -> None:
    """E: one record never kills the report."""
    good = synthetic.cell("itq", "nus-mini", 16)
    odd = synthetic.cell("lsh", "nus-mini", 16, **changes)
    html = render(synthetic.store, tmp_path).read_text()
    assert f"record {odd.key}" in html
    assert words in html
    assert float(table_of(tmp_path)["ITQ"][f"{MINI} 16 bits"]) == good.metrics["map"]


@pytest.mark.parametrize(
    "changes",
    [
        {"parts": {"sources": ["a", "list"]}},
        {"parts": {"sources": "text", "profile": 3, "weights": {"a": [1]}, "evaluator": None}},
        {"audit": {"parts": ["odd"], "groups": 7}},
        {"training": {"loss": ["x", "y"], "step": 5}},
        {"family": None, "titles": {}, "asked": {"dataset": 7, "weights": []}},
        {"metrics": {"map": 0.5, "map_groups": {"head": None}}},
    ],
)
def test_what_a_report_can_do_without_kills_nothing(synthetic, undrawn, tmp_path: Path, changes) -> None:
    """E: the other record's number stands, whatever the odd one says of itself."""
    good = synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("lsh", "nus-mini", 16, **changes)
    render(synthetic.store, tmp_path)
    shown = [table_of(tmp_path, path.stem) for path in (tmp_path / "tables").glob("map-quick-*.csv")]
    numbers = [entry for table in shown for entry in table.get("ITQ", {}).values()]
    assert str(good.metrics["map"]) in numbers


def test_a_damaged_record_is_named(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    bad = synthetic.cell("lsh", "nus-mini", 16)
    (synthetic.store.cells / f"{bad.key}.json").write_text("{}")
    html = render(synthetic.store, tmp_path).read_text()
    assert f"record {bad.key}" in html
    assert "does not match its digest" in html


def test_history_can_be_shown() -> None:
    from benchmark.execution.store import Store

    for folder in sorted((Path(__file__).parents[2] / "history").iterdir()):
        records = list(Store(folder).records())
        assert records
        rows, faults = readable_rows(records)
        assert len(rows) == len(records)
        assert faults == {}
