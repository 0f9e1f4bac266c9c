"""Codes that others made: their key, their name, their rows, and what is scored of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.data.audit import audit
from benchmark.errors import UsageError
from benchmark.evaluation.codes import pack
from benchmark.evaluation.metrics import evaluate
from benchmark.execution.given_codes import (
    GivenCodes,
    check_free_name,
    check_rows,
    file_outcome,
    filed_otherwise,
    score_given,
    versions_today,
)
from benchmark.execution.grid import choose_datasets
from benchmark.execution.plan import stale_keys
from benchmark.execution.store import Store

ROWS = {"query": 20, "database": 60}


@pytest.fixture
def given(tmp_path: Path) -> GivenCodes:
    """Random codes of 12 bits for a small file of features."""
    random = np.random.default_rng(0)
    arrays = {}
    for part, rows in {"train": 30, **ROWS}.items():
        arrays |= {f"{part}_features": random.normal(size=(rows, 4)), f"{part}_labels": np.arange(rows) % 3}
    np.savez(tmp_path / "x.npz", **arrays)
    packed = {part: pack(random.integers(0, 2, (rows, 12))) for part, rows in ROWS.items()}
    return GivenCodes("theirs", choose_datasets([f"features:{tmp_path / 'x.npz'}"])[0], 12, 0, packed)


def outcome_of(given: GivenCodes):
    splits = given.choice.load()
    return score_given(given, splits, audit(splits, given.choice.dataset.map_cutoff), 1)


def test_the_score_is_the_evaluators_and_the_record_says_codes_only(given: GivenCodes) -> None:
    record = outcome_of(given).record
    splits = given.choice.load()
    expected = evaluate(
        given.packed["query"], given.packed["database"], splits.query.labels, splits.database.labels,
        given.choice.dataset.map_cutoff, bits=12,
    )  # fmt: skip
    assert record.metrics["map"] == expected.map
    assert record.codes_only
    assert record.titles["method"] == "theirs (codes only)"
    assert (record.seconds, record.training, record.cell["profile"]) == ({}, {}, "")


def test_a_key_changes_with_codes_name_length_and_seed_and_with_nothing_else(given: GivenCodes) -> None:
    flipped = {**given.packed, "query": given.packed["query"] ^ np.uint8(128)}
    others = [replace(given, **change) for change in ({"name": "b"}, {"seed": 1}, {"bits": 11}, {"packed": flipped})]
    assert len({given.key, *(one.key for one in others)}) == 5
    assert replace(given, packed={part: codes.copy() for part, codes in given.packed.items()}).key == given.key


def test_what_is_filed_is_current_until_the_evaluator_changes(given: GivenCodes, tmp_path: Path, monkeypatch) -> None:
    store = Store(tmp_path / "results")
    file_outcome(outcome_of(given), store)
    assert [record.key for record in store.records()] == [given.key]
    assert store.verify().sound == 1
    assert store.has_dataset(given.parts["dataset"]["revision"])
    assert not stale_keys(store)
    assert filed_otherwise(given, store) == []
    other = replace(given, packed={**given.packed, "query": ~given.packed["query"]})
    assert [one.key for one in filed_otherwise(other, store)] == [given.key]
    monkeypatch.setattr("benchmark.execution.plan.EVALUATOR_VERSION", versions_today()["evaluator"] + 1)
    assert stale_keys(store) == {given.key}


@pytest.mark.parametrize("name", ["v1.2-theirs", "größe_8", "x" * 60])
def test_a_name_as_methods_have_is_taken(name: str) -> None:
    assert check_free_name(name) == name


@pytest.mark.parametrize("name", ["bad/../name", "..", "a\\b", "a b", " ", "", "a\nb", "-x", "all", "x" * 61])
def test_what_is_no_name_of_a_method_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="expected a name of 1 to 60 letters, digits, dashes and dots"):
        check_free_name(name)


def test_a_methods_name_a_wrong_number_of_rows_and_a_held_lock_are_refused(given: GivenCodes, tmp_path: Path) -> None:
    assert check_free_name("theirs") == "theirs"
    with pytest.raises(UsageError, match="a method of hashbench has this name"):
        check_free_name("itq")
    few = replace(given, packed={**given.packed, "database": given.packed["database"][:59]})
    with pytest.raises(UsageError, match="database codes: 59 rows, expected 60: one for each database row of x"):
        check_rows(few, given.choice.load())
    store = Store(tmp_path / "results")
    with store.lock(given.key), pytest.raises(UsageError, match="being written by another process"):
        file_outcome(outcome_of(given), store)
