"""Where things live that can be made again, how they are written, and who is told while they are made.

A note is a small JSON file that begins with the hash of the rest: a damaged one reads as if it were not there,
and what it held is made again. Who wants to show how far a long task is listens by `telling`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from benchmark.errors import UsageError

Listener = Callable[[str, int, int], None]  # what is being done, how much is done, of how much (0: unknown)
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def cache_dir() -> Path:
    """HASHBENCH_CACHE, else the user's cache folder; made when first asked for."""
    chosen = os.environ.get("HASHBENCH_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(chosen) if chosen else Path(base) / "hashbench"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"cache folder {folder} cannot be made: {reason}; name another by HASHBENCH_CACHE") from None
    return folder


def cache_name(*parts: str) -> str:
    """A file name for what these parts identify; file names of any encoding may be among them."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write to the temporary path given; it takes the place of `path` at once, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[None]:
    """Hold the lock beside `path`; the kernel frees it when the process dies. Without `wait`, BlockingIOError where
    another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def read_note(path: Path) -> Any:
    """What `write_note` wrote there; None where there is nothing, or not what was written."""
    try:
        told, _, text = path.read_bytes().partition(b"\n") if path.is_file() else (b"", b"", b"")
    except OSError:
        return None
    return json.loads(text) if hashlib.sha256(text).hexdigest().encode() == told else None


def write_note(path: Path, value: Any) -> None:
    """Keep a value that JSON can hold; a cache that cannot be written is only slower."""
    text = json.dumps(value, separators=(",", ":")).encode()
    with contextlib.suppress(OSError), replacing(path) as temporary:
        temporary.write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)


@contextlib.contextmanager
def telling(listener: Listener | None) -> Iterator[None]:
    """Within this block, `listener` hears how far long tasks of this room are."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def listening() -> Listener | None:
    """Who hears it now."""
    return _listener.get()


def tell(what: str, done: int, total: int) -> None:
    """Say how far a long task is to whoever listens."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)
