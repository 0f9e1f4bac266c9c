"""`add-codes`: codes made elsewhere stand next to ours, scored as ours are; bad ones cost a line and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.evaluation.codes import unpack
from benchmark.execution.store import Store

GRID = ("--datasets", "features:mine.npz", "--methods", "itq", "--bits", "16")
FILES = ("--query", "q.npy", "--database", "d.npy")


@pytest.fixture
def ours(command: Callable[..., Any], own_features: Path, tmp_path: Path) -> Any:
    """The record of itq, whose codes lie in q.npy and d.npy."""
    assert command(*GRID, "--no-report", "--jobs", "1")[0] == 0
    store = Store("results")
    record = next(store.records())
    for part in ("query", "database"):
        np.save(f"{part[0]}.npy", unpack(store.payload(record)[f"{part}_codes"], 16))
    return record


def add(command: Callable[..., Any], *more: Any, files: Any = FILES, name: str = "theirs", bits: int = 16) -> Any:
    return command("add-codes", *files, "--method", name, "--dataset", "features:mine.npz", "--bits", bits, *more)


def test_our_own_codes_under_another_name_score_the_same_in_every_digit(command, ours, tmp_path: Path) -> None:
    code, out, err = add(command)
    assert (code, err) == (0, "")
    assert "theirs mine 16 bits seed 0, codes only" in out
    assert f"MAP@50 {ours.metrics['map']:.4f}" in out
    record = next(one for one in Store("results").records() if one.codes_only)
    assert record.metrics == ours.metrics
    assert record.payload["sha256"] == ours.payload["sha256"]
    assert command("verify")[1] == "2 sound records\n"
    assert "done    " + record.key[:12] + "  theirs mine 16 bits" in command("why", "theirs", *GRID)[1]
    assert "theirs" in command("compare", "results", "results")[1]
    assert command("report")[0] == 0
    table = next((tmp_path / "reports" / "default" / "tables").glob("map-*.md")).read_text()
    assert table.count("| theirs (codes only) |") == 1
    assert "codes made elsewhere and only scored here" in table


def test_where_a_model_is_wanted_codes_are_no_model(command, ours) -> None:
    assert add(command)[0] == 0
    for words, told in (
        (("keep", "theirs"), "it cannot be run here"),
        (("search", "theirs", "--query", "q.png", "--database", "codes"), "there is no model of it here"),
    ):
        code, _, err = command(*words)
        assert (code, "'theirs mine 16 bits seed 0' is codes only, made elsewhere" in err, told in err) == (
            2,
            True,
            True,
        )


def test_packed_zero_one_and_real_codes_are_the_same_codes(command, ours) -> None:
    codes = {part: np.load(f"{part}.npy") for part in "qd"}
    np.savez("packed.npz", query_codes=np.packbits(codes["q"] > 0, axis=1), database_codes=codes["d"] > 0)
    np.savetxt("q.csv", codes["q"] > 0, fmt="%d", delimiter=",")
    np.save("real.npy", codes["d"] * 0.3)
    assert add(command, files=("--query", "packed.npz", "--database", "packed.npz"), name="packed")[0] == 0
    real = ("--query", "q.csv", "--database", "real.npy")
    assert add(command, "--binarize", "sign", files=real, name="real")[0] == 0
    assert len({one.metrics["map"] for one in Store("results").records()}) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"name": "itq"}, "a method of hashbench has this name; take another, e.g. itq-theirs"),
        (
            {"name": "bad/../name"},
            "--method 'bad/../name': expected a name of 1 to 60 letters, digits, dashes and dots",
        ),
        ({"bits": 24}, "int8 of shape (20, 16), expected 24 columns for 24 bits, or packed uint8 of 3 columns"),
        (
            {"files": ("--query", "turned.npy", "--database", "d.npy")},
            "of shape (16, 20), expected 16 columns for 16 bits",
        ),
        ({"files": ("--query", "turned.npy", "--database", "d.npy")}, "turn it round, rows are items"),
        ({"files": ("--query", "flat.npy", "--database", "d.npy")}, "query codes: int8 of shape (320,)"),
        ({"files": ("--query", "mixed.npy", "--database", "d.npy")}, "1 zeros among 320 values"),
        ({"files": ("--query", "d.npy", "--database", "d.npy")}, "query codes: 160 rows, expected 20"),
        ({"files": ("--query", "no.npy", "--database", "d.npy")}, "no.npy: no such file"),
        ({"files": ("--query", "half.npy", "--database", "d.npy")}, "--binarize sign makes real-valued codes binary"),
    ],
)
def test_bad_codes_cost_a_line_and_nothing_else(command, ours, words: Any, told: str) -> None:
    np.save("half.npy", np.full((20, 16), 0.5))
    codes = np.load("q.npy")
    np.save("turned.npy", codes.T)
    np.save("flat.npy", codes.ravel())
    np.save("mixed.npy", np.where(np.arange(16) + np.arange(20)[:, None] == 0, 0, codes))
    code, out, err = add(command, **words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert [one.key for one in Store("results").records()] == [ours.key]


def test_other_codes_of_the_same_name_are_refused_or_replace_the_first_which_is_kept(command, ours, tmp_path) -> None:
    assert add(command)[0] == 0
    first = next(one for one in Store("results").records() if one.codes_only)
    np.save("other.npy", -np.load("q.npy"))
    other = ("--query", "other.npy", "--database", "d.npy")
    code, _, err = add(command, files=other)
    assert (code, "other codes go by 'theirs' at 16 bits, seed 0 already" in err) == (2, True)
    assert add(command, "--seed", 1, files=other)[0] == 0
    code, out, _ = add(command, "--replace", files=other)
    assert (code, f"set aside: {first.key[:12]}" in out) == (0, True)
    assert (tmp_path / "results" / "quarantine" / f"{first.key}.json").is_file()
    assert sorted(one.cell["seed"] for one in Store("results").records() if one.codes_only) == [0, 1]
