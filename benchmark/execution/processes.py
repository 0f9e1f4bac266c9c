"""Which processes belong to a task: its tree, the memory it holds, and what is left of it when its keeper is gone.

On Linux orphans of the tree fall to the task's keeper (task_process.py), so that neither setsid nor a double fork leads
out of it. Should the keeper itself be killed, a mark in the environment tells whose the survivors are: it names
the runner, so that a later run can end what a dead one has left. Elsewhere psutil finds the tree, less exactly:
orphans leave it, and there are no marks. A task is kept in bounds here, not in a sandbox: it could remove its mark.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
from collections.abc import Collection, Iterator
from pathlib import Path

MARK = "HASHBENCH_RUN"


def state(pid: int) -> tuple[str, float] | None:
    """The letter of its state and when it was born, which tells it from a later process of the same number."""
    if not _has_proc():
        import psutil

        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            return ("Z" if process.status() == psutil.STATUS_ZOMBIE else "R"), process.create_time()
        return None
    fields = _stat(pid)
    return (fields[0], float(fields[19])) if fields else None


def alive(pid: int, born: float) -> bool:
    """Whether that very process is there and not merely waits to be buried."""
    found = state(pid)
    return found is not None and found[0] not in "ZX" and found[1] == born


def descendants(pid: int) -> list[int]:
    """All processes below this one; children of its threads included."""
    if not _has_proc():
        import psutil

        with contextlib.suppress(psutil.Error):
            return [child.pid for child in psutil.Process(pid).children(recursive=True)]
        return []
    found: list[int] = []
    waiting = [pid]
    while waiting:
        for thread in _listed(f"/proc/{waiting.pop()}/task"):
            with contextlib.suppress(OSError):
                children = [int(child) for child in (thread / "children").read_text().split()]
                found += children
                waiting += children
    return found


def resident(pids: Collection[int]) -> int:
    """Bytes of memory these processes hold together."""
    return sum(_resident(pid) for pid in pids)


def end(pids: Collection[int]) -> None:
    """Kill them; those that are gone or another user's are passed over."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


# Marks


@contextlib.contextmanager
def marked() -> Iterator[None]:
    """What is started now bears the mark of this run, and so does all that it starts."""
    before = os.environ.get(MARK)
    os.environ[MARK] = _own_mark()
    try:
        yield
    finally:
        if before is None:
            del os.environ[MARK]
        else:
            os.environ[MARK] = before


def end_strays(roots: Collection[int]) -> None:
    """Kill what bears this run's mark and is below none of these processes."""
    mark = _own_mark()
    end([pid for pid, other in _marks() if other == mark and _is_stray(pid, roots)])


def sweep_strays() -> None:
    """Kill what was left by runs that are no more."""
    end([pid for pid, mark in _marks() if _runner_is_dead(mark)])


def _own_mark() -> str:
    fields = _stat(os.getpid())
    return f"{os.getpid()}-{fields[19] if fields else 0}-{_namespace()}"


def _runner_is_dead(mark: str) -> bool:
    number, _, rest = mark.partition("-")
    born, _, namespace = rest.partition("-")
    if not number.isdecimal() or not born.isdecimal() or namespace != _namespace():
        return False  # numbers of another container mean nothing here
    return not alive(int(number), float(born))


def _marks() -> Iterator[tuple[int, str]]:
    """Every marked process that we may look into, with its mark."""
    prefix = f"{MARK}=".encode()
    for folder in _listed("/proc"):
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            for entry in (folder / "environ").read_bytes().split(b"\0"):
                if entry.startswith(prefix):
                    yield int(folder.name), entry[len(prefix) :].decode(errors="replace")


def _is_stray(pid: int, roots: Collection[int]) -> bool:
    """Whether the way up leads past all roots; one that cannot be followed to its end tells nothing."""
    here = (0, 1, os.getpid())
    while pid not in roots:
        if pid in here:
            return True
        fields = _stat(pid)
        if not fields:
            return False
        pid = int(fields[1])
    return False


# /proc


@functools.cache
def _has_proc() -> bool:
    me = os.getpid()
    return Path(f"/proc/{me}/task/{me}/children").exists()


@functools.cache
def _namespace() -> str:
    """In which the numbers of processes count."""
    with contextlib.suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat that follow its name: state, parent, ...; none if there is no such process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return []


def _listed(folder: str) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(Path(folder).iterdir())
    return []


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        if _has_proc():
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if not _has_proc():
        import psutil

        with contextlib.suppress(psutil.Error):
            return psutil.Process(pid).memory_info().rss
    return 0
