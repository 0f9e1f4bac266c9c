"""The first sentence: true of what was compared, and of nothing else (A11)."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmark.report.headline import headline_words
from benchmark.report.record_frame import record_frame
from benchmark.report.sheets import main_sheet, sheets
from benchmark.report.stored_arrays import StoredArrays


def said_of(synthetic) -> str:
    records = list(synthetic.store.records())
    (sheet,) = sheets(record_frame(records))
    return headline_words(sheet, StoredArrays(synthetic.store, records))


def test_a_full_grid_has_a_leader_of_all_its_methods(synthetic) -> None:
    said = said_of(synthetic.grid(bits=(16, 32)))
    assert said.startswith(
        "On ImageNet-mini (miniature) and NUS-WIDE-mini (miniature) at 16 and 32 bits (profile quick"
    )
    assert "DPH has the highest mean MAP@100 of the 4 methods: 0." in said
    assert "above HashNet (95 % interval of the lead over queries, of this pair alone, chosen among 4: 0." in said
    assert "compared" not in said


def test_a_method_left_out_that_might_have_won_is_named_and_no_winner_of_all_is(synthetic) -> None:
    """A11: the best method failed on one data set."""
    synthetic.grid(bits=(16,))
    synthetic.cell("best", "nus-mini", 16, quality=0.95, titles={"method": "Best", "dataset": "NUS-WIDE-mini"})
    error = {"kind": "E", "message": "m", "traceback": ""}
    synthetic.cell("best", "imagenet-mini", 16, status="failed", error=error, metrics={})
    said = said_of(synthetic)
    assert "DPH has the highest mean MAP@100 of the 4 methods compared" in said
    assert "Best (no score in 1 of 2 cells: 1 failed)" in said
    assert "Whether a method left out would lead is not known" in said
    assert "Best (1 cell) scores above DPH" in said


def test_a_variant_that_scores_above_the_leader_is_told(synthetic) -> None:
    """The leader named was below its own variant, of which no word was said."""
    for method, quality in (("dph", 0.5), ("dph-f", 0.7), ("dph-w", 0.3), ("itq", 0.4)):
        synthetic.cell(method, "nus-mini", 16, quality=quality)
    records = list(synthetic.store.records())
    (sheet,) = sheets(record_frame(records))
    said = headline_words(main_sheet(sheet), StoredArrays(synthetic.store, records))
    assert "DPH has the highest mean MAP@100 of the 2 methods" in said
    assert "Variants, in a table of their own: dph-f and dph-w." in said
    assert re.search(r"Of the variants, dph-f \(0\.7\d\d\) scores above DPH there\.", said)


def test_methods_that_print_the_same_share_the_lead(synthetic) -> None:
    """Seven methods had a MAP of 1.000, and one of them was called the highest, 0.000 above another."""
    for method in ("itq", "lsh", "sh"):
        synthetic.cell(method, "nus-mini", 16, quality={"sh": 0.2}.get(method, 9.0))
    said = said_of(synthetic)
    assert "ITQ and LSH share the highest mean MAP@100 of the 3 methods, to three digits: 1.000." in said
    assert "interval" not in said


def test_what_prints_differently_is_not_called_shared(synthetic) -> None:
    """0.58379 and 0.58335 shared 0.584: the second prints as 0.583."""
    for method, mean in (("itq", 0.58379), ("lsh", 0.58335)):
        made = synthetic.metrics(np.full(60, mean))
        synthetic.cell(method, "nus-mini", 16, metrics=made)
    said = said_of(synthetic)
    assert "ITQ has the highest mean MAP@100 of the 2 methods: 0.584" in said
    assert "share" not in said


def test_the_interval_is_of_the_lead_where_lengths_have_different_seeds(synthetic) -> None:
    """ITQ with three seeds at one length: the interval was that of a mean in which this length counted three times."""
    for bits, quality in ((16, 0.3), (32, 0.6)):
        for seed in range(3 if bits == 16 else 1):
            synthetic.cell("itq", "nus-mini", bits, seed, quality=quality)
        synthetic.cell("lsh", "nus-mini", bits, quality=quality - 0.1)
    said = said_of(synthetic)
    lead, low, high = (
        float(re.search(pattern, said)[1])
        for pattern in (r"([\d.]+) above LSH", r"in all cells: ([\d.]+) to", r"to ([\d.]+)\)")
    )
    assert "over queries, not over seeds, which are not the same in all cells" in said
    assert (low + high) / 2 == pytest.approx(lead, abs=0.004)


def test_who_has_one_seed_is_told_how_it_is_taken_to_vary(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16, 0)
    synthetic.cell("itq", "nus-mini", 16, 1)
    synthetic.cell("lsh", "nus-mini", 16, 0)
    assert "over queries and seeds (one with a single seed is taken to vary as the other): " in said_of(synthetic)


def test_a_method_alone_has_nobody_to_beat(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    assert "nothing to compare it with" in said_of(synthetic)


def test_without_any_score_there_is_no_leader(synthetic) -> None:
    error = {"kind": "E", "message": "m", "traceback": ""}
    synthetic.cell("itq", "nus-mini", 16, status="failed", error=error, metrics={})
    assert said_of(synthetic).startswith("No method has a score yet")


def test_alike_methods_are_not_told_apart(synthetic) -> None:
    for method in ("itq", "lsh"):
        synthetic.cell(method, "nus-mini", 16, quality=0.5)
    assert "cannot be told apart" in said_of(synthetic)


def test_two_cut_offs_are_not_called_by_one_k(synthetic) -> None:
    for method in ("itq", "lsh"):
        synthetic.cell(method, "nus-mini", 16, cutoff=20)
        synthetic.cell(method, "imagenet-mini", 16, cutoff=50)
    assert "mean MAP@k of" in said_of(synthetic)


def test_an_interval_needs_the_scores_of_every_cell_it_speaks_of(synthetic) -> None:
    """A relative: with one payload lost, the interval was that of other cells than the lead's."""
    synthetic.grid(bits=(16, 32))
    lost = next(r for r in synthetic.store.records() if r.cell["method"] == "dph")
    (synthetic.store.cells / lost.payload["file"]).unlink()
    assert "no interval" in said_of(synthetic)


