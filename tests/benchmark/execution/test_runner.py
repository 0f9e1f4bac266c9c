"""Runs of a grid: what is run again and what is not, what goes wrong in one cell and stays there."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmark.execution import runner, supervise
from benchmark.execution import store as store_module
from benchmark.execution.options import Options
from benchmark.execution.progress import Lines

ROOT = Path(__file__).parents[3]
HOSTILE = ROOT / "tests" / "hostile"
# What becomes of each hostile method: the status of its cell, and a word of its error.
FATES = {
    "nan-codes": ("invalid_codes", "nan"),
    "zero-codes": ("invalid_codes", "0"),
    "wrong-shape": ("invalid_codes", "5"),
    "constant-codes": ("ok", ""),
    "mutates-input": ("failed", "read-only"),
    "reseeds": ("ok", ""),
    "exits": ("failed", "sys.exit(0)"),
    "vanishes": ("failed", "code 0 without a result"),
    "segfaults": ("failed", "SIGSEGV"),
    "loops": ("timeout", "not done after 1.5 s"),
    "eats-memory": ("oom", "limit is 1024 MiB"),
    "prints": ("ok", ""),
    "unpicklable": ("failed", "function"),
    "litters": ("ok", ""),
    "deletes-input": ("ok", ""),
    "kills-parent": ("failed", "SIGKILL"),
    "forks-away": ("ok", ""),
}
SLEEPY = """
import time
from pathlib import Path
import numpy as np
from benchmark import Split, register_method

@register_method("sleepy", title="Sleepy", family="control")
class Sleepy:
    def __init__(self, bits: int, seed: int = 0) -> None:
        self.bits = bits

    def fit(self, train: Split):
        Path(FOLDER, f"{time.time_ns()}").touch()
        time.sleep(SECONDS)
        return self

    def encode(self, split: Split) -> np.ndarray:
        return np.where(split.features[:, [0] * self.bits] >= 0, 1, -1).astype(np.int8)
