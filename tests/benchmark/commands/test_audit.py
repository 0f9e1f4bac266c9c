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


WORDED = """
import numpy as np
from benchmark import Split, Splits, register_dataset
from benchmark.data import NamedDataset


@register_dataset("audit-worded", title="Worded")
class Worded(NamedDataset):
    protocol, map_cutoff, backbone = "drawn", 0, None
    revision = "made by hand 1, 5 classes, of 0123456789abcdef0123"

    def __init__(self, argument=None, data_root=None):
        super().__init__()

    def check(self):
        pass

    def load(self):
        labels = np.arange(20) % 5
        return Splits(*(Split(features=np.eye(5)[labels] + part, labels=labels) for part in range(3)))
"""


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


def test_a_revision_in_words_is_shown_whole_and_a_hash_in_it_by_its_beginning(told: Told, tmp_path: Path) -> None:
    (tmp_path / "worded.py").write_text(WORDED)
    code, text = told("--datasets", "audit-worded", "--plugin", str(tmp_path / "worded.py"))
    assert code == 0
    assert text.startswith("audit-worded (revision made by hand 1, 5 classes, of 0123456789ab)\n")


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


def test_it_tells_which_of_the_methods_decline_the_data_and_why(told: Told, sound: Path) -> None:
    """--methods and --bits choose, as they do for a run."""
    columns = np.load(sound)["train_features"].shape[1]
    words = ("--datasets", f"features:{sound}", "--methods", "lsh", "pcah", "--bits", columns, columns + 1)
    declined = [line for line in told(*words)[1].splitlines() if "declined" in line]
    assert len(declined) == 1
    assert declined[0].startswith(f"  declined by pcah at {columns + 1} bits: ")
    assert "declined" not in told(*words[:-1])[1]
    assert "declined" not in told("--datasets", f"features:{sound}")[1]


def test_a_method_for_labels_declines_pairs(told: Told, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    arrays = {f"{part}_features": rows + at for at, part in enumerate(("train", "query", "database"))}
    labels = {f"{part}_labels": np.arange(8) % 2 for part in ("query", "database")}
    pairs = {"train_pairs": np.array([[0, 1], [0, 2]]), "train_similar": np.array([0, 1])}
    np.savez(tmp_path / "some.npz", **arrays, **labels, **pairs)
    _, text = told(f"pairs:{tmp_path / 'some.npz'}", "--methods", "all", "--bits", 4)
    assert "  declined by sdh at 4 bits: learns from class labels" in text
    assert "declined by ksh" not in text


def test_an_unknown_method_is_told_before_any_work(told: Told, sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", f"features:{sound}", "--methods", "nope"]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert "unknown method 'nope'" in err