@pytest.mark.parametrize("seeds", [1, 2])
def test_the_mean_is_over_data_sets_of_bits_of_seeds(synthetic, seeds: int) -> None:
    made = [synthetic.cell("itq", "nus-mini", bits, seed) for bits in (16, 32) for seed in range(seeds)]
    mean = sum(record.metrics["map"] for record in made) / len(made)
    assert f"of {mean:.3f} on" in said_of(synthetic)


def test_seeds_and_controls_stand_in_the_sentence(synthetic) -> None:
    for method in ("itq", "lsh"):
        for seed in (0, 3):
            synthetic.cell(method, "nus-mini", 16, seed)
    synthetic.cell("best", "nus-mini", 16, family="control")
    said = said_of(synthetic)
    assert "(profile quick, backbone mini-cnn, seeds 0 and 3)" in said
    assert "Controls, never compared: best." in said


def test_one_seed_is_told_as_one(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    said = said_of(synthetic)
    assert said.startswith("ITQ reaches a mean MAP@100 of")
    assert "(profile quick, backbone mini-cnn, seed 0)" in said


def test_several_that_are_ahead_where_they_share_cells_score_not_scores(synthetic) -> None:
    synthetic.grid(bits=(16,))
    for name in ("best", "better"):
        synthetic.cell(name, "nus-mini", 16, quality=0.95)
    assert re.search(r"better \(1 cell\) score above DPH\.|best \(1 cell\) score above DPH\.", said_of(synthetic))


def test_a_method_of_uneven_seeds_is_not_said_to_have_one(synthetic) -> None:
    for bits in (16, 32):
        for seed in range(2 if bits == 16 else 1):
            synthetic.cell("itq", "nus-mini", bits, seed, quality=0.5)
        for seed in range(2):
            synthetic.cell("lsh", "nus-mini", bits, seed, quality=0.3)
    said = said_of(synthetic)
    assert "(one whose seeds are not the same in all cells is taken to vary as the other)" in said
    assert "single seed" not in said
