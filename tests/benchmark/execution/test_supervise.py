"""A supervised task: every way to end is told apart, and nothing of it outlives its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchmark.commands.main import main
from benchmark.execution import processes
from benchmark.execution import supervise as supervision
from benchmark.execution.processes import sweep_strays
from benchmark.execution.supervise import (
    LOG_LIMIT,
    LOST_TRIES,
    Ending,
    Limits,
    _free_beginning,
    _scratch_folder,
    supervise,
    sweep_scratch,
)

NO_LIMITS = Limits()
UNREADY = '''
from benchmark import Splits, register_dataset

@register_dataset("unready", title="Unready")
class Unready:
    """Cannot be loaded."""

    def __init__(self, argument=None, *, data_root=None) -> None: ...

    name = "unready"
    title = "Unready"
    protocol = "none"
    backbone = None

    def check(self) -> None: ...

    map_cutoff = 10
    miniature = False
    revision = "1"

    def load(self) -> Splits:
        raise KeyError("no such column")
'''


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
        (
            exec,
            "raise ValueError('no such bit')",
            "failed",
            "ValueError",
            "ValueError: no such bit (<string>, line 1, in",
        ),
        (exec, "raise MemoryError", "oom", "MemoryError", "MemoryError"),
        (exec, "raise KeyboardInterrupt", "failed", "KeyboardInterrupt", "KeyboardInterrupt"),
        (exec, "raise __import__('benchmark').UsageError('say this')", "failed", "UsageError", "say this"),
        (sys.exit, "its own reason", "failed", "exit", "code 1 without a result; its last words: its own reason"),
        (os._exit, 255, "failed", "exit", "code 255 without a result"),
        (signal.raise_signal, signal.SIGRTMIN + 3, "failed", "crash", f"signal {signal.SIGRTMIN + 3} (SIGRTMIN+3)"),
        (signal.raise_signal, signal.SIGTERM, "failed", "crash", "SIGTERM"),
        (iter, [], "ok", "", ""),
        (memoryview, b"x", "failed", "unpicklable", "cannot be sent"),
    ],
)
def test_every_end_is_told_apart(task: object, argument: object, status: str, kind: str, words: str) -> None:
    """E: an exception comes back as its type, text and place; a signal without a name as its number."""
    ending = supervise(task, argument, NO_LIMITS)  # type: ignore[arg-type]
    assert (ending.status, ending.kind) == (status, kind)
    assert words in ending.message


def test_a_hanging_task_is_stopped() -> None:
    ending = supervise(time.sleep, 600, Limits(seconds=0.3))
    assert ending.status == "timeout"
    assert "0.3 s" in ending.message


@pytest.mark.parametrize("proc", [True, False])
def test_a_task_that_takes_too_much_memory_is_stopped(proc: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With /proc, and as on systems that have none."""
    if not proc:
        monkeypatch.setattr(processes, "_has_proc", lambda: False)
        monkeypatch.setattr(processes, "_stat", lambda pid: [])
        monkeypatch.setattr(processes, "_listed", lambda folder: [])
    hoard = "import time\nhoard = []\nwhile True:\n    hoard.append(bytes(b'x' * (1 << 24)))\n    time.sleep(0.005)"
    ending = supervise(exec, hoard, Limits(seconds=60, memory=1 << 29))
    assert ending.status == "oom"
    assert "limit is 512 MiB" in ending.message


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


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('first'); print('the disk is full', flush=True); os._exit(1)", "first | the disk is full"),
        ("def deep(): signal.raise_signal(signal.SIGSEGV)\ndeep()", 'File "<string>", line 2 in deep'),
        ("print('\x1b[31mred\x07', flush=True); os._exit(1)", "[31mred"),
    ],
)
def test_a_death_without_a_word_is_told_with_the_end_of_the_log(code: str, words: str) -> None:
    """E: also where nobody asked for a log."""
    message = supervise(exec, f"import os, signal\n{code}", NO_LIMITS).message
    assert message.endswith(f"; its last words: {words}")


