"""Merging by words: exit codes, and a line for each record that was not taken."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.registry import methods


@pytest.fixture
def theirs(own_features: Path, command: Callable[..., Any], tmp_path: Path) -> Path:
    words = f"--datasets features:{own_features} --methods lsh --bits 8 16 --jobs 1 --no-report --results theirs"
    assert command(*words.split())[0] == 0
    return tmp_path / "theirs"


def test_all_some_and_wrong(theirs: Path, command: Callable[..., Any], tmp_path: Path) -> None:
    assert command("merge", "theirs", "--results", "ours")[:2] == (0, "theirs: 2 taken\n")
    assert command("merge", "theirs", "--results", "ours")[:2] == (0, "theirs: 2 here already\n")
    shutil.copytree(theirs, tmp_path / "broken")
    path = min((tmp_path / "broken" / "cells").glob("*.json"))
    path.write_bytes(path.read_bytes()[:-9])
    code, out, _ = command("merge", "theirs", "broken", "--results", "fresh")
    assert code == 1
    assert out.splitlines()[0] == "theirs: 2 taken"
    assert out.splitlines()[1].startswith(f"refused {path.stem[:12]}")
    assert out.splitlines()[2] == "broken: 1 refused, 1 here already"


def test_what_other_code_made_is_taken_and_told(
    command: Callable[..., Any], own_features: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"--datasets features:{own_features} --methods itq --bits 8 --jobs 1 --no-report --results theirs"
    assert command(*words.split())[0] == 0
    monkeypatch.setattr("benchmark.execution.plan.plugin_sources", lambda cls: {"plugin": "edited since"})
    code, out, _ = command("merge", "theirs", "--results", "ours")
    assert code == 0
    assert "note: 1 of them is stale here" in out


def test_a_method_that_is_not_here_is_told(
    command: Callable[..., Any], tmp_path: Path, own_features: Path, parity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        parity.replace("test-parity", "test-handed-in").replace('"Parity"', '"Handed In"')
    )
    words = f"--datasets features:{own_features} --bits 8 16 --jobs 1 --no-report --results theirs --plugin mine.py"
    assert command(*words.split(), "--methods", "test-handed-in")[0] == 0
    known = {name: cls for name, cls in methods._plugins.items() if name != "test-handed-in"}
    with monkeypatch.context() as patched:
        patched.setattr(methods, "_plugins", known)
        assert command("merge", "theirs", "--results", "ours")[:2] == (
            0,
            "theirs: 2 taken\n"
            "note: 2 of them are described as handed in, without method 'test-handed-in' at hand; "
            "give --plugin or --data-root to have that checked\n",
        )
    assert command("merge", "theirs", "--results", "fresh")[:2] == (0, "theirs: 2 taken\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("merge", "required"),
        ("merge nowhere", "nowhere does not exist"),
        ("merge theirs --results theirs", "the results folder itself"),
        ("merge theirs nowhere --results fresh", "nowhere does not exist"),
    ],
)
def test_what_cannot_be_merged_is_refused_before_any_work(
    words: str, told: str, theirs: Path, command: Callable[..., Any], tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    code, out, err = command(*words.split())
    assert (code, out) == (2, "")
    assert told in err
    assert sorted(tmp_path.rglob("*")) == before
