"""`why`: the state of cells, and what made the stale ones stale."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.execution.store import Store


def test_a_changed_source_makes_a_cell_stale_and_why_names_it(
    command: Callable[..., Any], tmp_path: Path, own_features: Path, parity: str
) -> None:
    plugin = tmp_path / "parity_a.py"
    plugin.write_text(parity.replace("test-parity", "test-stale"))
    words = ["--datasets", "features:mine.npz", "--methods", "test-stale", "--bits", "16"]
    command(*words, "--no-report", "--plugin", plugin)
    record = next(Store("results").records())
    record.parts["sources"]["method"] = "older"
    (tmp_path / "results" / "cells" / f"{record.key}.json").unlink()
    record.key = "0" * 64
    Store("results").commit(record, {"ap": np.zeros(1)})
    _code, out, _ = command("why", *words, "--plugin", plugin, "--no-report", "--jobs", "1", "--reports", "elsewhere")
    assert "stale" in out
    assert "sources.method: older ->" in out


def test_words_that_match_no_cell_are_a_mistake(command: Callable[..., Any], own_features: Path) -> None:
    code, out, err = command("why", "zebra", "--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8")
    assert (code, out) == (2, "")
    assert "no cell matches 'zebra'" in err
    assert "the cells of these flags (1) are called like 'lsh mine 8 bits seed 0', there is no record in results" in err


def test_words_find_records_whatever_the_flags_mean(
    command: Callable[..., Any], tmp_path: Path, own_features: Path, parity: str
) -> None:
    plugin = tmp_path / "broken.py"
    plugin.write_text(parity.replace("test-parity", "test-broken").replace("return self", "raise KeyError('far')"))
    words = ["--datasets", "features:mine.npz", "--bits", "8", "--results", "mine", "--no-report"]
    assert command(*words, "--methods", "test-broken", "lsh", "--plugin", plugin)[0] == 1
    known = {record.cell["method"]: record.key for record in Store("mine").records()}
    for asked in ("broken mine 8", "test-broken mine 8 bits seed 0", known["test-broken"][:12]):
        code, out, _ = command("why", asked, "--results", "mine", "--datasets", "coco")
        assert code == 0
        assert f"failed  {known['test-broken'][:12]}  test-broken mine 8 bits seed 0\n" in out
        assert out.endswith("KeyError: 'far'\n")
    code, out, _ = command("why", "lsh mine", "--results", "mine", "--datasets", "coco")
    assert (code, out) == (0, f"done    {known['lsh'][:12]}  lsh mine 8 bits seed 0\n")
    code, out, _ = command("why", "lsh mine", *words, "--methods", "lsh")
    assert out.count("lsh mine 8 bits") == 1
    code, out, err = command("why", "zebra", "--results", "mine", "--datasets", "coco")
    assert (code, out) == (2, "")
    assert "of these flags (48) are called like '" in err
    assert "the records in mine (2) like '" in err


def test_a_stale_record_is_explained_without_the_flags_of_its_run(
    command: Callable[..., Any], own_features: Path
) -> None:
    command("--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "16", "--no-report")
    store = Store("results")
    (record,) = store.records()
    payload = store.payload(record)
    (store.cells / f"{record.key}.json").unlink()
    record.parts["sources"]["plugin"], record.key = "older", "0" * 64
    store.commit(record, payload)
    code, out, _ = command("why", "lsh mine", "--datasets", "coco")
    assert code == 0
    assert out.startswith("stale   000000000000  lsh mine 16 bits seed 0\n")
    assert "sources.plugin: older ->" in out


def test_results_that_are_not_there_are_a_mistake(command: Callable[..., Any], own_features: Path) -> None:
    words = ["why", "--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "--results", "nowhere"]
    code, out, err = command(*words)
    assert (code, out, "nowhere does not exist" in err) == (2, "", True)