def test_what_cannot_be_unpickled_in_the_task_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E: today's runner knows a module that the task's process does not."""
    (tmp_path / "known_here.py").write_text("def task(argument): return argument\n")
    monkeypatch.syspath_prepend(tmp_path)
    import known_here  # type: ignore[import-not-found]

    (tmp_path / "known_here.py").unlink()
    ending = supervise(known_here.task, 1, NO_LIMITS)
    assert (ending.status, ending.kind) == ("failed", "ModuleNotFoundError")
    assert "known_here" in ending.message


def test_a_preparation_that_fails_says_why(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """E: it said "exited with code 1 without a result"."""
    plugin = bench.folder / "unready.py"
    plugin.write_text(UNREADY)
    bench.plugins.append(plugin)
    words = bench.words()
    words[words.index("--datasets") + 1] = "unready"
    assert main(words) == 1
    cause = "KeyError: 'no such column' (unready.py, line 22, in load)"
    assert f"preparing unready failed: {cause}" in capsys.readouterr().out


# What a task starts

ESCAPE = """
import os, signal, time
from pathlib import Path
from typing import Any
note = Path(NOTE)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 256)
        Path(NOTE + ".new").write_text(str(os.getpid()))
        os.rename(NOTE + ".new", NOTE)
        hoard = b"x" * SIZE
        time.sleep(600)
    os._exit(0)
os.wait()
while not note.exists():
    time.sleep(0.01)
"""


def escape(note: Path, then: str = "", size: int = 0) -> str:
    """Code of a task whose grandchild has left its session, its parents and its files."""
    return ESCAPE.replace("NOTE", repr(str(note))).replace("SIZE", str(size)) + then


@pytest.mark.parametrize(
    "then",
    [
        "",
        "raise ValueError",
        "os._exit(3)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os.kill(os.getppid(), signal.SIGKILL)",
        "os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)",
        "os.kill(os.getppid(), signal.SIGSTOP)",
        "os.killpg(0, signal.SIGKILL)",
        "time.sleep(600)",
    ],
)
def test_a_double_fork_ends_with_its_task(tmp_path: Path, then: str) -> None:
    """C15: however the task ends, its keeper's death included."""
    ending = supervise(exec, escape(tmp_path / "pid", then), Limits(seconds=3))
    assert ending.status == {"": "ok", "time.sleep(600)": "timeout"}.get(then, ending.status)
    assert gone(int((tmp_path / "pid").read_text()), seconds=2)


def test_the_memory_of_a_double_fork_counts(tmp_path: Path) -> None:
    """C15."""
    hoard = escape(tmp_path / "pid", "time.sleep(60)", size=1 << 29)
    ending = supervise(exec, hoard, Limits(seconds=30, memory=1 << 29))
    assert ending.status == "oom"
    assert gone(int((tmp_path / "pid").read_text()), seconds=2)


def test_the_memory_of_a_child_of_a_thread_counts() -> None:
    hoard = "import time; x = bytes(b'x') * (1 << 29); time.sleep(60)"
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hoard!r}])"
    code = f"import threading; t = threading.Thread(target=exec, args=({start!r},)); t.start(); t.join()"
    assert supervise(exec, code, Limits(seconds=30, memory=1 << 29)).status == "oom"


def start_runner(folder: Path, code: str) -> subprocess.Popen[bytes]:
    """A process that supervises this code, once the code has left its note."""
    script, note = folder / "runner.py", folder / "pid"
    script.write_text(
        "from benchmark.execution.supervise import Limits, supervise\n"
        f"if __name__ == '__main__': supervise(exec, {code!r}, Limits())\n"
    )
    runner = subprocess.Popen([sys.executable, str(script)])
    while not note.exists():
        assert runner.poll() is None
        time.sleep(0.05)
    return runner


def test_a_double_fork_does_not_outlive_a_killed_runner(tmp_path: Path) -> None:
    """C15: kill -9 of the runner leaves nobody but the keepers to see to it."""
    runner = start_runner(tmp_path, escape(tmp_path / "pid", "time.sleep(600)"))
    runner.kill()
    runner.wait()
    assert gone(int((tmp_path / "pid").read_text()), seconds=5)


def test_what_a_dead_run_left_is_swept_and_nothing_of_a_living_one(tmp_path: Path) -> None:
    """C15: runner and keeper are killed, so that only the mark tells whose the stray is."""
    living = tmp_path / "living"
    living.mkdir()
    other = start_runner(living, escape(living / "pid", "time.sleep(600)"))
    write_parent = "Path(NOTE + '.keeper').write_text(str(os.getppid())); time.sleep(600)"
    runner = start_runner(tmp_path, escape(tmp_path / "pid", write_parent.replace("NOTE", repr(str(tmp_path / "pid")))))
    while not (tmp_path / "pid.keeper").exists() or not (tmp_path / "pid.keeper").read_text():
        time.sleep(0.01)
    stray, keeper = (int((tmp_path / name).read_text()) for name in ("pid", "pid.keeper"))
    os.kill(keeper, signal.SIGSTOP)
    runner.kill()
    runner.wait()
    os.kill(keeper, signal.SIGKILL)
    time.sleep(0.2)
    assert alive(stray)
    sweep_strays()
    assert gone(stray, seconds=2)
    assert alive(int((living / "pid").read_text()))
    other.kill()
    other.wait()
    assert gone(int((living / "pid").read_text()), seconds=5)


