"""The curves of a training: TensorBoard reads back what the record holds, and nothing else changes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from benchmark import UsageError
from benchmark.execution.options import Options
from benchmark.execution.record import Record
from benchmark.execution.training_log import cell_folder, check_log, write_log

CELL = {"method": "deep", "dataset": "features:a/b", "bits": 8, "seed": 0}


def record(training: dict[str, Any]) -> Record:
    return Record("0123456789", CELL, {"dataset": {"revision": "r"}}, "ok", training=training)


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Name -> (step, value), as TensorBoard itself reads them."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder))
    read.Reload()
    return {name: [(one.step, one.value) for one in read.Scalars(name)] for name in read.Tags()["scalars"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tensorboard:", "needs a folder"),
        ("tensorboard", "needs a folder"),
        ("runs", "expected tensorboard:DIR"),
        ("wandb:runs", "expected tensorboard:DIR"),
        ("", "expected tensorboard:DIR"),
    ],
)
def test_a_bad_word_is_a_sentence(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Options(log=text)


def test_where_the_package_is_missing_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'hashbench\[tensorboard\]'"):
        check_log("tensorboard:runs")


def test_a_folder_that_cannot_be_written_is_told_before_any_work(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UsageError, match=r"--log .*taken"):
        check_log(f"tensorboard:{tmp_path / 'taken'}")


def test_numbers_come_back_at_their_steps_and_the_last_run_of_a_cell_stands(tmp_path: Path) -> None:
    write_log(tmp_path, record({"loss": [9.0]}))
    kept = record({"step": [0, 50], "loss": [2.0, 0.5], "other": [1, 2, 3], "odd": [float("nan")], "word": "x"})
    write_log(tmp_path, kept)
    assert cell_folder(kept) == "deep features:a_b 8 bits seed 0 01234567"
    found = curves(tmp_path / cell_folder(kept))
    assert found == {"loss": [(0, 2.0), (50, 0.5)], "other": [(0, 1.0), (1, 2.0), (2, 3.0)]}


def test_a_method_without_a_history_has_no_folder(tmp_path: Path) -> None:
    write_log(tmp_path, record({}))
    assert not [*tmp_path.iterdir()]


def test_a_run_that_is_watched_stores_what_one_does_that_is_not(lab: Any) -> None:
    """The same keys, the same numbers; and the event files hold the histories of the records."""
    pytest.importorskip("tensorboard")
    lab.features("mine.npz")
    method = lab.plugin("curved", "self.history = {'loss': [3.0, 1.0, 0.5]}")
    words = ("--plugin", method, "--datasets", "features:mine.npz", "--methods", "curved", "lsh")
    lab.run(*words, results="plain")
    lab.run(*words, "--log", "tensorboard:runs", results="watched")
    plain, watched = lab.records("plain"), lab.records("watched")
    assert set(plain) == set(watched)
    assert {key: one["metrics"] for key, one in plain.items()} == {key: one["metrics"] for key, one in watched.items()}
    (folder,) = (lab.folder / "runs").iterdir()  # random planes have no history
    assert folder.name.startswith("curved mine 8 bits seed 0 ")
    assert curves(folder) == {"loss": [(0, 3.0), (1, 1.0), (2, 0.5)]}


def test_bad_words_end_with_code_2_before_any_work(lab: Any) -> None:
    lab.features("mine.npz")
    done = lab.command(*lab.words("--datasets", "features:mine.npz", "--methods", "lsh", "--log", "tensorboard:"))
    assert done.code == 2
    assert "needs a folder" in done.text
    assert not (lab.folder / "results").exists()
