"""One task in a process of its own, watched: what a hostile or unlucky cell can do, it does to itself alone.

The process is forked from a clean server that has the heavy imports done (multiprocessing's forkserver), so it
starts in milliseconds and shares nothing with its neighbours. Why not a plain loky or Dask pool: there a worker
that dies takes the pool's or its neighbours' tasks with it, and neither can stop a task that hangs. Pools
therefore only decide *when* a cell runs; this module runs it, inside joblib's threads and Dask's workers alike.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import multiprocessing
import multiprocessing.connection
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

POLL_SECONDS = 0.1
LOG_LIMIT = 1 << 20  # bytes of a cell's output that are kept
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Flag(Protocol):
    """Something that can say stop (a threading.Event)."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True)
class Limits:
    """What one task may use; None means no limit."""

    seconds: float | None = None
    memory: int | None = None  # bytes, resident, of the task and its children
    threads: int = 1
    gpu: str | None = None


@dataclass(frozen=True)
class Ending:
    """How a task ended: with a value, or with a status and what happened."""

    value: Any = None
    status: str = "ok"
    kind: str = ""
    message: str = ""


def start_server(threads: int, with_torch: bool) -> None:
    """Set the threads every library of every task will use, and start the server the tasks are forked from."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(threads)
    modules = ["benchmark.worker"] + (["torch", "benchmark.deep.trainer"] if with_torch else [])
    multiprocessing.get_context("forkserver").set_forkserver_preload(modules)


def supervise(
    task: Callable[[Any], Any],
    argument: Any,
    limits: Limits,
    log: Path | None = None,
    stop: Flag | None = None,
) -> Ending:
    """Run `task(argument)` in its own process and say how it ended."""
    context = multiprocessing.get_context("forkserver")
    receiver, sender = context.Pipe(duplex=False)
    arguments = (task, argument, limits, str(log) if log else os.devnull, sender)
    process = context.Process(target=_child, args=arguments, daemon=False)
    with _children_allowed():
        process.start()
    sender.close()
    try:
        return _watch(process, receiver, limits, log, stop)
    finally:
        _kill(process)
        receiver.close()
        if log is not None:
            _shorten(log)


@contextlib.contextmanager
def _children_allowed() -> Any:
    """Dask's workers are daemonic, and multiprocessing forbids those to have children; ours never outlive them."""
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    daemonic = config.pop("daemon", None)
    try:
        yield
    finally:
        if daemonic is not None:
            config["daemon"] = daemonic


def _watch(process: Any, receiver: Any, limits: Limits, log: Path | None, stop: Flag | None) -> Ending:
    started = time.monotonic()
    while True:
        ready = multiprocessing.connection.wait([receiver, process.sentinel], POLL_SECONDS)
        if receiver in ready or (process.sentinel in ready and receiver.poll()):
            try:
                return Ending(receiver.recv())
            except (EOFError, OSError):
                process.join(5)
        if process.exitcode is not None:
            return _died(process.exitcode)
        if stop is not None and stop.is_set():
            return Ending(status="interrupted", kind="interrupted", message="stopped by a signal")
        if limits.seconds is not None and time.monotonic() - started > limits.seconds:
            return Ending(status="timeout", kind="timeout", message=f"not done after {limits.seconds:g} s")
        if limits.memory is not None and (used := _resident(process.pid)) > limits.memory:
            message = f"held {used >> 20} MiB, the limit is {limits.memory >> 20} MiB"
            return Ending(status="oom", kind="memory", message=message)
        if log is not None and log.is_file() and log.stat().st_size > 8 * LOG_LIMIT:
            os.truncate(log, 0)  # the task appends, so it goes on writing at the new end


def _died(exitcode: int) -> Ending:
    if exitcode < 0:
        name = signal.Signals(-exitcode).name
        return Ending(status="failed", kind="crash", message=f"the process was ended by {name}")
    return Ending(status="failed", kind="exit", message=f"the process exited with code {exitcode} without a result")


def _kill(process: Any) -> None:
    """The task and whatever it started: it leads a process group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if process.exitcode is None or process.pid is not None:
            os.killpg(process.pid, signal.SIGKILL)
    process.join(10)
    with contextlib.suppress(ValueError):
        process.close()


def _resident(pid: int) -> int:
    """Bytes resident in the task and its descendants."""
    page, total, waiting = os.sysconf("SC_PAGE_SIZE"), 0, [pid]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * page
            waiting += [int(child) for child in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
    return total


def _shorten(log: Path) -> None:
    """Keep the end of a long log."""
    with contextlib.suppress(OSError):
        size = log.stat().st_size
        if size > LOG_LIMIT:
            with log.open("rb") as handle:
                handle.seek(size - LOG_LIMIT)
                tail = handle.read()
            log.write_bytes(b"[... the beginning was cut ...]\n" + tail)
        elif size == 0:
            log.unlink()


def _child(task: Callable[[Any], Any], argument: Any, limits: Limits, log: str, sender: Any) -> None:
    os.setsid()
    _die_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    output = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    faulthandler.enable()
    if limits.gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = limits.gpu
    scratch = tempfile.mkdtemp(prefix="hashbench-cell-")
    os.chdir(scratch)
    try:
        value = task(argument)
        sys.stdout.flush()
        sender.send(value)
    finally:
        os.chdir("/")
        shutil.rmtree(scratch, ignore_errors=True)


def _die_with_parent() -> None:
    """Linux: when the server goes (it goes with the runner, even at kill -9), so does this process."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
