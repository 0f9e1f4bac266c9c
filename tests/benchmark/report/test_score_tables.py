"""What the tables say: nothing is mixed, nothing missing is silent, differences only between like and like."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.execution.record import CODES_ONLY
from benchmark.report import render
from benchmark.report.record_frame import record_frame
from benchmark.report.score_tables import settings_words


def rows_of(out: Path, name: str) -> list[dict[str, str]]:
    with (out / "tables" / f"{name}.csv").open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def table_names(out: Path) -> set[str]:
    return {path.stem for path in (out / "tables").glob("*.csv")}


def test_profiles_and_backbones_never_share_a_table(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("lsh", "nus-mini", 16, profile="paper")
    synthetic.cell("sh", "nus-mini", 16, backbone="vgg16")
    render(synthetic.store, tmp_path)
    assert {"map-quick-mini-cnn", "map-paper-mini-cnn", "map-quick-vgg16"} <= table_names(tmp_path)
    for name, method in (("quick-mini-cnn", "ITQ"), ("paper-mini-cnn", "LSH"), ("quick-vgg16", "sh")):
        assert [row["Method"] for row in rows_of(tmp_path, f"map-{name}")] == [method, "Chance"]


def test_one_profile_name_with_two_contents_is_two_tables(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    parts = {"profile": {"steps": 9}, "weights": "w", "evaluator": 1, "sources": {"method": "s"}}
    synthetic.cell("lsh", "nus-mini", 16, parts=parts)
    render(synthetic.store, tmp_path)
    assert len([name for name in table_names(tmp_path) if name.startswith("map-quick-")]) == 2


def test_two_splits_of_one_dataset_are_two_columns(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("lsh", "nus-mini", 16, revision="rev-other")
    render(synthetic.store, tmp_path)
    itq, lsh, _ = rows_of(tmp_path, "map-quick-mini-cnn")
    scores = [key for key in itq if key.endswith("16 bits")]
    assert len(scores) == 2
    assert all(bool(itq[key]) != bool(lsh[key]) for key in scores)


def test_swept_parameters_stay_out_of_ordinary_tables(synthetic, undrawn, tmp_path: Path) -> None:
    plain = synthetic.cell("dph", "nus-mini", 64)
    for value in (0.01, 1.0):
        synthetic.cell("dph", "nus-mini", 64, params={"gamma": value}, quality=0.99)
    render(synthetic.store, tmp_path)
    dph, _ = rows_of(tmp_path, "map-quick-mini-cnn")
    assert float(dph["NUS-WIDE-mini (miniature) 64 bits"]) == plain.metrics["map"]
    swept = (tmp_path / "figures/sensitivity-dph-gamma-quick-mini-cnn.csv").read_text().splitlines()
    assert len(swept) == 1 + 3  # two values and the default


def test_missing_cells_are_dashes_with_their_reason(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 32)
    synthetic.cell("lsh", "nus-mini", 16)
    error = {"kind": "ValueError", "message": "too few rows\nfor this", "traceback": "..."}
    synthetic.cell("sh", "nus-mini", 16, status="failed", error=error, metrics={}, titles={"method": "SH"})
    render(synthetic.store, tmp_path)
    text = (tmp_path / "tables/map-quick-mini-cnn.md").read_text()
    assert "not run" in text
    assert "failed: for this" in text
    assert text.count("–<sup>") == 3


def test_collapsed_codes_are_flagged(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16, health={"collapsed": True, "bit_balance": 1.0})
    render(synthetic.store, tmp_path)
    assert "codes collapsed" in (tmp_path / "tables/map-quick-mini-cnn.md").read_text()


def test_a_training_that_went_wrong_is_marked_with_its_remedy(synthetic, undrawn, tmp_path: Path) -> None:
    doubts = {"doubts": ["loss ended above its start (0.7 to 3)"], "remedy": "lower the rate"}
    synthetic.cell("itq", "nus-mini", 16, health={"collapsed": False, "bit_balance": 0.0, **doubts})
    synthetic.cell("lsh", "nus-mini", 16)
    render(synthetic.store, tmp_path)
    assert "loss ended above its start (0.7 to 3): lower the rate" in (
        tmp_path / "tables/map-quick-mini-cnn.md"
    ).read_text().replace("\\", "")
    itq, lsh = rows_of(tmp_path, "map-quick-mini-cnn")[:2]
    assert {row["notes"] == "" for row in (itq, lsh)} == {True, False}


def test_captions_say_how_settings_were_chosen(synthetic, undrawn, tmp_path: Path) -> None:
    kinds = {"itq": "shipped", "sdh": "shipped", "lsh": "defaults"}
    for method, kind in kinds.items():
        synthetic.cell(method, "nus-mini", 16, settings=kind)
    render(synthetic.store, tmp_path)
    text = (tmp_path / "tables/map-quick-mini-cnn.md").read_text().replace("\\", "")
    where = "on NUS-WIDE-mini (miniature)"
    assert (
        f"settings: defaults, not tuned for this data (LSH {where}); by cross-validation on training rows, as shipped "
        f"(the others {where})." in text
    ), "the others come after those named"


def test_a_split_is_called_by_the_beginning_of_its_hash_or_by_its_authors_words(
    synthetic, undrawn, tmp_path: Path
) -> None:
    synthetic.cell("itq", "nus-mini", 16, revision="0123456789abcdef")
    synthetic.cell("itq", "imagenet-mini", 16, revision="moons 1, 0.1 noise")
    render(synthetic.store, tmp_path)
    text = (tmp_path / "tables/map-quick-mini-cnn.md").read_text().replace("\\", "")
    assert "(split 01234567, k = 100" in text
    assert "(split moons 1, 0.1 noise, k = 100" in text


def test_costs_speak_of_searches_only_where_some_were_measured(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    render(synthetic.store, tmp_path)
    assert "performance/search.py" not in (tmp_path / "tables/costs-quick-mini-cnn.md").read_text()


def test_captions_say_how_features_are_reduced_and_scaled(synthetic, undrawn, tmp_path: Path) -> None:
    """By what the methods declare; of a method that nobody knows here nothing is said."""
    shown = "centred on the training rows and made of unit length unless settings say otherwise"
    cases = (
        ("hashnet", 0, f"features: all of them, {shown}; profile"),
        ("dph", 64, f"features: networks see the first 64 principal components, {shown}; profile"),
        ("a-stranger", 0, "mini-cnn; profile"),
    )
    for number, (method, components, words) in enumerate(cases):
        parts = {"profile": {"training": {"components": components}}}
        synthetic.cell(method, f"{method}-mini", 16, profile=f"p{number}", parts=parts)
        render(synthetic.store, tmp_path)
        assert words in (tmp_path / f"tables/map-p{number}-mini-cnn.md").read_text().replace("\\", "")


def test_captions_say_when_all_settings_came_from_one_place(synthetic, undrawn, tmp_path: Path) -> None:
    for method in ("itq", "lsh"):
        synthetic.cell(method, "nus-mini", 16, settings="tuned")
    render(synthetic.store, tmp_path)
    text = (tmp_path / "tables/map-quick-mini-cnn.md").read_text()
    assert "settings: by cross-validation on training rows, tuned here." in text.replace("\\", "")


def test_keys_called_stale_are_dashes(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    old = synthetic.cell("lsh", "nus-mini", 16)
    render(synthetic.store, tmp_path, stale={old.key})
    _, lsh, _ = rows_of(tmp_path, "map-quick-mini-cnn")
    assert lsh["NUS-WIDE-mini (miniature) 16 bits"] == ""
    assert "stale: code, data or settings have changed" in lsh["notes"]


def test_difference_to_the_paper_only_for_the_papers_protocol(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.published_cell("dph", "imagenet", 32)
    synthetic.published_cell("hashnet", "imagenet", 32)
    synthetic.cell("dph", "imagenet-mini", 32)
    render(synthetic.store, tmp_path)
    dph, hashnet = rows_of(tmp_path, "published-paper-alexnet")
    assert float(dph["32 bits Δ"]) == pytest.approx(0.5 - 0.4803)
    assert float(hashnet["32 bits Δ"]) == pytest.approx(0.5 - 0.4211)
    assert "published-quick-mini-cnn" not in table_names(tmp_path)


def test_a_table_against_the_paper_shows_only_what_was_measured_alike(synthetic, undrawn, tmp_path: Path) -> None:
    for method in ("dph", "hashnet", "orthohash"):  # nobody printed the last on this data
        synthetic.published_cell(method, "imagenet", 32)
        synthetic.published_cell(method, "imagenet", 24)
    render(synthetic.store, tmp_path)
    rows = rows_of(tmp_path, "published-paper-alexnet")
    assert [row["Method"] for row in rows] == ["DPH", "HashNet"]
    assert not [name for name in rows[0] if name.startswith("24 bits")]


def test_balanced_and_ablation_have_tables_of_their_own(synthetic, undrawn, tmp_path: Path) -> None:
    for method in ("dph", "dph-f", "hashnet"):
        synthetic.cell(method, "nus-mini", 16)
    synthetic.cell("dph", "imagenet-balanced", 16, miniature=True)
    render(synthetic.store, tmp_path)
    shown = {
        name: [row["Method"] for row in rows_of(tmp_path, f"{name}-quick-mini-cnn")] for name in ("map", "ablation")
    }
    assert shown == {"map": ["DPH", "HashNet", "Chance"], "ablation": ["DPH", "dph-f", "Chance"]}
    assert [row["Method"] for row in rows_of(tmp_path, "balanced-quick-mini-cnn")] == ["DPH", "Chance"]


def test_all_kinds_of_table_and_every_kind_of_figure_are_made(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.grid(bits=(64,))
    synthetic.cell("dph-w", "nus-mini", 64, tuned={"gamma": 1})
    synthetic.cell("dph", "imagenet-balanced", 64, miniature=True)
    synthetic.published_cell("dph", "imagenet", 64)
    for value in (0.01, 1.0):
        synthetic.cell("dph", "nus-mini", 64, params={"gamma": value})
    render(synthetic.store, tmp_path)
    tables = {name.partition("-")[0] for name in table_names(tmp_path)}
    kinds = {
        "map",
        "balanced",
        "ablation",
        "groups",
        "published",
        "costs",
        "health",
        "ranks",
        "radius",
        "pairwise",
        "given",
        "settings",
    }
    assert tables == kinds
    figures = {path.name.partition("-")[0] for path in (tmp_path / "figures").glob("*.pdf")}
    drawn = {"radius", "recall", "top", "strip", "map", "cost", "classes", "training", "tsne", "cd", "sensitivity"}
    drawn |= {"overview"}
    assert drawn <= figures


def test_captions_state_what_the_numbers_depend_on(rendered: Path) -> None:
    text = (rendered / "tables/map-quick-mini-cnn.md").read_text()
    for part in ("miniature", "split rev-imag", "k = 100", "Ties: expected", "hits", "seed 0", "mini-cnn", "quick"):
        assert part in text.replace("\\", "")


def test_group_chance_is_the_mean_over_the_groups_classes(rendered: Path) -> None:
    chance = rows_of(rendered, "groups-quick-mini-cnn")[-1]
    # 12 classes of 25 items each among 300: a random ranking of the top 100 finds a 12th everywhere, a little more
    # by the first places' luck: AP@k divides by the hits found.
    assert 1 / 12 < float(chance["ImageNet-mini (miniature) Head"]) < 2 / 12


def test_a_balanced_data_set_has_no_groups_and_says_so(synthetic, undrawn, tmp_path: Path) -> None:
    """A dash for "not run" would be untrue."""
    skewed = synthetic.cell("itq", "nus-mini", 16)
    flat = {name: value for name, value in skewed.metrics.items() if name != "map_groups"}
    synthetic.cell("itq", "imagenet-mini", 16, metrics=flat)
    render(synthetic.store, tmp_path)
    table = (tmp_path / "tables/groups-quick-mini-cnn.md").read_text()
    assert "Without groups, as their classes are about equally frequent: ImageNet-mini (miniature)." in table
    assert "not run" not in table
    assert "ImageNet" not in table.splitlines()[2]


def test_captions_are_true_of_two_seeds(synthetic, undrawn, tmp_path: Path) -> None:
    """A11: spreads are spoken of where they are printed, and a cell of fewer seeds says so."""
    for seed in (0, 1):
        synthetic.cell("itq", "nus-mini", 16, seed)
    synthetic.cell("lsh", "nus-mini", 16, 0)
    render(synthetic.store, tmp_path)
    table = (tmp_path / "tables/map-quick-mini-cnn.md").read_text()
    assert (
        "mean ± standard deviation (n − 1) over 1 to 2 seeds (0, 1; fewer of LSH); tests count the variance over"
        in table
    )
    assert "of which 2 seeds tell little: large differences may stay unsure" in table
    assert "1 of 2 seeds; the other was not run" in table
    costs = (tmp_path / "tables/costs-quick-mini-cnn.md").read_text()
    assert "±" not in costs
    assert "mean over 1 to 2 seeds (0, 1; fewer of LSH)" in costs


def test_a_cell_of_one_seed_each_has_no_spread_to_speak_of(synthetic, undrawn, tmp_path: Path) -> None:
    for seed, method in enumerate(("itq", "lsh")):
        synthetic.cell(method, "nus-mini", 16, seed)
    render(synthetic.store, tmp_path)
    table = (tmp_path / "tables/map-quick-mini-cnn.md").read_text()
    assert "one seed a cell (0, 1), so that tests and intervals speak of queries alone" in table
    assert "over 1 seeds" not in table


def test_a_table_without_a_sure_winner_says_that_it_was_tested(synthetic, undrawn, tmp_path: Path) -> None:
    """The mark and its note vanished together: not sure and not tested looked alike."""
    for method in ("itq", "lsh"):
        synthetic.cell(method, "nus-mini", 16, quality=0.5)
    render(synthetic.store, tmp_path)
    table = (tmp_path / "tables/map-quick-mini-cnn.md").read_text()
    assert "No best surely differs from its runner-up (p" in table


def test_a_table_of_one_length_says_which_on_which_data_set(synthetic, undrawn, tmp_path: Path) -> None:
    for method in ("itq", "lsh"):
        synthetic.cell(method, "imagenet-mini", 16)
        synthetic.cell(method, "nus-mini", 32)
    render(synthetic.store, tmp_path)
    for name in ("groups", "health", "costs"):
        table = (tmp_path / f"tables/{name}-quick-mini-cnn.md").read_text()
        assert "t 16 bits (ImageNet-mini (miniature)), 32 bits (NUS-WIDE-mini (miniature))." in table


def test_tables_that_leave_variants_out_name_them(synthetic, undrawn, tmp_path: Path) -> None:
    for method in ("dph", "dph-f", "itq"):
        synthetic.cell(method, "nus-mini", 16)
    render(synthetic.store, tmp_path)
    for name in ("groups", "health", "costs", "radius"):
        table = (tmp_path / f"tables/{name}-quick-mini-cnn.md").read_text()
        assert "Variants, in a table of their own: dph-f." in table, name


def test_parameters_given_by_hand_are_not_said_to_be_cross_validated(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16, params={"iterations": 20})
    render(synthetic.store, tmp_path)
    table = (tmp_path / "tables/map-quick-mini-cnn.md").read_text()
    assert "as shipped; but for what was given by hand for ITQ (iterations=20)." in table.replace("\\", "")


def control_cells(synthetic) -> None:
    for dataset in ("imagenet-mini", "nus-mini"):
        for method in ("itq", "lsh", "dph"):
            synthetic.cell(method, dataset, 16)
        synthetic.cell(
            "best", dataset, 16, quality=0.95, family="control", titles={"method": "Best", "dataset": dataset}
        )
        record = synthetic.cell("real", dataset, 16, quality=0.9, family="control", status="failed")
        metrics = synthetic.metrics(np.full(60, 0.9)) | {"precision_at_radius_2": None, "empty_ball_share": None}
        arrays = {
            name: array for name, array in synthetic.payload(np.full(60, 0.9), 16).items() if "_codes" not in name
        }
        kept = {name: array for name, array in arrays.items() if "radius" not in name}
        real = replace(record, status="ok", metrics=metrics | {"stored_bits": 3200}, health={})
        synthetic.store.commit(real, kept)


def test_controls_stand_at_the_end_and_are_never_ranked(synthetic, undrawn, tmp_path: Path) -> None:
    control_cells(synthetic)
    render(synthetic.store, tmp_path)
    assert [row["Method"] for row in rows_of(tmp_path, "map-quick-mini-cnn")][-3:] == ["Best", "real", "Chance"]
    shown = (tmp_path / "tables" / "map-quick-mini-cnn.md").read_text()
    marked = [line for line in shown.splitlines() if "**0" in line or "<u>0" in line]
    assert [line.split("|")[1].strip() for line in marked] == ["DPH", "ITQ"]
    assert "Controls (Best, real) stand apart at the end" in shown
    assert {row["Method"] for row in rows_of(tmp_path, "ranks-quick-mini-cnn")} == {"DPH", "ITQ", "LSH"}
    page = (tmp_path / "index.html").read_text()
    assert "DPH has the highest mean" in page
    assert "of the 3 methods" in page
    assert "could not be shown" not in page


def test_what_has_no_codes_has_dashes_for_them_and_the_bits_it_takes(synthetic, undrawn, tmp_path: Path) -> None:
    control_cells(synthetic)
    render(synthetic.store, tmp_path)
    costs, health = (
        {row["Method"]: row for row in rows_of(tmp_path, f"{name}-quick-mini-cnn")} for name in ("costs", "health")
    )

    def first(row: dict[str, str], label: str) -> str:
        return next(value for column, value in row.items() if column.endswith(label))

    assert [float(first(costs[name], " bits")) for name in ("ITQ", "real")] == [16, 3200]
    assert first(health["real"], "P@H≤2") == ""
    assert "does not apply" in health["real"]["notes"]
    assert "not run" not in health["real"]["notes"]


def test_what_a_search_costs_stands_in_the_table_of_costs_where_it_was_measured(synthetic, undrawn, tmp_path) -> None:
    synthetic.cell("itq", "nus-mini", 16, search={"scan": 0.005, "lookup": 0.0004, "multi": 0.002, "codes": 10**6})
    synthetic.cell("lsh", "nus-mini", 16)
    synthetic.cell("theirs", "nus-mini", 16, settings=CODES_ONLY, seconds={}, peak_memory=None)
    render(synthetic.store, tmp_path)
    itq, lsh, theirs = rows_of(tmp_path, "costs-quick-mini-cnn")
    name = "NUS-WIDE-mini (miniature)"
    assert [float(itq[f"{name} {kind}"]) for kind in ("scan", "lookup", "multi")] == pytest.approx([0.5, 0.04, 0.2])
    assert (lsh[f"{name} scan"], theirs[f"{name} fit"]) == ("", "")
    assert f"{name} scan: not measured" in lsh["notes"]
    assert f"{name} fit: codes only" in theirs["notes"]


def test_a_table_of_its_own_says_all_that_was_measured_of_a_search(synthetic, undrawn, tmp_path) -> None:
    lookup = {"lookup": 0.0004, "lookup_99": 0.002, "lookup_touched": 120.0, "lookup_bytes": 12.25}
    synthetic.cell("itq", "nus-mini", 16, search=lookup | {"codes": 10**6, "columns": 256})
    part = {name: value for name, value in lookup.items() if name != "lookup_bytes"}
    synthetic.cell("lsh", "nus-mini", 16, search=part | {"codes": 10**6, "columns": 192})
    synthetic.cell("dph", "nus-mini", 16)
    synthetic.cell("itq", "coco-mini", 16)
    render(synthetic.store, tmp_path)
    itq, lsh = rows_of(tmp_path, "search-quick-mini-cnn")  # no method and no data set that was not measured
    assert not any("COCO" in column for column in itq)
    name = "NUS-WIDE-mini (miniature)"
    wanted = {
        "codes": 10**6,
        "columns": 256,
        "lookup": 0.04,
        "lookup 99 %": 0.2,
        "lookup touched": 120,
        "lookup bytes": 12.25,
    }
    assert {label: float(itq[f"{name} {label}"]) for label in wanted} == pytest.approx(wanted)
    assert lsh[f"{name} lookup bytes"] == ""
    assert not any("scan" in column for column in itq)


def test_a_table_without_measured_searches_has_no_columns_for_them(rendered: Path) -> None:
    assert not list((rendered / "tables").glob("search-*"))
    assert not any(
        name.endswith((" scan", " lookup", " multi")) for name in rows_of(rendered, "costs-quick-mini-cnn")[0]
    )


def test_precision_within_radius_2_stands_beside_its_empty_balls(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.grid(bits=(16, 32))
    render(synthetic.store, tmp_path)
    rows = rows_of(tmp_path, "radius-quick-mini-cnn")
    assert len(rows) == 4
    dph = next(row for row in rows if row["Method"] == "DPH")
    for bits in (16, 32):
        cell = next(r for r in synthetic.store.records() if r.cell["method"] == "dph" and r.cell["bits"] == bits)
        label = next(name for name in dph if name.endswith(f"{bits} bits") and cell.titles["dataset"] in name)
        assert float(dph[label]) == pytest.approx(cell.metrics["precision_at_radius_2"])
        assert float(dph[label.replace(f"{bits} bits", f"{bits} empty")]) == pytest.approx(30.0)


def test_settings_alike_on_all_data_sets_are_told_once(synthetic) -> None:
    for dataset in ("nus-mini", "imagenet-mini"):
        for method, settings in (("dph", "shipped"), ("itq", "defaults"), ("lsh", "defaults")):
            synthetic.cell(method, dataset, 16, settings=settings)
    words = settings_words(record_frame(list(synthetic.store.records())))
    assert words.count("DPH") == 1
    assert words.count("the others on") == 1


def test_a_method_alone_is_not_said_to_be_bold_or_tested(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    render(synthetic.store, tmp_path)
    for name in ("map", "groups", "radius"):
        table = (tmp_path / f"tables/{name}-quick-mini-cnn.md").read_text()
        assert "bold" not in table, name
        assert "seed 0 alone; backbone" in table, name


def test_two_seeds_of_a_method_alone_are_a_mean_and_no_test(synthetic, undrawn, tmp_path: Path) -> None:
    for seed in (0, 1):
        synthetic.cell("itq", "nus-mini", 16, seed)
    render(synthetic.store, tmp_path)
    table = (tmp_path / "tables/map-quick-mini-cnn.md").read_text()
    assert "mean ± standard deviation (n − 1) over 2 seeds (0, 1); backbone" in table


def test_why_one_length_is_shown_is_said_only_where_there_are_several(synthetic, undrawn, tmp_path: Path) -> None:
    """ "That all methods have, or most of them" told nobody which."""
    for method in ("itq", "lsh"):
        synthetic.cell(method, "nus-mini", 16)
    render(synthetic.store, tmp_path)
    costs = tmp_path / "tables/costs-quick-mini-cnn.md"
    assert "At 16 bits. " in costs.read_text()
    for method in ("itq", "lsh"):
        synthetic.cell(method, "nus-mini", 32)
    render(synthetic.store, tmp_path)
    assert "At 32 bits, the longest length that all methods with a score there have. " in costs.read_text()
    synthetic.cell("sdh", "nus-mini", 16)
    render(synthetic.store, tmp_path)
    assert "At 16 bits, the longest length that all methods with a score there have. " in costs.read_text()
    for bits in (32, 64):
        synthetic.cell("dph", "nus-mini", bits)
    render(synthetic.store, tmp_path)
    assert "At 32 bits, of the lengths that the most methods have there, the longest. " in costs.read_text()


def test_a_data_set_without_any_score_is_not_called_balanced(synthetic, undrawn, tmp_path: Path) -> None:
    for method in ("itq", "lsh"):
        synthetic.cell(method, "nus-mini", 16)
    error = {"kind": "E", "message": "m", "traceback": ""}
    synthetic.cell("itq", "imagenet-mini", 16, status="failed", error=error, metrics={})
    render(synthetic.store, tmp_path)
    table = (tmp_path / "tables/groups-quick-mini-cnn.md").read_text()
    assert "about equally frequent" not in table
    assert "Without scores by group: ImageNet-mini (miniature)." in table


def test_the_table_of_map_names_what_stands_elsewhere(synthetic, undrawn, tmp_path: Path) -> None:
    for method in ("dph", "dph-f", "itq"):
        synthetic.cell(method, "nus-mini", 16)
    synthetic.cell("itq", "nus-balanced-mini", 16)
    render(synthetic.store, tmp_path)
    table = (tmp_path / "tables/map-quick-mini-cnn.md").read_text()
    assert "Variants, in a table of their own: dph-f." in table
    assert "Data sets, in tables of their own: nus-balanced-mini (miniature)." in table


def test_a_dash_of_what_was_run_by_hand_alone_says_so(synthetic, undrawn, tmp_path: Path) -> None:
    for dataset in ("imagenet-mini", "nus-mini"):
        synthetic.cell("itq", dataset, 16)
    synthetic.cell("lsh", "imagenet-mini", 16)
    synthetic.cell("lsh", "nus-mini", 16, params={"scaling": "center"})
    render(synthetic.store, tmp_path)
    table = (tmp_path / "tables/map-quick-mini-cnn.md").read_text()
    assert "run only with parameters given by hand" in table
    assert "not run" not in table
