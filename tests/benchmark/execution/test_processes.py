"""The processes of a task: all of them are found, with /proc and without, and nobody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.execution import processes

TREE = """
import subprocess, time
subprocess.Popen(["sleep", "600"])
time.sleep(0.3)  # until it has grown up
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[str]]:
    """A process with a child."""
    process = subprocess.Popen([sys.executable, "-c", TREE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    below = processes.descendants(process.pid)
    yield process
    for pid in (*below, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("proc", [True, False])
def test_a_tree_is_found_and_weighed(tree: subprocess.Popen[str], proc: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc psutil does it; numbers of both agree but for what happens between the two looks."""
    (child,) = processes.descendants(tree.pid)
    exact = processes.resident([tree.pid, child])
    monkeypatch.setattr(processes, "_has_proc", lambda: proc)
    assert processes.descendants(tree.pid) == [child]
    assert processes.resident([tree.pid, child]) == pytest.approx(exact, rel=0.1)
    assert exact > 1 << 20
    born = processes.state(child)
    assert born is not None
    assert processes.alive(child, born[1])
    assert not processes.alive(child, born[1] - 1)  # another one had that number


@pytest.mark.parametrize("proc", [True, False])
def test_a_process_that_is_not_there_has_nothing(proc: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_has_proc", lambda: proc)
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    dead = processes.state(process.pid)
    assert dead is not None
    assert not processes.alive(process.pid, dead[1])  # it only waits to be buried
    process.wait()
    assert processes.state(process.pid) is None
    assert processes.descendants(process.pid) == []
    assert processes.resident([process.pid]) == 0
    processes.end([process.pid])


def start(mark: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, processes.MARK: mark})
    while b"sleep" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
        pass
    return process


def test_only_what_bears_the_mark_of_a_dead_run_is_swept() -> None:
    with processes.marked():
        own = os.environ[processes.MARK]
    assert processes.MARK not in os.environ
    number, born, namespace = own.split("-", 2)
    marks = {
        "living": own,
        "dead": f"{number}-{int(born) - 1}-{namespace}",  # the number is in use again
        "other container": f"{number}-{int(born) - 1}-pid:[1]",
        "nonsense": "x",
        "empty": "",
    }
    started = {name: start(mark) for name, mark in marks.items()}
    try:
        processes.sweep_strays()
        assert started["dead"].wait(timeout=5) == -signal.SIGKILL
        processes.end_strays({started["living"].pid})
        assert [name for name, process in started.items() if process.poll() is not None] == ["dead"]
        processes.end_strays(set())
        assert started["living"].wait(timeout=5) == -signal.SIGKILL
        assert [name for name, process in started.items() if process.poll() is not None] == ["living", "dead"]
    finally:
        for process in started.values():
            process.kill()
            process.wait()
