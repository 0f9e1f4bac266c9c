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
import fcntl
import multiprocessing
import multiprocessing.connection
import os
import pickle
import resource
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmark.execution.record import Status

POLL_SECONDS = 0.1  # between looks at the clock, the memory and the log; a result is noticed at once
SCRATCH = "hashbench-cell-"  # how the working directories of tasks are called
SCRATCH_AGE = 60  # seconds; a younger one may not be locked yet
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
    status: Status = "ok"
    kind: str = ""
    message: str = ""


INTERRUPTED = Ending(status="interrupted", kind="interrupted", message="stopped by a signal")


def start_server(threads: int, modules: Sequence[str] = ()) -> None:
    """Set the threads every library of every task will use, and what the server the tasks are forked from imports."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(threads)
    multiprocessing.get_context("forkserver").set_forkserver_preload([*modules])
    sweep_scratch()


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
    kills = _kernel_kills()
    with _scratch_folder() as scratch:
        arguments = (task, argument, limits, str(log) if log else os.devnull, scratch, sender)
        process = context.Process(target=_child, args=arguments, daemon=False)
        try:
            with _children_allowed():
                process.start()
            sender.close()
            ending = _watch(process, receiver, limits, log, stop)
            return _explained(ending, kills, stop)
        finally:
            _kill(process)
            receiver.close()
            if log is not None:
                _shorten(log)


@contextlib.contextmanager
def _scratch_folder() -> Iterator[str]:
    """A working directory for one task; locked, so that `sweep_scratch` can tell it from one left by a death."""
    folder = tempfile.mkdtemp(prefix=SCRATCH)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def sweep_scratch() -> None:
    """Remove the working directories of tasks whose runner died before it could."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with contextlib.suppress(OSError):  # gone meanwhile, in use, or another user's
            if time.time() - folder.stat().st_mtime < SCRATCH_AGE:
                continue
            handle = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(handle)


_starting = threading.Lock()


@contextlib.contextmanager
def _children_allowed() -> Iterator[None]:
    """Dask's workers are daemonic, and multiprocessing forbids those to have children; ours never outlive them."""
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    with _starting:
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
                return _opened(receiver.recv_bytes())
            except (EOFError, OSError):
                process.join(5)
        if process.exitcode is not None:
            return _died(process.exitcode)
        if stop is not None and stop.is_set():
            return INTERRUPTED
        if limits.seconds is not None and time.monotonic() - started > limits.seconds:
            return Ending(status="timeout", kind="timeout", message=f"not done after {limits.seconds:g} s")
        if limits.memory is not None and (used := _resident(process.pid)) > limits.memory:
            message = f"held {used >> 20} MiB, the limit is {limits.memory >> 20} MiB"
            return Ending(status="oom", kind="memory", message=message)
        if log is not None:
            _free_beginning(log)


def _opened(content: bytes) -> Ending:
    """What the task sent: its value, or why it could not send one."""
    try:
        value, problem = pickle.loads(content)
    except Exception as error:  # made of a class that only the task's process knows
        value, problem = None, f"{type(error).__name__}: {error}"
    if problem:
        return Ending(status="failed", kind="unpicklable", message=f"the result cannot be sent: {problem}")
    return Ending(value)


def _explained(ending: Ending, kills_before: int, stop: Flag | None) -> Ending:
    """A process that died: by the user's signal, by the kernel's for want of memory, or by its own fault?"""
    if ending.kind not in ("crash", "exit"):
        return ending
    time.sleep(POLL_SECONDS)  # a signal to the whole group may reach the task, or its server, before it reaches us
    if stop is not None and stop.is_set():
        return INTERRUPTED
    if "SIGKILL" in ending.message and _kernel_kills() > kills_before:
        return Ending(status="oom", kind="memory", message="ended by the kernel: the machine ran out of memory")
    return ending


def _kernel_kills() -> int:
    """How many processes the kernel has ended for want of memory so far (0 where it does not say)."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/vmstat") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return 0


def _died(exitcode: int) -> Ending:
    if exitcode < 0:
        name = signal.Signals(-exitcode).name
        return Ending(status="failed", kind="crash", message=f"the process was ended by {name}")
    return Ending(status="failed", kind="exit", message=f"the process exited with code {exitcode} without a result")


def _kill(process: Any) -> None:
    """The task and whatever it started: it leads a process group of its own."""
    if process.pid is None:
        return  # never started
    with contextlib.suppress(ProcessLookupError, PermissionError):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:  # gone, or not yet the leader of its group
            if process.exitcode is None:
                os.kill(process.pid, signal.SIGKILL)
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


def _free_beginning(log: Path) -> None:
    """Give back the disk space of all but the end of a long log, while the task goes on writing to it."""
    with contextlib.suppress(OSError), log.open("r+b") as handle:
        status = os.fstat(handle.fileno())
        if status.st_blocks * 512 <= 8 * LOG_LIMIT:
            return
        punch_hole = 0x01 | 0x02  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
        hole = ctypes.c_int64(0), ctypes.c_int64(status.st_size - LOG_LIMIT)
        if sys.platform != "linux" or ctypes.CDLL(None).fallocate(handle.fileno(), punch_hole, *hole):
            handle.truncate(0)  # where a file cannot have holes, lose what there is rather than fill the disk


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


def _child(task: Callable[[Any], Any], argument: Any, limits: Limits, log: str, scratch: str, sender: Any) -> None:
    os.setsid()
    _die_with_runner()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # when memory runs out, the kernel is to choose the task, not the runner
        Path("/proc/self/oom_score_adj").write_text("1000")
    _redirect(log)
    if limits.gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = limits.gpu
    os.chdir(scratch)
    value = task(argument)
    sys.stdout.flush()
    try:
        content = pickle.dumps((value, ""))
    except Exception as error:
        content = pickle.dumps((None, f"{type(error).__name__}: {error}"))
    sender.send_bytes(content)


def _redirect(log: str) -> None:
    """Output to the log, nothing on the input, a stack trace on a crash."""
    try:
        output = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_TRUNC, 0o644)
    except OSError:  # a full disk costs the log, not the cell
        output = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    faulthandler.enable()


def _die_with_runner() -> None:
    """Linux: when the runner goes, even by kill -9, the kernel kills this process and all it started.

    The runner holds the other end of a pipe; that its end is closed is signalled to our group. (The server we
    were forked from lives as long as any of us, so that its death, PR_SET_PDEATHSIG, would come too late.)
    """
    parent = multiprocessing.parent_process()
    if sys.platform != "linux" or parent is None:
        return
    set_signal = 10  # F_SETSIG, which the fcntl module does not name
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(parent.sentinel, set_signal, signal.SIGKILL)
    flags = fcntl.fcntl(parent.sentinel, fcntl.F_GETFL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, flags | os.O_ASYNC)
    if select.select([parent.sentinel], [], [], 0)[0]:
        os._exit(1)  # it went before we asked
