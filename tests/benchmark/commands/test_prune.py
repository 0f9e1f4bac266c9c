"""`prune`: says what there is, says what would go, and drops it only when told to."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.commands.arguments import size_words
from benchmark.commands.prune import age
from benchmark.execution.store import Store

WORDS = ["--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "--no-report", "--jobs", "1"]


def test_nothing_goes_without_yes(command: Callable[..., Any], own_features: Path) -> None:
    command(*WORDS, "--keep-models")
    store = Store("results")
    code, out, _ = command("prune")
    assert code == 0
    assert "models                   1" in out
    code, out, _ = command("prune", "--models")
    assert (code, "model of lsh mine 8 bits seed 0" in out, "add --yes" in out) == (0, True, True)
    assert store.has_model(next(store.records()))
    assert "nothing to drop" in command("prune", "--models", "--older-than", "1d")[1]
    assert "nothing to drop" in command("prune", "--models", "--keep-under", "1G")[1]
    code, out, _ = command("prune", "--models", "--yes")
    assert (code, "1 thing, " in out, "dropped" in out) == (0, True, True)
    assert not store.has_model(next(store.records()))
    assert command("verify")[0] == 0


def test_codes_go_and_scores_stay(command: Callable[..., Any], own_features: Path) -> None:
    """The cell counts as done, the report and `compare` see what they saw; what needs codes says why it has none."""
    command(*WORDS, "--keep-models")
    store = Store("results")
    (before,) = store.records()
    arrays = store.payload(before)
    code, out, _ = command("prune", "--codes")
    size = size_words(arrays["query_codes"].nbytes + arrays["database_codes"].nbytes)
    assert (code, "codes of lsh mine 8 bits seed 0" in out, size in out) == (0, True, True)
    assert command("prune", "--codes", "--yes")[0] == 0
    (after,) = store.records()
    left = store.payload(after)
    assert set(arrays) - set(left) == {"query_codes", "database_codes"}
    assert all(np.array_equal(arrays[name], left[name], equal_nan=True) for name in left)
    assert (after.key, after.metrics, after.model) == (before.key, before.metrics, before.model)
    assert len(list(Path("results/cells").iterdir())) == 2
    assert command("verify")[0] == 0
    assert "nothing to drop" in command("prune", "--codes")[1]
    assert "0 to run" in command(*WORDS)[1]
    assert command("report")[0] == 0
    out = command("merge", "results", "--results", "other")[1]
    assert "prune --codes drops codes" in out


def test_a_model_is_kept_for_a_cell_whose_codes_are_gone(command: Callable[..., Any], own_features: Path) -> None:
    """Trained again, it is compared by its scores, and its codes are there again."""
    command(*WORDS)
    command("prune", "--codes", "--yes")
    assert command("keep", "lsh mine")[0] == 0
    store = Store("results")
    (record,) = store.records()
    assert store.has_model(record)
    assert "database_codes" in store.payload(record)


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--yes"], "nothing is named to drop"), (["--models", "--older-than", "soon"], "is not an age"),
     (["--models", "--keep-under", "much"], "is not a size"), (["--results", "no"], "does not exist")],
)  # fmt: skip
def test_bad_input_is_one_line(
    command: Callable[..., Any], own_features: Path, tmp_path: Path, words: list[str], told: str
) -> None:
    (tmp_path / "results").mkdir()
    code, _, err = command("prune", *words)
    assert (code, told in err, err.count("\n")) == (2, True, 1)


def test_ages() -> None:
    assert [age(text) for text in ("12h", "1d", "2w")] == [43200, 86400, 1209600]
    for text in ("", "d", "-1d", "1.5d", "1x", "9999999d"):
        with pytest.raises(argparse.ArgumentTypeError):
            age(text)
