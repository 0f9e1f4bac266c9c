"""Who is compared with whom: only what is shared, and nobody is left out in silence (A11)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmark.report.common_field import common_field, full_block, left_out_words, uneven_seeds
from benchmark.report.record_frame import record_frame
from benchmark.report.sheets import Sheet, defaults, main_sheet, sheets
from benchmark.wording import listed


def only_sheet(synthetic, stale=()) -> Sheet:
    (sheet,) = sheets(record_frame(synthetic.store.records(), stale))
    return sheet


@given(arrays(bool, st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_the_block_has_no_gap_cannot_be_extended_and_is_there_if_any_score_is(filled: np.ndarray) -> None:
    rows, columns = full_block(filled)
    assert filled[np.ix_(rows, columns)].all()
    assert bool(rows and columns) == bool(filled.any())
    if rows:
        assert [i for i in range(len(filled)) if filled[i, columns].all()] == rows
        assert [j for j in range(filled.shape[1]) if filled[rows, j].all()] == columns


def test_a_full_grid_is_compared_whole(synthetic) -> None:
    field = common_field(only_sheet(synthetic.grid(bits=(16, 32))))
    assert field.complete
    assert len(field.methods) == 4
    assert left_out_words(field) == ""
    assert field.where() == "ImageNet-mini (miniature) and NUS-WIDE-mini (miniature) at 16 and 32 bits"


def test_who_lacks_cells_is_named_with_the_reasons_counted(synthetic) -> None:
    synthetic.grid(bits=(16, 32))
    error = {"kind": "E", "message": "m", "traceback": ""}
    synthetic.cell("sdh", "nus-mini", 16, titles={"method": "SDH", "dataset": "NUS-WIDE-mini"})
    synthetic.cell("sdh", "nus-mini", 32, status="failed", error=error, metrics={})
    old = synthetic.cell("sdh", "imagenet-mini", 16)
    field = common_field(only_sheet(synthetic, {old.key}))
    assert not field.complete
    assert [one.lacking for one in field.absent] == [{"stale": 1, "not run": 1, "failed": 1}]
    assert left_out_words(field) == (
        "Not compared, for want of scores: SDH (no score in 3 of 4 cells: 1 stale, 1 not run, 1 failed)."
    )


def test_a_column_of_one_method_is_left_out_not_the_others(synthetic) -> None:
    synthetic.grid(bits=(16,))
    synthetic.cell("itq", "nus-mini", 128)
    field = common_field(only_sheet(synthetic))
    assert len(field.methods) == 4
    assert [(one.label, one.bits) for one in field.left_out] == [("NUS-WIDE-mini (miniature)", 128)]
    assert left_out_words(field) == (
        "Of 3 columns (data set and code length) 1 left out: NUS-WIDE-mini (miniature) at 128 bits (no score of "
        "DPH, HashNet and LSH)."
    )


def test_two_methods_that_share_one_cell_are_compared_there(synthetic) -> None:
    """One of three cells each would else have left the fuller of them alone, with nothing to compare it with."""
    for bits in (16, 32, 48):
        synthetic.cell("itq", "nus-mini", bits)
    synthetic.cell("lsh", "nus-mini", 16)
    field = common_field(only_sheet(synthetic))
    assert ([name for name, _ in field.methods], [bits for _, bits in field.columns]) == (["itq", "lsh"], [16])


def test_a_variant_is_no_method_of_the_field_and_is_named(synthetic) -> None:
    for method in ("dph", "dph-f", "itq"):
        synthetic.cell(method, "nus-mini", 16)
    field = common_field(main_sheet(only_sheet(synthetic)))
    assert [name for name, _ in field.methods] == ["dph", "itq"]
    assert left_out_words(field) == "Variants, in a table of their own: dph-f."


def test_a_variant_without_its_base_is_a_method_as_others(synthetic) -> None:
    for method in ("dph-f", "itq"):
        synthetic.cell(method, "nus-mini", 16)
    assert [name for name, _ in common_field(main_sheet(only_sheet(synthetic))).methods] == ["dph-f", "itq"]


def test_lengths_that_differ_between_data_sets_are_named_for_each(synthetic) -> None:
    for method in ("itq", "lsh"):
        synthetic.cell(method, "imagenet-mini", 16)
        synthetic.cell(method, "nus-mini", 32)
    where = common_field(only_sheet(synthetic)).where()
    assert where == "ImageNet-mini (miniature) at 16 bits and NUS-WIDE-mini (miniature) at 32 bits"


def test_fewer_seeds_are_said(synthetic) -> None:
    for method, seeds in (("itq", 2), ("lsh", 1)):
        for seed in range(seeds):
            synthetic.cell(method, "nus-mini", 16, seed)
    assert "fewer seeds than others in some cells: LSH." in left_out_words(common_field(only_sheet(synthetic)))


def test_listed() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", 3])] == ["", "a", "a and b", "a, b and 3"]


def test_controls_are_not_compared_nor_called_absent(synthetic) -> None:
    for method, family in (("itq", "unsupervised"), ("lsh", "data-independent"), ("best", "control")):
        synthetic.cell(method, "nus-mini", 16, family=family)
    synthetic.cell("other", "nus-mini", 32, family="control")  # a column of controls is no column
    (sheet,) = sheets(record_frame(synthetic.store.records()))
    field = common_field(sheet)
    assert [name for name, _ in field.methods] == ["itq", "lsh"]
    assert field.complete


def test_of_many_left_out_each_is_named_those_of_one_reason_together(synthetic) -> None:
    """Of eight methods two were "2 more"."""
    for bits in (16, 32):
        for method in ("itq", "lsh"):
            synthetic.cell(method, "nus-mini", bits)
    for number in range(8):
        synthetic.cell(f"m{number}", "nus-mini", (16, 32)[number % 2])
    words = left_out_words(common_field(only_sheet(synthetic)))
    names = "m0, m1, m2, m3, m4, m5, m6 and m7"
    assert f"{names} (each with no score in 1 of 2 cells: 1 not run)" in words


def test_columns_left_out_for_one_reason_are_named_together(synthetic) -> None:
    synthetic.grid(bits=(16,))
    for bits in (64, 128):
        synthetic.cell("itq", "nus-mini", bits)
    assert left_out_words(common_field(only_sheet(synthetic))) == (
        "Of 4 columns (data set and code length) 2 left out: NUS-WIDE-mini (miniature) at 64 bits and NUS-WIDE-mini "
        "(miniature) at 128 bits (each with no score of DPH, HashNet and LSH)."
    )


def test_controls_and_data_sets_of_other_tables_are_named(synthetic) -> None:
    """Thirty-four methods were compared of thirty-nine in the table, and no word told of the other five."""
    for method, family in (("itq", "unsupervised"), ("lsh", "data-independent"), ("best", "control")):
        synthetic.cell(method, "nus-mini", 16, family=family)
    synthetic.cell("itq", "imagenet-balanced-mini", 16)
    words = left_out_words(common_field(main_sheet(only_sheet(synthetic))))
    assert words == (
        "Data sets, in tables of their own: imagenet-balanced-mini (miniature). Controls, never compared: best."
    )


def test_what_was_run_by_hand_alone_is_not_called_not_run(synthetic) -> None:
    for dataset in ("imagenet-mini", "nus-mini"):
        for method in ("dph", "itq"):
            synthetic.cell(method, dataset, 16)
    synthetic.cell("lsh", "imagenet-mini", 16)
    synthetic.cell("lsh", "nus-mini", 16, params={"scaling": "center"})
    words = left_out_words(common_field(defaults(only_sheet(synthetic))))
    assert "LSH (no score in 1 of 2 cells: 1 run only with parameters given by hand)" in words


def test_seeds_that_differ_between_lengths_are_uneven(synthetic) -> None:
    for method, seeds in (("itq", {16: 2, 32: 1}), ("lsh", {16: 2, 32: 2}), ("dph", {16: 1, 32: 1})):
        for bits, number in seeds.items():
            for seed in range(number):
                synthetic.cell(method, "nus-mini", bits, seed)
    assert uneven_seeds(common_field(only_sheet(synthetic))) == ["ITQ"]


def test_one_cell_is_not_cells(synthetic) -> None:
    for method in ("itq", "lsh", "dph"):
        synthetic.cell(method, "nus-mini", 16)
    error = {"kind": "E", "message": "m", "traceback": ""}
    synthetic.cell("sdh", "nus-mini", 16, status="failed", error=error, metrics={})
    words = left_out_words(common_field(only_sheet(synthetic)))
    assert words == "Not compared, for want of scores: sdh (no score in 1 of 1 cell: 1 failed)."
