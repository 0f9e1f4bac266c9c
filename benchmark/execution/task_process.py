"""The two processes of a supervised task: the task itself, and above it the keeper that ends what it leaves behind.

The keeper is forked from the server, starts the task, and waits for it, for the runner's word and for the runner's
death, even by kill -9. Whatever the task started falls to the keeper when its parents are gone (Linux: it is a
child subreaper), and is killed at the end. A task that kills its parent hits the keeper, its own, and nobody else's.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import multiprocessing
import os
import pickle
import resource
import select
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from benchmark.errors import UsageError
from benchmark.execution.processes import descendants, end

TELL_SECONDS = 0.2  # between two messages on one step
LAST_SECONDS = 10  # for what the task has left to die
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


class _Line:
    """The task's way to tell the runner something."""

    def __init__(self) -> None:
        self.sender: Any = None
        self.owner = 0  # forked children have the pipe too, but would write into each other's messages
        self.lock = threading.Lock()
        self.step, self.told = "", 0.0

    def send(self, *message: Any) -> None:
        content = pickle.dumps(message)
        with self.lock:
            self.sender.send_bytes(content)


_line = _Line()


def tell_runner(what: str, done: int = 0, total: int | None = None) -> None:
    """In a supervised task: say how far a step of it is. Cheap: five messages a second go out; elsewhere, none."""
    now = time.monotonic()
    if _line.owner != os.getpid() or (what == _line.step and now - _line.told < TELL_SECONDS):
        return
    _line.step, _line.told = what, now
    with contextlib.suppress(OSError):  # the runner will be heard of, or not, by the keeper
        _line.send("progress", str(what)[:200], int(done), None if total is None else int(total))


# The keeper


def keep(content: bytes, log: str, scratch: str, gpu: str | None, sender: Any) -> NoReturn:
    """Run the pickled task and its argument in a child, end all it leaves, and end the way it did."""
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    reader, writer = _wake_on_signals()
    task = os.fork()
    if task == 0:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.close(reader)
        os.close(writer)
        _run(content, log, scratch, gpu, sender)
    sender.close()
    code = _awaited(task, reader)
    _end_rest()
    _end_like(code)


def _wake_on_signals() -> tuple[int, int]:
    """A pipe that is written to when a child ends, and when the runner says stop (SIGTERM)."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reader, writer


def _awaited(task: int, reader: int) -> int:
    """The task's exit code; SIGTERM's where the runner has it stopped, or is gone."""
    runner = multiprocessing.parent_process()
    ends = [reader, *([runner.sentinel] if runner else [])]
    while True:
        ready = select.select(ends, [], [])[0]
        woken = os.read(reader, 4096) if reader in ready else b""
        with contextlib.suppress(ChildProcessError):
            while (child := os.waitpid(-1, os.WNOHANG))[0]:
                if child[0] == task:
                    return os.waitstatus_to_exitcode(child[1])
        if signal.SIGTERM in woken or any(one in ready for one in ends[1:]):
            return -signal.SIGTERM


def _end_rest() -> None:
    deadline = time.monotonic() + LAST_SECONDS
    while time.monotonic() < deadline:
        end(descendants(os.getpid()))
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return  # no child is left, and so no descendant
        time.sleep(0.002)


def _end_like(code: int) -> NoReturn:
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has but one disposition
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        time.sleep(1)
    os._exit(code if code >= 0 else 1)


# The task


def _run(content: bytes, log: str, scratch: str, gpu: str | None, sender: Any) -> NoReturn:
    """Never returns: the frames above are the keeper's."""
    code = 1
    try:
        _line.sender, _line.owner = sender, os.getpid()
        with contextlib.suppress(OSError):  # when memory runs out, the kernel is to choose the task, not the runner
            Path("/proc/self/oom_score_adj").write_text("1000")
        _redirect(log)
        if gpu is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = gpu
        os.chdir(scratch)
        code = _told_result(content)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _told_result(content: bytes) -> int:
    """Do it and send what came of it; the exit code."""
    try:
        task, argument = pickle.loads(content)
        value = task(argument)
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return (leaving.code or 0) & 255
        print(leaving.code, file=sys.stderr)
        return 1
    except BaseException as error:
        traceback.print_exc()
        _line.send("raised", *raised(error))
        return 1
    try:
        _line.send("value", value)
    except OSError:
        raise  # nobody listens
    except Exception as error:
        _line.send("unsendable", f"{type(error).__name__}: {error}")
    return 0


def raised(error: BaseException) -> tuple[str, str, str]:
    """An exception as a status, a kind and a sentence that says where it came from; a UsageError is one already."""
    kind = type(error).__name__
    try:
        text = " ".join(str(error).split())[:2000]
    except Exception:
        text = "(its message cannot be had)"
    if not isinstance(error, UsageError):
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
        text = f"{kind}: {text}{place}" if text else f"{kind}{place}"
    return ("oom" if isinstance(error, MemoryError) else "failed"), kind, text


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
