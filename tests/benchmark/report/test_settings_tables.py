"""Settings: what cells were run with is told, and what was given by hand is shown beside what was not."""

from __future__ import annotations

from pathlib import Path

from benchmark.report import render
from benchmark.report.record_frame import record_frame
from benchmark.report.settings_tables import settings_tables
from benchmark.report.sheets import sheets
from benchmark.report.stored_arrays import StoredArrays
from benchmark.report.table import Table


def tables_of(synthetic) -> dict[str, Table]:
    records = list(synthetic.store.records())
    (sheet,) = sheets(record_frame(records))
    made = settings_tables(sheet, StoredArrays(synthetic.store, records))
    return {table.name.removesuffix("-quick-mini-cnn"): table for table in made}


def rows_of(table: Table) -> list[list[str]]:
    return [[entry.text for entry in row] for row in table.rows]


def test_every_cell_tells_what_it_was_run_with(synthetic) -> None:
    synthetic.cell("dph", "nus-mini", 16, tuned={"gamma": 0.5, "learning_rate": 0.01})
    synthetic.cell("dph", "nus-mini", 32)
    synthetic.cell("itq", "nus-mini", 32, params={"iterations": 7})
    synthetic.cell("lsh", "nus-mini", 32)
    (table,) = tables_of(synthetic).values()
    assert rows_of(table) == [
        ["DPH", "NUS-WIDE-mini (miniature)", "gamma 0.5, learning_rate 0.01", "defaults"],
        ["ITQ (iterations=7)", "NUS-WIDE-mini (miniature)", "–", "iterations 7"],
    ]
    assert table.broad  # no paper is wide enough


def test_where_all_run_by_their_defaults_there_is_nothing_to_tell(synthetic) -> None:
    assert tables_of(synthetic.grid(bits=(16,))) == {}


def test_seeds_that_were_run_with_different_settings_tell_all_of_them(synthetic) -> None:
    for seed, gamma in enumerate((0.5, 1, 1)):
        synthetic.cell("dph", "nus-mini", 16, seed, tuned={"gamma": gamma})
    assert rows_of(tables_of(synthetic)["settings"])[0][2] == "gamma 0.5; gamma 1"


def test_what_was_given_by_hand_stands_beside_what_was_not(synthetic) -> None:
    """Results of --set were in no table, not even in the report of their own run."""
    plain = synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 32)  # a length without a setting by hand has no column
    given = synthetic.cell("itq", "nus-mini", 16, params={"iterations": 2})
    synthetic.cell("dph", "nus-mini", 16)
    table = tables_of(synthetic)["given-itq"]
    assert [row[0] for row in rows_of(table)] == ["ITQ", "ITQ (iterations=2)", "Chance"]
    assert [row[1].value for row in table.rows[:2]] == [plain.metrics["map"], given.metrics["map"]]
    assert len(table.columns) == 2


def test_the_report_of_a_run_with_settings_shows_them(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 16, params={"iterations": 2})
    render(synthetic.store, tmp_path)
    assert "iterations=2" in (tmp_path / "index.html").read_text()
    assert (tmp_path / "tables/given-itq-quick-mini-cnn.csv").exists()


def test_values_of_the_profile_are_spoken_of_where_networks_are_trained(synthetic) -> None:
    """The setup has none of them where nothing is trained by the profile."""
    synthetic.cell("itq", "nus-mini", 16, tuned={"iterations": 5})
    assert "profile" not in tables_of(synthetic)["settings"].caption
    synthetic.cell("dph", "nus-mini", 16)
    assert "and the values of the profile" in tables_of(synthetic)["settings"].caption


def test_a_missing_row_is_not_said_to_have_run(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16, tuned={"iterations": 5})
    caption = tables_of(synthetic)["settings"].caption
    assert "without a row for a data set has no score there, or ran by its defaults" in caption


def test_rows_that_are_not_there_are_not_spoken_of(synthetic) -> None:
    synthetic.cell("itq", "imagenet-mini", 16)
    synthetic.cell("itq", "nus-mini", 16, params={"iterations": 2})
    alone = tables_of(synthetic)["given-itq"].caption
    assert "without brackets" not in alone
    assert "best row" not in alone
    synthetic.cell("itq", "nus-mini", 16)
    beside = tables_of(synthetic)["given-itq"].caption
    assert "The rows without brackets are those of the other tables." in beside
    assert "the best row is no setting to report" in beside


def test_other_seeds_than_those_of_the_page_are_told(synthetic) -> None:
    for seed in (0, 1):
        for method in ("itq", "lsh"):
            synthetic.cell(method, "nus-mini", 16, seed)
    synthetic.cell("itq", "nus-mini", 32, params={"iterations": 2})
    assert tables_of(synthetic)["given-itq"].caption.startswith("Here: seed 0 alone.")
