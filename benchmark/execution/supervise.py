"""One task in a process of its own, watched: what a hostile or unlucky cell can do, it does to itself alone.

The process is forked from a clean server that has the heavy imports done (multiprocessing's forkserver), so it
starts in milliseconds and shares nothing with its neighbours; task_process.py is what happens inside. Why not a
plain loky or Dask pool: there a worker that dies takes the pool's or its neighbours' tasks with it, and neither can
stop a task that hangs. Pools therefore only decide *when* a cell runs; this module runs it, inside joblib's threads
and Dask's workers alike.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import multiprocessing
import multiprocessing.connection
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any, Protocol

from benchmark.execution.processes import alive, descendants, end, end_strays, marked, resident, state, sweep_strays
from benchmark.execution.record import Status
from benchmark.execution.task_process import LAST_SECONDS, keep, tell_runner

POLL_SECONDS = 0.1  # between looks at the clock, the memory and the log; a result is noticed at once
SCRATCH = "hashbench-cell-"  # how the working directories of tasks are called
SCRATCH_AGE = 60  # seconds; a younger one may not be locked yet
LOG_LIMIT = 1 << 20  # bytes of a cell's output that are kept
LOG_TAIL = 1 << 16  # bytes at its end that are searched for last words
LOST_TRIES = 3  # how often a task that died with its server is started
ALIVE_SECONDS = 5  # after so long a silence it is said that the task lives
NO_EXIT_CODE = 255  # multiprocessing's word for "the server is not there to tell"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Flag(Protocol):
    """Something that can say stop (a threading.Event)."""

    def is_set(self) -> bool: ...


Told = Callable[[str, int, int | None], None]  # what a step is, how much of it is done, of how much if that is known
__all__ = ["INTERRUPTED", "Ending", "Flag", "Limits", "Told", "start_server", "supervise", "tell_runner"]


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
LOST = Ending(status="failed", kind="lost", message="the process and the server it was forked from were killed")


def start_server(threads: int, modules: Sequence[str] = ()) -> None:
    """Set the threads every library of every task will use, and what the server the tasks are forked from imports."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(threads)
    multiprocessing.get_context("forkserver").set_forkserver_preload([*modules])
    sweep_scratch()
    sweep_strays()


def supervise(
    task: Callable[[Any], Any],
    argument: Any,
    limits: Limits,
    log: Path | None = None,
    stop: Flag | None = None,
    told: Told | None = None,
) -> Ending:
    """Run `task(argument)` in its own process and say how it ended.

    `told` hears what the task tells of its steps (`tell_runner`), and at least every few seconds that it lives. A task
    that died with the server it was forked from, so by another's fault, is run again, a bounded number of times.
    """
    content = pickle.dumps((task, argument))
    ending = LOST
    for _ in range(LOST_TRIES):
        ending = _run_once(content, limits, log, stop, told)
        if ending.kind != LOST.kind:
            return ending
    return replace(ending, kind="crash", message=f"{ending.message}, {LOST_TRIES} times")


def _run_once(content: bytes, limits: Limits, log: Path | None, stop: Flag | None, told: Told | None) -> Ending:
    kills = _kernel_kills()
    with _scratch_folder() as scratch:
        output = log or Path(scratch) / "log"
        try:
            kept = _start(content, limits, output, scratch)
        except (OSError, EOFError) as error:  # no more processes or files, or the server was killed while it was asked
            return replace(LOST, message=f"no process could be started ({type(error).__name__}: {error})")
        try:
            ending = _watch(kept, limits, output, stop, told)
            return _explained(ending, kills, output, stop)
        finally:
            kept.end()
            if log is not None:
                _shorten(log)


class _Kept:
    """A task under way, as the runner sees it: its keeper, the pipe it talks through, the server of both."""

    def __init__(self, process: Any, receiver: Any, server: int) -> None:
        self.process, self.receiver, self.pid = process, receiver, process.pid
        self.keeper, self.server = _identity(process.pid), _identity(server)
        self.waited_for = [receiver, process.sentinel]

    def message(self) -> tuple[Any, ...] | None:
        """What the task has sent, if it sends anything within a moment."""
        if not self.waited_for:
            time.sleep(POLL_SECONDS)
            return None
        ready = multiprocessing.connection.wait(self.waited_for, POLL_SECONDS)
        if self.receiver in self.waited_for and (self.receiver in ready or self.receiver.poll()):
            try:
                return _opened(self.receiver.recv_bytes())
            except (EOFError, OSError):
                self.waited_for.remove(self.receiver)
        return None

    def death(self) -> Ending | None:
        """How the keeper, and so the task, died; it may live on without the server that would tell."""
        code = self.process.exitcode
        if code is None:
            return None
        if code != NO_EXIT_CODE or not _died_by(time.monotonic() + 1, self.server):
            return _died(code)
        if self.process.sentinel in self.waited_for:
            self.waited_for.remove(self.process.sentinel)
        return None if alive(*self.keeper) else LOST

    def resident(self) -> int:
        return resident(descendants(self.pid))

    def end(self) -> None:
        """The task and whatever it started: the keeper sees to it, and if it cannot, we do."""
        if alive(*self.keeper):
            for number in (signal.SIGTERM, signal.SIGCONT):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, number)
        if not _died_by(time.monotonic() + LAST_SECONDS + 2, self.keeper):
            end([*descendants(self.pid), self.pid])
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.join(1)
        with _starting:
            _living.discard(self.pid)
            if self.process.exitcode in (None, -signal.SIGKILL, NO_EXIT_CODE):  # the keeper may not have ended all
                end_strays({*_living, _server_pid()} - {0})
        with contextlib.suppress(ValueError):
            self.process.close()
        self.receiver.close()