# What a task does to others


def in_thread(results: dict[str, Ending], name: str, code: str) -> threading.Thread:
    thread = threading.Thread(target=lambda: results.update({name: supervise(exec, code, Limits(seconds=60))}))
    thread.start()
    return thread


def wait_for(*paths: Path) -> None:
    deadline = time.monotonic() + 30
    while not all(path.exists() for path in paths):
        assert time.monotonic() < deadline
        time.sleep(0.02)


SERVER = "int(open(f'/proc/{os.getppid()}/stat').read().rpartition(')')[2].split()[1])"


@pytest.mark.parametrize("victim", ["os.getppid()", SERVER])
def test_a_task_that_kills_what_it_was_forked_from_fails_alone(tmp_path: Path, victim: str) -> None:
    """C15: its keeper is its own; without the server the neighbours go on, and further tasks get a new one."""
    results: dict[str, Ending] = {}
    touch = f"import os, time; from pathlib import Path; folder = Path({str(tmp_path)!r})\n"
    wait = "while not (folder / 'killed').exists(): time.sleep(0.01)\n"
    neighbour = touch + "(folder / str(os.getpid())).touch()\n" + wait + "time.sleep(0.5)"
    threads = [in_thread(results, "neighbour", neighbour)]
    while not list(tmp_path.iterdir()):
        time.sleep(0.02)
    threads.append(
        in_thread(results, "killer", touch + f"os.kill({victim}, 9); (folder / 'killed').touch(); os._exit(1)")
    )
    wait_for(tmp_path / "killed")
    assert supervise(abs, -1, NO_LIMITS) == Ending(1)
    for thread in threads:
        thread.join(timeout=60)
    assert results["neighbour"].status == "ok"
    assert results["killer"].status == "failed"
    assert len(list(tmp_path.iterdir())) == 2  # the neighbour was started once


@pytest.mark.slow
def test_a_task_that_died_with_its_server_is_run_again_and_not_for_ever(tmp_path: Path) -> None:
    """C15: a death by another's fault is no failure."""
    leave = f"import os, tempfile; tempfile.mkstemp(dir={str(tmp_path)!r}); "
    die = f"os.kill({SERVER}, 9); os.kill(os.getppid(), 9); os._exit(1)"
    once = f"if len(os.listdir({str(tmp_path)!r})) < 2: {die}"
    assert supervise(exec, f"{leave}\n{once}", NO_LIMITS).status == "ok"
    assert len(list(tmp_path.iterdir())) == 2
    ending = supervise(exec, f"{leave}\n{die}", NO_LIMITS)
    assert (ending.status, ending.kind) == ("failed", "crash")
    assert "3 times" in ending.message
    assert len(list(tmp_path.iterdir())) == 2 + LOST_TRIES
    assert supervise(abs, -1, NO_LIMITS) == Ending(1)


def test_a_process_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", refuse)
    ending = supervise(abs, -1, NO_LIMITS)
    assert (ending.status, ending.kind) == ("failed", "crash")
    assert "no process could be started (BlockingIOError: [Errno 11] Resource temporarily" in ending.message


def test_a_result_sent_just_before_the_end_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a task may send its value and end between our look for a message and that for its death."""
    looks, look = [], supervision._Kept.message

    def late(kept: Any) -> Any:
        looks.append(kept)
        if len(looks) > 1:
            return look(kept)
        kept.process.join(30)
        return None

    monkeypatch.setattr(supervision._Kept, "message", late)
    assert supervise(_told_twice, 7, NO_LIMITS) == Ending(7)
    assert len(looks) > 1


def _told_twice(value: int) -> int:
    supervision.tell_runner("one step")
    supervision.tell_runner("another step")
    return value


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
    """Killed with -9, the runner cannot tell anyone; the keeper sees it go."""
    note = str(tmp_path / "pid")
    write = f"import os; open({note!r} + '.new', 'w').write(str(os.getpid())); os.rename({note!r} + '.new', {note!r})"
    runner = start_runner(tmp_path, f"{write}\nwhile True: pass")
    runner.kill()
    runner.wait()
    assert gone(int(Path(note).read_text()))
