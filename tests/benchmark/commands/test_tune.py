"""`tune`: what its words mean; which trials there are and which wins is in execution/test_tuning.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WORDS = ("tune", "--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "--folds", "2", "--trials", "1")


def test_winners_are_written_and_the_way_to_use_them_is_told(
    command: Callable[..., Any], own_features: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/local/bin/hashbench"])
    code, out, err = command(*WORDS, "--out", "my winners.json")
    assert code == 0, err
    assert (tmp_path / "my winners.json").is_file()
    assert "use them with: hashbench --tuned 'my winners.json'" in out


def test_a_place_for_winners_is_asked_for_before_any_trial(
    command: Callable[..., Any], own_features: Path, tmp_path: Path
) -> None:
    """E: hours of trials must not end in a folder that is not there."""
    code, out, err = command(*WORDS, "--out", "nowhere/tuned.json")
    assert (code, out) == (2, "")
    assert "--out nowhere/tuned.json: its folder does not exist" in err
    assert not (tmp_path / "results").exists()


def test_more_folds_than_rows(command: Callable[..., Any], own_features: Path) -> None:
    code, _out, err = command(*WORDS, "--folds", "121")
    assert (code, "--folds 121: 'mine' has 120 training rows" in err) == (2, True)


def test_folds_of_rows_without_labels_cannot_be_scored(command: Callable[..., Any], own_features: Path) -> None:
    with np.load(own_features) as whole:
        rows = {name: array for name, array in whole.items() if name != "train_labels"}
    np.savez(own_features.with_name("told.npz"), **rows, train_triplets=np.array([[0, 1, 2], [3, 4, 5]]))
    for words in (("tune",), ("run", "--tune")):
        told = (*words, "--datasets", "triplets:told.npz", "--methods", "dtsh", "--bits", "8", "--trials", "1")
        code, _out, err = command(*told)
        assert (code, "'told' has no labels of training rows" in err) == (2, True), err
