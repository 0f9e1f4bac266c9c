"""`run --keep-models` and `keep`: models beside records that are done, and what is said where that cannot be."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.execution.store import Store

WORDS = ["--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "--no-report", "--jobs", "1"]


def models(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "results" / "models").glob("*"))


def test_a_done_cell_is_run_once_more_for_its_model(
    command: Callable[..., Any], own_features: Path, tmp_path: Path
) -> None:
    assert command(*WORDS)[0] == 0
    before = next(Store("results").records())
    assert models(tmp_path) == []
    code, out, err = command("keep", "lsh mine 8")
    assert (code, err) == (0, "")
    (file,) = models(tmp_path)
    assert file in out
    after = next(Store("results").records())
    assert after.model["file"] == file  # type: ignore[index]
    assert (after.key, after.payload, after.metrics) == (before.key, before.payload, before.metrics)
    code, out, _ = command(*WORDS, "--keep-models")
    assert (code, "0 to run" in out) == (0, True)
    assert command("keep", "lsh mine 8")[0] == 0
    assert models(tmp_path) == [file]


def test_running_again_without_keeping_does_not_lose_the_model(
    command: Callable[..., Any], own_features: Path, tmp_path: Path
) -> None:
    command(*WORDS, "--keep-models")
    (file,) = models(tmp_path)
    assert command(*WORDS, "--force")[0] == 0
    assert models(tmp_path) == [file]
    assert next(Store("results").records()).model["file"] == file  # type: ignore[index]


def test_codes_that_differ_are_a_line_and_what_is_stored_stays(
    command: Callable[..., Any], own_features: Path, tmp_path: Path
) -> None:
    command(*WORDS)
    store = Store("results")
    record = next(store.records())
    arrays = store.payload(record)
    store.commit(record, {**arrays, "database_codes": ~arrays["database_codes"]})
    code, out, err = command(*WORDS, "--keep-models")
    assert "1 done cell has no model and runs again" in out
    assert "model not kept: lsh mine 8 bits seed 0: trained again it has other database codes" in err
    assert code == 0
    assert models(tmp_path) == []
    assert np.array_equal(store.payload(next(store.records()))["database_codes"], ~arrays["database_codes"])


def test_a_method_that_cannot_be_kept_is_told_once_and_not_run_again(
    command: Callable[..., Any], own_features: Path, tmp_path: Path, parity: str
) -> None:
    plugin = tmp_path / "unkept.py"
    text = parity.replace("test-parity", "test-unkept-run").replace("return self", "self.lock = open; return self")
    plugin.write_text(text)
    words = [word if word != "lsh" else "test-unkept-run" for word in WORDS] + [
        "--plugin",
        str(plugin),
        "--keep-models",
    ]
    code, _, err = command(*words)
    assert code == 0
    assert "model not kept: test-unkept-run mine 8 bits seed 0: method test-unkept-run: attribute `lock`" in err
    assert "0 to run" in command(*words)[1]


def test_words_that_mean_no_cell_are_one_line(command: Callable[..., Any], own_features: Path) -> None:
    command(*WORDS)
    for words, told in (
        (["zebra"], "no cell of results matches 'zebra'"),
        (["lsh", "--results", "no"], "does not exist"),
    ):
        code, _, err = command("keep", *words)
        assert (code, told in err, err.count("\n")) == (2, True, 1)


def test_a_name_that_a_run_prints_can_be_pasted_into_every_command(
    command: Callable[..., Any], own_features: Path
) -> None:
    grid = [word if word != "lsh" else "itq" for word in WORDS]
    grid += ["--set", "itq.scaling=center", "--set", "itq.iterations=3"]  # in no order of the alphabet
    code, out, err = command(*grid)
    assert code == 0
    (name,) = re.findall(r"\[1/1\] (.* seed 0): MAP", out + err)
    assert {"scaling=center", "iterations=3"} < set(name.split())
    with np.load(own_features) as rows:
        np.save("rows.npy", rows["query_features"])
    for words in (["keep", name], ["encode", name, "--images", "rows.npy", "--out", "codes.npy"], ["why", name, *grid]):
        code, out, err = command(*words)
        assert (code, err) == (0, "")


def test_costs_of_a_search_that_were_measured_stay_where_the_codes_do(
    command: Callable[..., Any], own_features: Path
) -> None:
    assert command(*WORDS)[0] == 0
    store = Store("results")
    record = next(store.records())
    record.search = {"scan": 0.5, "codes": 1000}
    store.commit(record)
    for words in (["keep", "lsh mine 8"], [*WORDS, "--force"]):
        assert command(*words)[0] == 0
        again = next(store.records())
        assert (dict(again.search), bool(again.model)) == ({"scan": 0.5, "codes": 1000}, True)
    arrays = store.payload(again)
    store.commit(again, {**arrays, "database_codes": ~arrays["database_codes"]})
    assert command(*WORDS, "--force")[0] == 0
    assert not next(store.records()).search


def test_where_to_keep_a_missing_model_is_told_with_the_folder(command: Callable[..., Any], own_features: Path) -> None:
    assert command(*WORDS, "--results", "elsewhere")[0] == 0
    key = next(Store("elsewhere").records()).key
    code, _, err = command("encode", "lsh", "--images", "x.npy", "--out", "c.npy", "--results", "elsewhere")
    told = re.findall(r"hashbench (keep .*)", err)
    assert (code, told) == (2, [f"keep {key[:12]} --results elsewhere"])
    assert command(*told[0].split())[0] == 0
