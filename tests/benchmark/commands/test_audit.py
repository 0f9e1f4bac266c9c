"""`audit`: every data set named is told of, and the exit code says whether one has an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.commands.main import main

Told = Callable[..., tuple[int, str]]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """Runs `audit`; gives exit code and output."""
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))

    def call(*words: Any) -> tuple[int, str]:
        return main(["audit", *map(str, words)]), capsys.readouterr().out

    return call


@pytest.fixture
def sound(own_features: Path) -> Path:
    return own_features


@pytest.fixture
def overlapping(sound: Path) -> Path:
    """A query has the name of a database row."""
    with np.load(sound) as stored:
        arrays = {name: stored[name] for name in stored.files}
    for part in ("train", "query", "database"):
        arrays[f"{part}_ids"] = np.array([f"{part:<8} {row}" for row in range(len(arrays[f"{part}_labels"]))])
    arrays["query_ids"][0] = arrays["database_ids"][0]
    arrays["query_features"][0] = arrays["database_features"][0]
    np.savez(sound.with_name("overlapping.npz"), **arrays)
    return sound.with_name("overlapping.npz")


def test_sizes_and_revision_of_a_sound_data_set(told: Told, sound: Path) -> None:
    from benchmark import get_dataset

    code, text = told("--datasets", f"features:{sound}")
    assert code == 0
    assert text.startswith(f"mine (revision {get_dataset(f'features:{sound}').revision[:12]})\n")
    for rows in ("120", "20", "160"):
        assert rows in text


def test_an_error_of_any_of_them_is_the_exit_code_and_the_others_are_told_of(
    told: Told, sound: Path, overlapping: Path
) -> None:
    code, text = told("--datasets", f"features:{overlapping}", f"features:{sound}")
    assert code == 1
    assert "overlapping (revision" in text
    assert "mine (revision" in text


def test_an_overlap_can_be_allowed(told: Told, overlapping: Path) -> None:
    assert told("--datasets", f"features:{overlapping}")[0] == 1
    assert told("--datasets", f"features:{overlapping}", "--allow-overlap")[0] == 0