"""


def sleepy(bench: Any, seconds: float) -> Path:
    """Add a method that takes so long, and leaves a file for each cell it starts, in the folder returned."""
    started = bench.folder / "started"
    started.mkdir()
    path = bench.folder / "sleepy.py"
    path.write_text(SLEEPY.replace("FOLDER", repr(str(started))).replace("SECONDS", str(seconds)))
    bench.plugins, bench.methods = [path], ["sleepy"]
    return started


def test_a_grid_runs_and_runs_no_more(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.run() == 0
    first = bench.content()
    assert len(first) == 2
    assert bench.leftovers() == []
    capsys.readouterr()
    assert bench.run() == 0
    assert "2 done; 0 to run" in capsys.readouterr().out
    assert bench.content() == first


def test_a_finished_grid_imports_neither_torch_nor_the_runner(bench: Any) -> None:
    bench.run()
    heavy = (
        "torch",
        "torchvision",
        "scipy",
        "sklearn",
        "pandas",
        "numba",
        "joblib",
        "dask",
        "benchmark.execution.runner",
    )
    code = "import sys; from benchmark.commands.main import main; assert main(sys.argv[1:]) == 0; "
    code += f"print('heavy:', *(name for name in {heavy!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code, *bench.words()], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].strip() == "heavy:"


@pytest.mark.slow
def test_the_number_of_jobs_changes_no_number(bench: Any, other_bench: Any) -> None:
    bench.methods = other_bench.methods = ["neighbour", "itq"]
    bench.run("--jobs", "1")
    other_bench.run("--jobs", "2")
    assert bench.content() == other_bench.content()


@pytest.mark.slow
def test_more_methods_change_no_number(bench: Any, other_bench: Any) -> None:
    bench.run()
    other_bench.methods = ["itq", "lsh", "neighbour"]
    other_bench.run()
    assert bench.content().items() <= other_bench.content().items()


def test_the_time_left_counts_cells_of_this_run_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    lines = Lines(5)
    now = 1000  # of preparation
    lines.finished("a", "done by another run")
    lines.started("b")
    lines.started("c")
    now += 60
    lines.finished("b", "ok")
    now += 60
    lines.finished("c", "ok")
    told = capsys.readouterr().out.splitlines()
    assert told == ["[1/5] a: done by another run", "[2/5] b: ok (3:00 left)", "[3/5] c: ok (2:00 left)"]


def test_the_log_of_a_cell_that_raised_ends_with_its_traceback_once(bench: Any) -> None:
    text = (HOSTILE / "neighbour.py").read_text()
    names = {"silent": "", "talks": "print('half way', flush=True); "}
    bench.methods, bench.seeds, bench.plugins = [*names], [0], []
    for name, before in names.items():
        changed = text.replace('"neighbour"', f'"{name}"').replace("return self", f"{before}raise KeyError('far')")
        bench.plugins.append(bench.folder / f"{name}.py")
        bench.plugins[-1].write_text(changed)
    for _ in range(2):
        assert bench.run() == 1
        for record in bench.store.records():
            log = bench.store.log_path(record.key).read_text()
            before = "half way\n" if record.cell["method"] == "talks" else ""
            assert log == before + record.error["traceback"]
            assert log.splitlines()[-1] == "KeyError: 'far'"
            assert "in fit" in log


def test_collapsed_codes_are_told_with_what_this_method_has(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bench.plugins, bench.methods, bench.seeds = [HOSTILE / "constant_codes.py"], ["constant-codes"], [0]
    assert bench.run() == 0
    told = capsys.readouterr()
    assert "COLLAPSED codes, " in told.out
    assert "collapsed to a few constants: it has no parameters to set" in told.err
    assert "learning rate" not in told.out + told.err


def test_features_without_images_are_prepared_once_and_called_features(
    bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (bench.folder / "deep.toml").write_text("[training]\nsteps = 1\n")
    bench.methods, bench.seeds = ["dpsh", "neighbour"], [0]
    bench.run("--profile", str(bench.folder / "deep.toml"))
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("preparing")]
    assert told == ["preparing tiny for methods on features"]


def test_threads_of_every_library_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in supervise.THREAD_VARIABLES:
        monkeypatch.setenv(name, "7")
    supervise.start_server(1)
    assert {os.environ[name] for name in supervise.THREAD_VARIABLES} == {"1"}


def test_force_runs_everything_again(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bench.run()
    first = bench.content()
    ended = [path.stat().st_mtime_ns for path in sorted(bench.store.cells.glob("*.json"))]
    assert bench.run("--force") == 0
    assert "2 to run" in capsys.readouterr().out
    assert bench.content() == first
    assert all(
        new > old
        for new, old in zip(
            [path.stat().st_mtime_ns for path in sorted(bench.store.cells.glob("*.json"))], ended, strict=True
        )
    )


@pytest.mark.slow
def test_failed_cells_run_again_unless_told_otherwise(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bench.plugins.append(HOSTILE / "vanishes.py")
    bench.methods, bench.seeds = ["neighbour", "vanishes"], [0]
    assert bench.run() == 1
    for words, run in (("", 1), ("--keep-failed", 0), ("--only-failed", 1)):
        capsys.readouterr()
        assert bench.run(*words.split()) == 1
        assert f"1 done, 1 failed; {run} to run" in capsys.readouterr().out
    bench.bits = [4, 8]  # --only-failed leaves what was never run
    bench.run("--only-failed")
    assert "1 done, 1 failed, 2 todo; 1 to run" in capsys.readouterr().out
    assert len(bench.store.keys()) == 2


@pytest.mark.slow
def test_why_names_the_part_that_changed(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmark.commands.main import main

    method = bench.folder / "mine.py"
    method.write_text((HOSTILE / "neighbour.py").read_text().replace('"neighbour"', '"mine"'))
    bench.plugins, bench.methods = [method], ["mine"]
    process = bench.start()
    assert process.wait() == 0
    process.communicate()
    method.write_text(method.read_text() + "CHANGED = 1\n")
    words = [word for word in bench.words() if word != "--no-report"]
    assert main(["why", *words]) == 0
    told = capsys.readouterr().out
    assert told.count("stale") == 2
    assert re.search(r"sources\.plugin: \w{16} -> \w{16}", told)


def test_code_that_changes_under_a_run_is_not_stored_under_the_old_key(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = bench.folder / "edited.py"
    method.write_text((HOSTILE / "neighbour.py").read_text().replace('"neighbour"', '"edited"'))
    bench.plugins, bench.methods, bench.seeds = [method], ["edited"], [0]

    def edited(*arguments: Any) -> Any:
        method.write_text(method.read_text() + "CHANGED = 1\n")
        return supervise.supervise(*arguments)

    monkeypatch.setattr(runner, "supervise", edited)
    assert bench.run() == 1
    (record,) = bench.store.records()
    assert "code here differs from what was planned (sources.plugin)" in record.error["message"]


@pytest.mark.slow
def test_hostile_methods_harm_only_themselves(bench: Any, other_bench: Any) -> None:
    bench.seeds = other_bench.seeds = [0]
    other_bench.run()
    names = [name for name in FATES if name != "loops"]
    bench.plugins += [HOSTILE / f"{name.replace('-', '_')}.py" for name in FATES]
    bench.methods = [*names[:8], "neighbour", *names[8:]]
    assert bench.run("--timeout", "120", "--memory", "1G") == 1
    bench.methods = ["loops"]
    assert bench.run("--timeout", "1.5") == 1
    found = {record.cell["method"]: record for record in bench.store.records()}
    assert {name: record.status for name, record in found.items()} == {
        "neighbour": "ok",
        **{name: status for name, (status, _) in FATES.items()},
    }
    for name, (status, word) in FATES.items():
        assert status == "ok" or word in found[name].error["message"], found[name].error
    assert found["constant-codes"].health["collapsed"]
    assert other_bench.content().items() <= bench.content().items()
    logs = {path.stem: path.stat().st_size for path in (bench.results / "logs").iterdir()}
    assert logs[found["prints"].key] < 2 << 20
    assert not list(ROOT.glob("litter*"))
    assert not list(Path.cwd().glob("litter*"))
    strays = [process.pid for process in psutil.process_iter(["cmdline"]) if "86401" in (process.info["cmdline"] or ())]
    assert not strays  # C15: of forks-away


def test_a_plugin_that_cannot_be_imported_stops_before_any_work(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bench.plugins.append(HOSTILE / "import_error.py")
    assert bench.run() == 2
    told = capsys.readouterr().err
    assert "import_error.py cannot be imported" in told
    assert "a_module_that_nobody_has" in told
    assert not bench.results.exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_failing_disk_costs_only_what_it_held(bench: Any, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Each step of each write fails once, one write per cell: the other cells go on, nothing is half-written."""
    bench.seeds = list(range(18))
    failed: set[str] = set()
    failing = threading.Lock()

    def fail(name: str) -> None:
        with failing:
            new = name not in failed
            failed.add(name)
        if new:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(store_module, "commit_step", fail)
    assert bench.run() == 1
    monkeypatch.undo()
    assert len(failed) == 16
    assert bench.store.verify().faults == []
    kept = len(bench.store.keys())
    assert 18 - 16 <= kept < 18
    assert bench.run() == 0
    assert len(bench.store.keys()) == 18
    assert bench.leftovers() == []


