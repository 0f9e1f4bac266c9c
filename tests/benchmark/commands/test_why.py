"""`why`: the state of cells, and what made the stale ones stale."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.execution.store import Store
from benchmark.registry import methods


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


def test_without_flags_of_a_run_it_is_about_records_alone(
    command: Callable[..., Any], tmp_path: Path, own_features: Path, parity: str
) -> None:
    """And with them, about the cells that they mean: the grid by default only for who says one of its flags."""
    plugin = tmp_path / "broken.py"
    plugin.write_text(parity.replace("test-parity", "test-fails").replace("return self", "raise KeyError('far')"))
    words = ["--datasets", "features:mine.npz", "--results", "mine", "--no-report", "--plugin", plugin]
    assert command(*words, "--methods", "test-fails", "lsh", "--bits", "8", "16")[0] == 1
    for named in ((), ("mine",), ("--plugin", plugin)):
        code, out, _ = command("why", *named, "--results", "mine")
        heads = [line for line in out.splitlines() if line and not line.startswith("        ")]
        assert code == 0
        assert sorted(line.split()[0] for line in heads) == ["done", "done", "failed", "failed"]
    assert len(command("why", "lsh", "--results=mine")[1].splitlines()) == 2
    assert command("why", "lsh", "--results", "mine", "--dataset", "coco")[1].count("todo") == 4
    code, out, err = command("why", "zebra", "--results", "mine")
    assert (code, out) == (2, "")
    assert "the records in mine (4) are called like '" in err
    assert "or the flags of a run for its cells" in err
    assert "nowhere does not exist" in command("why", "--results", "nowhere")[2]


def test_faults_of_several_cells_stand_apart_each_with_its_reason_first(
    command: Callable[..., Any], tmp_path: Path, own_features: Path, parity: str
) -> None:
    plugin = tmp_path / "broken.py"
    plugin.write_text(parity.replace("test-parity", "test-faults").replace("return self", "raise KeyError('far')"))
    words = ["--datasets", "features:mine.npz", "--no-report", "--plugin", plugin, "--methods", "test-faults"]
    assert command(*words, "--bits", "8", "16")[0] == 1
    for asked in (("why",), ("why", *words, "--bits", "8", "16")):
        blocks = [block.splitlines() for block in command(*asked)[1].split("\n\n")]
        assert len(blocks) == 2
        for head, reason, *trace in blocks:
            assert head.startswith("failed  ")
            assert reason.startswith("        failed: 'far' (broken.py line ")
            assert trace[0] == "        Traceback (most recent call last):"
            assert trace[-1] == "        KeyError: 'far'"


def test_a_skipped_cell_tells_why(command: Callable[..., Any], own_features: Path) -> None:
    command("--datasets", "features:mine.npz", "--methods", "pcah", "--bits", "64", "--no-report")
    code, out, _ = command("why")
    assert (code, out.splitlines()[0].split()[0]) == (0, "skipped")
    assert out.splitlines()[1].startswith("        skipped: ")


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


def test_a_record_whose_plugin_was_not_given_is_told_to_be_unchecked(
    command: Callable[..., Any], tmp_path: Path, own_features: Path, parity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit of the file would else pass for no change; `prune --stale` says the same."""
    plugin = tmp_path / "mine.py"
    plugin.write_text(parity.replace("test-parity", "test-unchecked"))
    words = ["--datasets", "features:mine.npz", "--bits", "8", "--no-report", "--plugin", plugin]
    assert command(*words, "--methods", "test-unchecked", "lsh")[0] == 0
    assert "not checked" not in command("why")[1] + command("prune", "--stale")[1]
    known = {name: cls for name, cls in methods._plugins.items() if name != "test-unchecked"}
    monkeypatch.setattr(methods, "_plugins", known)
    told = "mine.py was not given (--plugin mine.py)\n"
    assert f"test-unchecked mine 8 bits seed 0, not checked: {told}" in command("why")[1]
    assert "lsh mine 8 bits seed 0\n" in command("why")[1]
    assert command("prune", "--stale")[1] == f"not checked: 1 record: {told}nothing to drop\n"
