"""A record: every schema loads, what cannot be read says why, and why there is no score is one line."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from benchmark.execution.record import GOOD, MAPPINGS, OLD_ARRAYS, SCHEMA_VERSION, Record, Status, Unreadable, arrays_of

HISTORY = Path(__file__).parents[2] / "history"
CELL = {"method": "itq", "dataset": "nus", "bits": 16, "seed": 0}


def raw(**changes: Any) -> dict[str, Any]:
    """A sound record as it is stored."""
    parts = {"dataset": {"revision": "r1"}}
    return {"key": "k", "cell": CELL, "parts": parts, "status": "ok", "metrics": {"map": 0.5}, "schema": 2} | changes


@pytest.mark.parametrize("schema", range(1, SCHEMA_VERSION + 1))
def test_every_schema_ever_written_is_read(schema: int) -> None:
    files = sorted((HISTORY / f"schema{schema}" / "cells").glob("*.json"))
    assert files
    for file in files:
        stored = json.loads(file.read_text())
        found = Record.from_dict(stored)
        assert (found.schema, found.key) == (schema, file.stem)
        assert found.metrics["map"] == stored["metrics"]["map"]
        assert found.revision == stored["parts"]["dataset"]["revision"]


def test_what_is_written_is_read_as_it_was() -> None:
    error = {"kind": "E", "message": "m", "traceback": "t"}
    record = Record("k", CELL, {"dataset": {"revision": "r"}}, "failed", error=error, seconds={"fit": 0.1})
    assert Record.from_dict(json.loads(json.dumps(record.as_dict()))) == record


def test_a_field_of_another_version_is_passed_over() -> None:
    assert Record.from_dict(raw(weather="fine")).ok


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schema": SCHEMA_VERSION + 1}, f"schema {SCHEMA_VERSION + 1} is newer than {SCHEMA_VERSION}"),
        ({"schema": 0}, "schema 0, expected a number from 1"),
        ({"schema": "2"}, "schema '2'"),
        ({"schema": None}, "schema None"),
        ({"status": "fine"}, "status 'fine', expected one of ok, skipped"),
        ({"cell": {}}, "its cell lacks one of method, dataset, bits, seed"),
        ({"cell": "itq"}, "its cell lacks one of"),
        ({"cell": CELL | {"bits": "16"}}, "its cell has bits '16', expected int"),
        ({"cell": CELL | {"method": 7}}, "its cell has method 7, expected str"),
        ({"parts": {}}, "its parts lack the data set's revision"),
        ({"parts": {"dataset": "nus"}}, "its parts lack the data set's revision"),
        ({"metrics": {}}, "it is ok but its metrics have no MAP"),
        ({"metrics": {"map": "0.5"}}, "it is ok but its metrics have no MAP"),
        ({"metrics": [0.5]}, "its metrics is [0.5], expected names with values"),
        ({"asked": "features:x.npz"}, "its asked is 'features:x.npz', expected names with values"),
        ({"provenance": None}, "its provenance is None, expected names with values"),
        ({"error": "it broke"}, "its error is 'it broke', expected names with values"),
    ],
)
def test_what_cannot_be_read_says_why(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Unreadable) as caught:
        Record.from_dict(raw(**changes))
    assert words in str(caught.value)


def test_all_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(Unreadable, match=r"^it lacks key, parts, status$"):
        Record.from_dict({"schema": 2, "cell": CELL})


def test_whatever_is_stored_is_read_or_unreadable() -> None:
    """A reader need not fear any other error, whichever two fields hold whatever."""
    odd = (None, 0, -1.5, True, "", "ok", [], ["x"], {}, {"dataset": None}, {"map": []})
    read = 0
    for (one, first), (two, second) in itertools.product(itertools.product(sorted(raw()), odd), repeat=2):
        try:
            found = Record.from_dict(raw(**{one: first, two: second}))
        except Unreadable:
            continue
        assert found.status in get_args(Status)
        assert found.revision == "r1"
        assert all(isinstance(getattr(found, name), dict) for name in MAPPINGS)
        assert isinstance(found.reason, str)
        read += 1
    assert read  # of a key nothing is asked here


@pytest.mark.parametrize("status", get_args(Status))
def test_only_ok_is_ok_and_a_failure_without_a_score_can_be_read(status: str) -> None:
    found = Record.from_dict(raw(status=status, **({} if status == "ok" else {"metrics": {}})))
    assert found.ok == (status == "ok")
    assert set(GOOD) == {"ok", "skipped"}


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        ("ok", None, ""),
        ("ok", {"message": "a warning"}, ""),
        ("oom", None, "oom"),
        ("invalid_codes", {"message": ""}, "invalid_codes"),
        ("invalid_codes", {"message": "codes hold 0"}, "invalid codes: codes hold 0"),
        ("failed", {"message": "first line\n  the last line \n\n"}, "failed: the last line"),
        ("timeout", {"kind": "timeout"}, "timeout"),
    ],
)
def test_the_reason_is_the_status_and_the_last_line(status: Any, error: Any, reason: str) -> None:
    assert Record("k", CELL, {}, status, error=error).reason == reason


def test_arrays_of_the_first_schema_get_their_present_names() -> None:
    stored = {"radius_precision": 1, "radius_recall": 2, "radius_items": 3, "ap": 4}
    old = Record("k", CELL, {}, schema=1)
    assert arrays_of(old, stored) == {
        "precision_at_radius": 1, "recall_at_radius": 2, "items_at_radius": 3, "ap": 4
    }  # fmt: skip
    present = dict.fromkeys((*OLD_ARRAYS.values(), "radius_precision"), 0)
    assert arrays_of(Record("k", CELL, {}), present) == present
