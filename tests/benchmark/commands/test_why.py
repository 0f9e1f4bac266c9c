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
    assert "lsh mine 8 bits seed 0" in err


def test_results_that_are_not_there_are_a_mistake(command: Callable[..., Any], own_features: Path) -> None:
    words = ["why", "--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "--results", "nowhere"]
    code, out, err = command(*words)
    assert (code, out, "nowhere does not exist" in err) == (2, "", True)
