"""What is committed as reference holds: its tables are those of its records, to the last digit, and it stays small.

The records of results/reference are put there by `merge`, the tables by `report --results results/reference --reports
reports --name reference`. Where there are no records yet, there is nothing to hold.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmark.execution.merging import merge
from benchmark.execution.store import Store
from benchmark.report import render
from tests.benchmark.conftest import Synthetic

ROOT = Path(__file__).parents[1]
RESULTS, REPORTS = ROOT / "results" / "reference", ROOT / "reports" / "reference"
LARGEST = 30 * 10**6  # bytes
there = pytest.mark.skipif(not (RESULTS / "cells").is_dir(), reason="results/reference holds no records yet")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are compared; figures would take minutes."""

    def write_only(drawing: Any, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix in ("pdf", "png", "csv"):
            (folder / f"{drawing.name}.{suffix}").write_bytes(b"")

    monkeypatch.setattr("benchmark.report.composition.draw_figure", write_only)
    monkeypatch.setattr("benchmark.report.composition.PARALLEL_FROM", 10**9)


def differing_tables(results: Path, tables: Path, out: Path) -> list[str]:
    """The committed tables that the records do not make again. Stale records count: the tables are theirs."""
    render(Store(results), out)
    found = {path.name: path.read_bytes() for path in (out / "tables").iterdir()}
    return [path.name for path in sorted(tables.iterdir()) if found.get(path.name) != path.read_bytes()]


@there
def test_the_reference_tables_are_those_of_its_records(undrawn: None, tmp_path: Path) -> None:
    assert differing_tables(RESULTS, REPORTS / "tables", tmp_path / "out") == []


@there
def test_every_reference_record_is_whole() -> None:
    verdict = Store(RESULTS).verify(quarantine=False)
    assert verdict.faults == []
    assert verdict.sound > 0


@there
@pytest.mark.slow
def test_every_reference_record_scores_again(tmp_path: Path) -> None:
    found = [one for one in merge(Store(RESULTS), Store(tmp_path / "again")) if "holds no codes" not in one.reason]
    assert {one.fate for one in found} == {"taken"}, [one for one in found if one.fate != "taken"]


def test_the_reference_stays_small() -> None:
    sizes = [path.stat().st_size for folder in (RESULTS, REPORTS) for path in folder.rglob("*") if path.is_file()]
    assert sizes
    assert sum(sizes) <= LARGEST


@pytest.mark.parametrize("digit", [False, True])
def test_a_table_with_another_digit_would_be_found(digit: bool, undrawn: None, tmp_path: Path) -> None:
    Synthetic(tmp_path / "results").grid(bits=(16,))
    render(Store(tmp_path / "results"), tmp_path / "reports")
    table = next((tmp_path / "reports" / "tables").glob("map*.csv"))
    if digit:
        text = table.read_text()
        place = text.rindex("0.") + 3
        table.write_text(f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}")
    found = differing_tables(tmp_path / "results", tmp_path / "reports" / "tables", tmp_path / "again")
    assert found == [table.name] * digit


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("results/reference/cells/abc.json", False),
        ("results/reference/cells/abc.def.npz", False),
        ("results/reference/datasets/abc.npz", False),
        ("results/reference/locks/abc.lock", True),
        ("results/reference/models/abc.npz", True),
        ("reports/reference/tables/map.csv", False),
        ("reports/reference/leaderboard.html", False),
        ("results/cells/abc.json", True),
        ("reports/default/index.html", True),
    ],
)
def test_git_takes_the_reference_and_nothing_else_of_results_and_reports(path: str, ignored: bool) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    done = subprocess.run(["git", "-C", str(ROOT), "check-ignore", "-q", "--no-index", path], check=False)
    assert (done.returncode == 0) is ignored