_starting = threading.Lock()
_living: set[int] = set()  # keepers


def _start(content: bytes, limits: Limits, log: Path, scratch: str) -> _Kept:
    """Fork a keeper, from a server that is started first where there is none, or none any more."""
    context = multiprocessing.get_context("forkserver")
    receiver, sender = context.Pipe(duplex=False)
    work = Path(scratch) / "work"
    work.mkdir()
    arguments = (content, str(log), str(work), limits.gpu, sender)
    process = context.Process(target=keep, args=arguments, daemon=False)
    try:
        with _starting, _children_allowed():
            resource_tracker.ensure_running()  # before the mark is set: it is no task's
            with marked(), _without_main():
                process.start()
            kept = _Kept(process, receiver, _server_pid())
            _living.add(kept.pid)
            return kept
    except BaseException:
        receiver.close()
        raise
    finally:
        sender.close()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """A task needs nothing of the script that started the run; a child would execute that script once more."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _server_pid() -> int:
    return forkserver._forkserver._forkserver_pid or 0  # type: ignore[attr-defined]


def _identity(pid: int) -> tuple[int, float]:
    found = state(pid)
    return pid, found[1] if found else -1.0


def _died_by(deadline: float, process: tuple[int, float]) -> bool:
    while alive(*process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


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


@contextlib.contextmanager
def _children_allowed() -> Iterator[None]:
    """Dask's workers are daemonic, and multiprocessing forbids those to have children; ours never outlive them."""
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    daemonic = config.pop("daemon", None)
    try:
        yield
    finally:
        if daemonic is not None:
            config["daemon"] = daemonic


def _watch(kept: _Kept, limits: Limits, log: Path, stop: Flag | None, told: Told | None) -> Ending:
    started = heard = time.monotonic()
    step: tuple[str, int, int | None] = ("", 0, None)
    while True:
        message = kept.message()
        now = time.monotonic()
        if message is not None and message[0] != "progress":
            return _ending(*message)
        if message is None and (death := kept.death()):
            return _last_message(kept) or death
        if message is not None or now - heard > ALIVE_SECONDS:
            step, heard = message[1:] if message else step, now
            if told is not None:
                told(*step)
        if stop is not None and stop.is_set():
            return INTERRUPTED
        if limits.seconds is not None and now - started > limits.seconds:
            return Ending(status="timeout", kind="timeout", message=f"not done after {limits.seconds:g} s")
        if limits.memory is not None and (used := kept.resident()) > limits.memory:
            text = f"held {used >> 20} MiB, the limit is {limits.memory >> 20} MiB"
            return Ending(status="oom", kind="memory", message=text)
        _free_beginning(log)


def _last_message(kept: _Kept) -> Ending | None:
    """What the task had sent, where it ended between our look for a message and our look for its death."""
    while (message := kept.message()) is not None:
        if message[0] != "progress":
            return _ending(*message)
    return None


def _opened(content: bytes) -> tuple[Any, ...]:
    """What the task sent: its value, why it has none, or how far it is."""
    try:
        message: tuple[Any, ...] = pickle.loads(content)
    except Exception as error:  # made of a class that only the task's process knows
        message = "unsendable", f"{type(error).__name__}: {error}"
    return message


def _ending(kind: str, *content: Any) -> Ending:
    if kind == "value":
        return Ending(*content)
    if kind == "raised":
        return Ending(None, *content)
    return Ending(status="failed", kind="unpicklable", message=f"the result cannot be sent: {content[0]}")


def _explained(ending: Ending, kills_before: int, log: Path, stop: Flag | None) -> Ending:
    """A process that died: by the user's signal, by the kernel's for want of memory, or by its own fault?"""
    if ending.kind not in ("crash", "exit", LOST.kind):
        return ending
    time.sleep(POLL_SECONDS)  # a signal to the whole group may reach the task, or its server, before it reaches us
    if stop is not None and stop.is_set():
        return INTERRUPTED
    if "SIGKILL" in ending.message and _kernel_kills() > kills_before:
        return Ending(status="oom", kind="memory", message="ended by the kernel: the machine ran out of memory")
    words = last_words(log)
    return replace(ending, message=f"{ending.message}; its last words: {words}") if words else ending


def last_words(log: Path) -> str:
    """What a process wrote before it died: where it crashed, if the interpreter could say, else its last lines."""
    try:
        with log.open("rb") as handle:
            handle.seek(max(0, log.stat().st_size - LOG_TAIL))
            text = handle.read().decode(errors="replace")
    except OSError:
        return ""
    lines = [line for part in text.split("\n") if (line := "".join(c for c in part if c.isprintable()).strip())]
    crash = next((number for number, line in enumerate(lines) if line.endswith("(most recent call first):")), None)
    shown = lines[-3:] if crash is None else lines[crash + 1 : crash + 2]
    return " | ".join(shown)[-300:]


def _kernel_kills() -> int:
    """How many processes the kernel has ended for want of memory so far (0 where it does not say)."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/vmstat") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return 0


def _died(exitcode: int) -> Ending:
    if exitcode < 0:
        return Ending(status="failed", kind="crash", message=f"the process was ended by {signal_name(-exitcode)}")
    return Ending(status="failed", kind="exit", message=f"the process exited with code {exitcode} without a result")


def signal_name(number: int) -> str:
    """SIGSEGV; those in the range for real time have no names but their places in it."""
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    if hasattr(signal, "SIGRTMIN") and signal.SIGRTMIN < number < signal.SIGRTMAX:
        return f"signal {number} (SIGRTMIN+{number - signal.SIGRTMIN})"
    return f"signal {number}"


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