def test_a_disk_too_full_for_a_lock_costs_only_cells(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> int:
        raise OSError(errno.ENOSPC, "no space")

    bench.run("--dry-run")
    monkeypatch.setattr(store_module, "_try_lock", full)
    assert bench.run() == 1
    monkeypatch.undo()
    assert bench.run() == 0


def test_a_result_that_cannot_be_stored_is_a_failure(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(*arguments: Any) -> Any:
        ending = supervise.supervise(*arguments)
        if isinstance(ending.value, runner.Outcome):
            ending.value.record.metrics["map"] = float("nan")
        return ending

    monkeypatch.setattr(runner, "supervise", spoiled)
    assert bench.run() == 1
    for record in bench.store.records():
        assert record.status == "failed"
        assert "not plain, finite data" in record.error["message"]


def test_lost_labels_are_made_again_without_a_training(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bench.run()
    first = bench.content()
    for path in bench.store.datasets.glob("*.npz"):
        path.write_bytes(b"damaged")
    assert len(bench.store.verify().faults) == 1
    assert bench.run() == 0
    assert "0 to run" in capsys.readouterr().out
    assert bench.content() == first
    revision = next(bench.store.records()).revision
    assert "query_labels" in bench.store.dataset(revision)


def test_gpus_are_handed_out_one_per_training() -> None:
    """Never to two at once, and to trainings only."""

    class Method:
        input = "images"

    class Cell:
        method = Method

    run = runner.Run(store_module.Store("nowhere"), Options(jobs=4, gpus=("0", "1")), Any)  # type: ignore[arg-type]
    with run._gpu(Cell) as one, run._gpu(Cell) as two:  # type: ignore[arg-type]
        assert {one, two} == {"0", "1"}
        assert run._gpus.empty()
    Method.input = "features"
    with run._gpu(Cell) as none:  # type: ignore[arg-type]
        assert none is None
    assert run._gpus.qsize() == 2


@pytest.mark.parametrize(
    ("number", "group"),
    [
        (signal.SIGINT, False),
        pytest.param(signal.SIGINT, True, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, False, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, True, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_run_that_can_be_resumed(bench: Any, number: int, group: bool) -> None:
    """Sent to the runner alone, or as a terminal and Slurm do to the whole group."""
    started = sleepy(bench, 60)
    process = bench.start("--timeout", "60", start_new_session=True)
    while not list(started.iterdir()):
        assert process.poll() is None
        threading.Event().wait(0.05)
    (os.killpg if group else os.kill)(process.pid, number)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "to go on: python run_all.py --datasets" in told
    assert set(bench.statuses().values()) == {"interrupted"}
    assert bench.leftovers() == []


@pytest.mark.slow
def test_another_run_is_waited_for_and_its_work_not_repeated(bench: Any) -> None:
    started = sleepy(bench, 1)
    runs = [bench.start(), bench.start()]
    told = "".join(text for process in runs for text in process.communicate())
    assert [process.returncode for process in runs] == [0, 0], told
    assert len(list(started.iterdir())) == 2
    assert told.count("done by another run") >= 1
    assert len(bench.store.keys()) == 2


def test_a_failure_names_the_last_line_of_the_plugin() -> None:
    from benchmark.execution import runner

    own = f'  File "{runner.__file__}", line 3, in run\n    call()\n'
    text = own + '  File "/some/my.py", line 12, in fit\n    1 / 0\n' + own + "ZeroDivisionError: division by zero\n"
    assert runner.last_frame(text) == " (my.py line 12, in fit)"
    assert runner.last_frame(own) == ""


def test_time_that_went_into_data_is_named_where_it_was_the_most() -> None:
    """A worker of a cluster may have to make features, and the network that they come from, first."""
    told = runner.seconds_line({"load": 113.0, "fit": 5.0, "encode": 1.0, "score": 0.4})
    assert told == "119.4 s, 113.0 of them for its data"
    assert runner.seconds_line({"load": 0.5, "fit": 0.1}) == "0.6 s"
    assert runner.seconds_line({"load": 3.0, "fit": 5.0}) == "8.0 s"
