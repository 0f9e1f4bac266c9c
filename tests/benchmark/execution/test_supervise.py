"""A supervised task: every way to end is told apart, and nothing of it outlives its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from benchmark.execution.supervise import (
    LOG_LIMIT,
    Ending,
    Limits,
    _free_beginning,
    _scratch_folder,
    supervise,
    sweep_scratch,
)

NO_LIMITS = Limits()


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid: int, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)


def test_a_value_comes_back() -> None:
    assert supervise(abs, -3, NO_LIMITS) == Ending(3)


@pytest.mark.parametrize(
    ("task", "argument", "status", "kind", "words"),
    [
        (os._exit, 0, "failed", "exit", "code 0 without a result"),
        (sys.exit, 3, "failed", "exit", "code 3 without a result"),
        (signal.raise_signal, signal.SIGSEGV, "failed", "crash", "SIGSEGV"),
        (signal.raise_signal, signal.SIGKILL, "failed", "crash", "SIGKILL"),
        (exec, "raise ValueError", "failed", "exit", "code 1 without a result"),
        (iter, [], "ok", "", ""),
        (memoryview, b"x", "failed", "unpicklable", "cannot be sent"),
    ],
)
def test_every_end_is_told_apart(task: object, argument: object, status: str, kind: str, words: str) -> None:
    ending = supervise(task, argument, NO_LIMITS)  # type: ignore[arg-type]
    assert (ending.status, ending.kind) == (status, kind)
    assert words in ending.message


def test_a_hanging_task_is_stopped() -> None:
    ending = supervise(time.sleep, 600, Limits(seconds=0.3))
    assert ending.status == "timeout"
    assert "0.3 s" in ending.message


def test_a_task_that_takes_too_much_memory_is_stopped() -> None:
    hoard = "import time\nhoard = []\nwhile True:\n    hoard.append(bytes(b'x' * (1 << 24)))\n    time.sleep(0.005)"
    ending = supervise(exec, hoard, Limits(seconds=60, memory=1 << 30))
    assert ending.status == "oom"
    assert "limit is 1024 MiB" in ending.message


def test_a_flag_stops_a_task() -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    assert supervise(time.sleep, 600, NO_LIMITS, stop=stop).status == "interrupted"


def test_output_goes_to_the_log_and_its_end_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    supervise(print, "from the task", NO_LIMITS, log)
    assert log.read_text() == "from the task\n"
    supervise(exec, "for i in range(30): print('x' * (1 << 20))\nprint('the end')", NO_LIMITS, log)
    assert log.stat().st_size < LOG_LIMIT + 100
    assert log.read_text().endswith("the end\n")
    supervise(abs, 1, NO_LIMITS, log)
    assert not log.exists()


def test_a_long_log_takes_little_disk_and_keeps_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("ab") as task:
        for number in range(5):
            task.write(b"x" * (4 * LOG_LIMIT) + b"line %d\n" % number)
            task.flush()
            _free_beginning(log)
            assert log.stat().st_blocks * 512 <= 10 * LOG_LIMIT
            assert log.read_bytes().endswith(b"line %d\n" % number)


def test_a_segfault_leaves_a_trace_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    supervise(exec, "import ctypes; ctypes.string_at(0)", NO_LIMITS, log)
    assert "Segmentation fault" in log.read_text()


def test_a_log_that_cannot_be_written_costs_only_the_log(tmp_path: Path) -> None:
    assert supervise(abs, -1, NO_LIMITS, tmp_path / "no folder" / "log") == Ending(1)


def test_the_working_directory_is_a_scratch_folder_that_goes() -> None:
    write = "__import__('pathlib').Path('litter').write_text('x') and __import__('os').getcwd()"
    scratch = Path(supervise(eval, write, NO_LIMITS).value)
    assert scratch != Path.cwd()
    assert not scratch.exists()


def test_working_directories_left_by_deaths_are_swept_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "hashbench-cell-dead").mkdir()
    (tmp_path / "mine").mkdir()
    with _scratch_folder() as living:
        sweep_scratch()  # too young: who knows whether it is about to be locked
        assert len(list(tmp_path.iterdir())) == 3
        for path in tmp_path.iterdir():
            os.utime(path, (0, 0))
        sweep_scratch()
        assert {path.name for path in tmp_path.iterdir()} == {"mine", Path(living).name}
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_what_a_task_started_ends_with_it() -> None:
    start = "__import__('subprocess').Popen(['sleep', '600']).pid"
    assert gone(supervise(eval, start, NO_LIMITS).value)


def test_many_at_once_from_threads() -> None:
    values: dict[int, int] = {}
    threads = [
        threading.Thread(target=lambda n=n: values.update({n: supervise(abs, -n, NO_LIMITS).value})) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == {number: number for number in range(8)}


def test_a_task_does_not_outlive_its_runner(tmp_path: Path) -> None:
    """Killed with -9, the runner cannot tell anyone; the kernel does."""
    script = tmp_path / "runner.py"
    note = tmp_path / "pid"
    write = f"import os, time; open({str(note)!r} + '.new', 'w').write(str(os.getpid())); "
    loop = f"os.rename({str(note)!r} + '.new', {str(note)!r})\nwhile True: pass"
    script.write_text(
        "from benchmark.execution.supervise import Limits, supervise\n"
        f"if __name__ == '__main__': supervise(exec, {write + loop!r}, Limits())\n"
    )
    runner = subprocess.Popen([sys.executable, str(script)])
    while not note.exists():
        assert runner.poll() is None
        time.sleep(0.05)
    runner.kill()
    runner.wait()
    assert gone(int(note.read_text()))
