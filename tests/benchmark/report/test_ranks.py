"""Ranks: against sorting by hand, over the shared cells only, with a caption that is true of them (A11)."""

from __future__ import annotations

import numpy as np

from benchmark.report.common_field import common_field
from benchmark.report.ranks import mean_ranks, pair_tests, rank_figure, rank_tables
from benchmark.report.record_frame import record_frame
from benchmark.report.sheets import sheets
from benchmark.report.stored_arrays import StoredArrays


def ranked(synthetic):
    records = list(synthetic.store.records())
    (sheet,) = sheets(record_frame(records))
    return sheet, rank_tables(sheet, StoredArrays(synthetic.store, records))[0]


def test_mean_ranks_are_those_of_sorting(synthetic) -> None:
    sheet, _ = ranked(synthetic.grid(bits=(16, 32)))
    field = common_field(sheet)
    found = mean_ranks(field)
    for place, dataset in enumerate(field.datasets):
        cells = sheet.of(dataset)
        by_hand = {name: [] for name, _ in field.methods}
        for bits in (16, 32):
            at = cells[cells["bits"] == bits].sort_values("map", ascending=False)["method"].tolist()
            for name in by_hand:
                by_hand[name].append(at.index(name) + 1)
        assert np.allclose(found[place], [np.mean(places) for places in by_hand.values()])


def test_one_data_set_has_ranks_but_no_groups(synthetic) -> None:
    """A11: Nemenyi and Friedman speak of several data sets; over one they are not named."""
    for method in ("dph", "hashnet", "itq"):
        synthetic.cell(method, "nus-mini", 16)
    sheet, table = ranked(synthetic)
    assert table.title == "Ranks"
    assert "Nemenyi" not in table.caption
    assert "group" not in [column.label for column in table.columns]
    assert "of the 3 methods on NUS-WIDE-mini (miniature) at 16 bits." in table.caption
    assert rank_figure(sheet) == []


def test_the_caption_names_data_lengths_methods_and_who_is_left_out(synthetic) -> None:
    synthetic.grid(bits=(16, 32), seeds=2)
    synthetic.cell("sdh", "nus-mini", 16, titles={"method": "SDH", "dataset": "NUS-WIDE-mini"})
    sheet, table = ranked(synthetic)
    assert "4 methods that have every one of these cells on ImageNet-mini" in table.caption
    assert "at 16 and 32 bits" in table.caption
    assert "; mean over 2 seeds (0, 1); tests count the variance over seeds" in table.shared
    assert table.remarks == ["Not compared, for want of scores: SDH (no score in 3 of 4 cells: 3 not run)."]
    assert "sdh" not in str(table.rows)
    (drawing,) = rank_figure(sheet)
    assert drawing.title.startswith("Mean ranks of 4 methods (1 left out) over 2 data sets")


def test_pairs_are_told_alike_from_both_sides_and_agree_with_the_wins(synthetic) -> None:
    synthetic.grid(bits=(16, 32))
    records = list(synthetic.store.records())
    (sheet,) = sheets(record_frame(records))
    stored = StoredArrays(synthetic.store, records)
    ranked_table, *pairs = rank_tables(sheet, stored)
    tests = pair_tests(common_field(sheet), stored)
    assert len(pairs) == 2
    assert len(tests) == 2 * 6  # four methods
    sure = 0
    for table in pairs:
        names = [column.label for column in table.columns[1:]]
        assert [row[0].text for row in table.rows] == names
        for i, j in [(i, j) for i in range(4) for j in range(4)]:
            one, other = table.rows[i][j + 1], table.rows[j][i + 1]
            assert one.value == other.value
            assert {one.mark, other.mark} in ({""}, {"+", "-"})
            sure += one.mark == "+"
    wins = [column.label for column in ranked_table.columns].index("wins")
    assert sure == sum(row[wins].value for row in ranked_table.rows) > 0
    assert sure == sum(test.p < 0.05 for test in tests)


def test_two_methods_have_a_test_and_no_ranks(synthetic) -> None:
    for method in ("dph", "itq"):
        synthetic.cell(method, "nus-mini", 16)
    _, table = ranked(synthetic)
    assert table.title.startswith("Pairwise tests on NUS-WIDE-mini")
    assert "averaged over code lengths" not in table.caption
    assert "At 16 bits" in table.caption


def test_the_note_says_what_is_averaged_in_which_order(synthetic) -> None:
    synthetic.grid(bits=(16, 32), seeds=2)
    table = ranked(synthetic)[1]
    assert "Ranks by MAP@100 (mean over seeds), 1 the best, averaged over code lengths and then over data sets, of" in (
        table.caption
    )


def test_of_one_length_and_seed_nothing_is_said_to_be_averaged(synthetic) -> None:
    for method in ("dph", "itq", "lsh"):
        synthetic.cell(method, "nus-mini", 16)
    table = ranked(synthetic)[1]
    assert "Ranks by MAP@100, 1 the best, of the 3 methods on" in table.caption


def test_seeds_that_differ_between_lengths_are_told_beside_the_test(synthetic) -> None:
    for method in ("dph", "itq", "lsh"):
        for bits in (16, 32):
            for seed in range(1 if (method, bits) == ("lsh", 32) else 2):
                synthetic.cell(method, "nus-mini", bits, seed)
    records = list(synthetic.store.records())
    (sheet,) = sheets(record_frame(records))
    told = "; of LSH, whose seeds are not the same at all lengths, their mean counts as one seed"
    assert all(told in table.caption for table in rank_tables(sheet, StoredArrays(synthetic.store, records)))


def test_the_diagram_says_below_it_what_it_ranks_and_who_is_left_out(synthetic) -> None:
    """Data sets and those left out stood in the text for screen readers alone."""
    synthetic.grid(bits=(16,))
    synthetic.cell("sdh", "nus-mini", 16)
    (sheet,) = sheets(record_frame(synthetic.store.records()))
    (drawing,) = rank_figure(sheet)
    assert "on ImageNet-mini (miniature) and NUS-WIDE-mini (miniature) at 16 bits; " in drawing.note
    assert "sdh (no score in 1 of 2 cells: 1 not run)" in drawing.note
