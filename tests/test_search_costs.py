"""performance/search.py: what it counts is right, what it repeats or extrapolates is said, what it keeps is read."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.commands import main
from benchmark.evaluation.codes import pack
from benchmark.execution.store import Store

FILE = Path(__file__).parents[1] / "performance" / "search.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("performance_search", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("own", "rows", "gigabytes", "repeats", "extrapolates"),
    [(50, 40, 1, False, False), (50, 120, 1, True, False), (500, 120, 40 * 4 * 3 / 2**30, False, True),
     (7, 120, 40 * 4 * 3 / 2**30, True, True)],
)  # fmt: skip
def test_a_float_scan_says_where_rows_are_repeated_or_not_all_measured(
    script: Any, own: int, rows: int, gigabytes: float, repeats: bool, extrapolates: bool
) -> None:
    source = np.random.default_rng(0).random((own, 3), np.float32)
    made = script.FloatRows(source, rows, gigabytes)
    assert np.array_equal(made.features, source[np.arange(len(made.features)) % own])
    told = made.told([2.0, 1.0, 9.0])
    assert told.seconds == pytest.approx(2.0 * rows / len(made.features))
    assert (f"{own:,} rows repeated" in told.words) == repeats
    assert (f"measured at {len(made.features):,}, taken to cost in proportion" in told.words) == extrapolates


@pytest.mark.parametrize("bits", [8, 32])
def test_what_a_ball_finds_is_what_counting_finds(script: Any, bits: int) -> None:
    codes = script.made_codes("clustered", bits, 300, 20)
    labels = [np.packbits(np.eye(4, dtype=np.uint8)[np.arange(rows) % 4], axis=1) for rows in (20, 300)]
    bit = [np.unpackbits(part, axis=1) for part in (codes.queries, codes.database)]
    distances = (bit[0][:, None] != bit[1][None]).sum(axis=2)
    ball = distances <= 2
    found = script.found_within(codes)
    assert found["in the ball"] == pytest.approx(ball.sum(axis=1).mean())
    assert found["empty"] == pytest.approx(1 - ball.any(axis=1).mean())
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :10]
    assert found["recall"] == pytest.approx(np.take_along_axis(ball, nearest, axis=1).mean())
    of_cell = script.found_within(script.Codes("x", bits, codes.queries, codes.database, *labels))
    wanted = (np.arange(20) % 4)[:, None] == np.arange(300) % 4
    assert of_cell["recall"] == pytest.approx((ball & wanted).sum(axis=1).mean() / 75)


def test_searches_are_timed_with_the_codes_they_touch(script: Any) -> None:
    codes = script.made_codes("random", 16, 500, 30)
    floats = script.FloatRows(np.ones((10, 4), np.float32), 500, 1)
    found, scan = script.time_searches(codes, floats, faiss=False)
    assert {name: one.probed for name, one in found.items() if name != "multi"} == {"scan": 0, "lookup": 137}
    assert found["scan"].touched == 500
    assert found["scan"].bytes == 2
    assert (scan.columns, scan.own, scan.rows) == (4, 10, 500)
    assert all(0 < one.median <= one.slowest for one in found.values())


def test_what_is_kept_stands_in_the_record(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    parts = {}
    for part, rows in (("train", 60), ("query", 10), ("database", 80)):
        parts |= {f"{part}_features": random.random((rows, 12), np.float32), f"{part}_labels": np.arange(rows) % 4}
    np.savez("mine.npz", **parts)
    words = ["--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "16", "--no-report", "--jobs", "1"]
    assert main(words) == 0
    before = next(Store("results").records())
    monkeypatch.setattr(sys, "argv", ["search.py", "lsh 16", "--sizes", "400", "--queries", "8", "--keep"])
    script.main()
    after = next(Store("results").records())
    assert (after.payload, after.metrics) == (before.payload, before.metrics)
    assert (after.search["codes"], after.search["columns"], after.search["scan_touched"]) == (400, 12, 400)
    assert {f"{name}{end}" for name in ("scan", "lookup", "multi") for end in ("", "_99", "_bytes")} < {*after.search}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["zebra"], "error: no cell of results matches 'zebra'"),
        (["--sizes", "abc"], "error: argument --sizes: invalid int value: 'abc'; see 'search.py --help'"),
    ],
)
def test_bad_words_are_one_line_before_any_work(
    script: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: Any,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["search.py", *words])
    with pytest.raises(SystemExit) as end:
        script.main()
    out, err = capsys.readouterr()
    assert (end.value.code, out, err.count("\n")) == (2, "", 1)
    assert told in err


def test_clustered_codes_are_packed_as_codes_are(script: Any) -> None:
    codes = script.made_codes("clustered", 24, 50, 2)
    assert codes.database.shape == pack(np.ones((50, 24))).shape
