"""`run`: one grid of every kind, run, run again, with plugins and with failures."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import get_dataset
from benchmark.deep.profile import load_profile
from benchmark.execution.grid import training_id
from benchmark.execution.runner import Summary
from benchmark.execution.store import Store
from benchmark.execution.tuned_settings import write_tuned


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_run_a_rerun_and_the_same_numbers_again(
    command: Callable[..., Any], tmp_path: Path, own_features: Path
) -> None:
    """One grid of every kind: results, report, nothing trained twice, and the same numbers in another folder."""
    words = ["--datasets", "features:mine.npz", "--methods", "lsh", "itq", "dph", "--bits", "8", "16"]
    (tmp_path / "short.toml").write_text('[training]\ntrain = "hash"\nsteps = 60\nlearning_rate = 0.01\n')
    words += ["--profile", "short.toml"]
    code, out, err = command(*words)
    assert code == 0, err
    assert "6 to run" in out
    assert "index.html" in out
    assert (tmp_path / "reports" / "default" / "index.html").is_file()
    code, out, _ = command(*words)
    assert code == 0
    assert "6 done; 0 to run" in out
    command(*words, "--results", "again", "--no-report")
    first, second = ({r.key: r for r in Store(name).records()} for name in ("results", "again"))
    assert set(first) == set(second)
    for key, record in first.items():
        assert record.metrics == second[key].metrics
        assert record.metrics["map"] > 0.5
        one, two = Store("results").payload(record), Store("again").payload(second[key])
        assert all(np.array_equal(one[name], two[name], equal_nan=True) for name in one)


def test_an_outside_plugin_runs_and_an_order_of_methods_changes_no_key(
    command: Callable[..., Any], tmp_path: Path, own_features: Path, parity: str
) -> None:
    (tmp_path / "parity.py").write_text(parity)
    words = ["--datasets", "features:mine.npz", "--bits", "16", "--no-report", "--plugin", "parity.py"]
    code, out, err = command(*words, "--methods", "test-parity", "lsh")
    assert code == 0, err
    assert "test-parity" in out
    code, out, _ = command(*words, "--methods", "lsh", "test-parity", "--dry-run")
    assert "2 done; 0 to run" in out


def test_a_failing_method_is_recorded_rerun_and_gives_exit_code_one(
    command: Callable[..., Any], tmp_path: Path, own_features: Path, parity: str
) -> None:
    (tmp_path / "bad.py").write_text(parity.replace("test-parity", "test-bad").replace("1, -1", "1, 0"))
    words = ["--datasets", "features:mine.npz", "--methods", "test-bad", "lsh", "--bits", "16", "--no-report"]
    code, out, _ = command(*words, "--plugin", "bad.py")
    assert code == 1
    assert "invalid_codes" in out
    code, out, _ = command(*words, "--plugin", "bad.py")
    assert (code, "1 done, 1 failed; 1 to run" in out) == (1, True), out
    code, out, _ = command(*words, "--plugin", "bad.py", "--keep-failed")
    assert (code, "0 to run" in out) == (1, True)
    code, out, _ = command(*words, "--plugin", "bad.py", "--only-failed")
    assert "1 to run" in out


def test_a_plan_imports_no_torch_unless_a_network_is_to_be_checked(tmp_path: Path) -> None:
    """E: a bad --backbone is told before any work; a plan of what data sets name themselves costs no torch."""
    program = (
        "import sys; from benchmark.commands import main;"
        "code = main(['--datasets', 'coco', '--methods', 'lsh', '--bits', '8', '--dry-run']);"
        "sys.exit(code or 3 * ('torch' in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True).returncode == 0


def test_the_way_to_go_on_is_in_the_words_that_were_typed(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, own_features: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/local/bin/hashbench"])
    monkeypatch.setattr("benchmark.execution.runner.run_cells", lambda *_: Summary(interrupted=True))
    words = ["--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "--name", "two words"]
    code, _out, err = command(*words)
    assert code == 130
    assert err == f"interrupted; to go on: hashbench {shlex.join(words)}\n"


@pytest.mark.parametrize("place", ["--results", "--reports"])
def test_a_place_that_cannot_be_written_costs_no_work(
    command: Callable[..., Any], own_features: Path, tmp_path: Path, place: str
) -> None:
    """E: a read-only folder, or a file where a folder is meant, is told before the first cell."""
    (tmp_path / "taken").write_text("a file")
    code, _out, err = command("--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", place, "taken/x")
    assert (code, "taken/x" in err) == (2, True)
    assert not (tmp_path / "results").exists()


def test_a_file_of_winners_serves_its_methods_and_the_others_take_what_they_have(
    command: Callable[..., Any], tmp_path: Path, own_features: Path
) -> None:
    """Which those are is told once; a file that serves nobody is a mistake."""
    known = {"revision": get_dataset("features:mine.npz").revision, "training": training_id(load_profile("quick"))}
    winner = {"method": "itq", "bits": 8, "params": {"iterations": 7}, "trials": [], **known}
    write_tuned(tmp_path / "mine.json", [winner])
    words = ["--datasets", "features:mine.npz", "--bits", "8", "16", "--dry-run", "--tuned", "mine.json"]
    code, out, err = command(*words, "--methods", "lsh", "itq", "sdh")
    assert code == 0, err
    told = [line for line in out.splitlines() if line.startswith("note: ")]
    assert told == ["note: mine.json has no settings of lsh, sdh for mine: their defaults are used"]
    assert [line.split(maxsplit=2)[2] for line in out.splitlines() if line.startswith("todo")] == [
        *(f"lsh mine {bits} bits seed 0" for bits in (8, 16)),
        *(f"itq iterations=7 mine {bits} bits seed 0" for bits in (8, 16)),
        *(f"sdh mine {bits} bits seed 0" for bits in (8, 16)),
    ]
    code, out, err = command(*words, "--methods", "lsh", "sdh")
    assert (code, out) == (2, "")
    assert "mine.json: nothing in it was tuned for lsh, sdh on 'mine' as they are now" in err


def test_beside_a_file_of_winners_what_ships_is_used(command: Callable[..., Any], tmp_path: Path) -> None:
    known = {"revision": get_dataset("coco").revision, "training": training_id(load_profile("quick"))}
    write_tuned(tmp_path / "mine.json", [{"method": "agh", "bits": 16, "params": {}, "trials": [], **known}])
    words = ["--datasets", "coco", "--bits", "16", "--dry-run", "--profile", "quick", "--methods", "agh", "dph"]
    code, out, err = command(*words, "--tuned", "mine.json")
    assert code == 0, err
    assert "note: mine.json has no settings of dph for coco-mini: those that ship are used\n" in out
    shipped = next(line for line in command(*words)[1].splitlines() if " dph " in line)
    assert shipped.split()[2:] in [line.split()[2:] for line in out.splitlines()]


def test_a_plan_says_what_tuning_would_come_first(command: Callable[..., Any], own_features: Path) -> None:
    words = ["--datasets", "features:mine.npz", "--methods", "itq", "--bits", "8", "--dry-run"]
    assert "settings of itq were not tuned for mine; add --tune\n" in command(*words)[1]
    assert "settings of itq were not tuned for mine; --tune will, before the run\n" in command(*words, "--tune")[1]
