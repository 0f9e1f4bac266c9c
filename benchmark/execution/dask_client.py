"""A client of a Dask scheduler that does not wait in silence: it says when there is no worker, and when the end is.

Dask itself waits for workers for ever, and says nothing. Its extra is optional: nothing here imports it before it
is needed.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmark.errors import UsageError
from benchmark.execution.supervise import Flag
from benchmark.wording import counted

CONNECT_SECONDS = 30  # also how long a lost connection is tried again
LOOK_SECONDS = 1.0  # between looks at the scheduler
POLL_SECONDS = 0.2  # between looks at a flag that stops
ANSWER_SECONDS = 10  # within which it is to answer
PATIENCE_SECONDS = 30  # without workers or answers, before that is said
REMINDER_SECONDS = 300  # before it is said again

Say = Callable[[str], None]


def to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Lookout(threading.Thread):
    """Looks at the scheduler now and then, and says what a run waits for."""

    def __init__(self, client: Any, address: str, say: Say) -> None:
        super().__init__(name="hashbench-dask-lookout", daemon=True)
        self.client, self.address, self.say = client, address, say
        self.workers: int | None = None  # None: the scheduler does not answer
        self.gone = ""  # a sentence, once the connection is given up
        self._over = threading.Event()
        self._well = self._said = time.monotonic()
        self._complained = self._cut_off = False

    def run(self) -> None:
        self.look()
        while not self._over.wait(LOOK_SECONDS):
            self.look()

    def close(self) -> None:
        self._over.set()
        self.join()

    def await_worker(self, stop: Flag | None = None) -> None:
        """Until there is one, or nothing to wait for."""
        while not self.workers and not self.gone and not (stop is not None and stop.is_set()):
            self._over.wait(POLL_SECONDS)

    def look(self) -> None:
        """One look."""
        if self.client.status in ("closing", "closed"):
            self.gone = self.gone or f"the Dask scheduler at {self.address} is gone"
            return
        if self.client.status == "connecting" and not self._cut_off:
            self.say(f"lost the Dask scheduler at {self.address}: trying to reach it again for {CONNECT_SECONDS} s")
        self._cut_off = self.client.status == "connecting"
        self.workers = None if self._cut_off else self._count()
        now = time.monotonic()
        if self.workers:
            if self._complained:
                self.say(f"Dask: going on with {counted(self.workers, 'worker')}")
            self._well, self._said, self._complained = now, now, False
        elif now - self._said >= (REMINDER_SECONDS if self._complained else PATIENCE_SECONDS):
            self.say(self._complaint(now - self._well))
            self._said, self._complained = now, True

    def _count(self) -> int | None:
        try:
            return len(self.client.sync(self.client.scheduler.ncores, callback_timeout=ANSWER_SECONDS))
        except Exception:  # cut off, closed meanwhile, too slow: whatever it is, there is no answer
            return None

    def _complaint(self, seconds: float) -> str:
        if self.workers is None:
            return f"the Dask scheduler at {self.address} has not answered for {seconds:.0f} s: waiting; Ctrl-C stops"
        start = f"start workers: dask worker {self.address}"
        return f"no Dask worker for {seconds:.0f} s: waiting; Ctrl-C stops, or {start}"


@contextlib.contextmanager
def watched_client(address: str, say: Say = to_stderr) -> Iterator[tuple[Any, Lookout]]:
    """A client of the scheduler at `address`, or for `local:N` of one with N worker processes that end with it."""
    try:
        import distributed
    except ImportError:
        raise UsageError('--dask needs Dask, which is not installed: pip install -e ".[dask]"') from None
    with contextlib.ExitStack() as stack:
        if address.startswith("local:"):
            # Cells are watched one by one (--memory), so that Dask need not restart workers for their sake.
            local = distributed.LocalCluster(
                n_workers=check_address(address),
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            )
            target: Any = stack.enter_context(local)
        else:
            target = address
        try:
            client: Any = distributed.Client(target, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(f"--dask {address}: no scheduler answers there ({type(error).__name__})") from None
        stack.enter_context(_quiet("distributed.client"))  # until the client is closed, which it tells of too
        stack.enter_context(client)
        lookout = Lookout(client, client.scheduler.address, say)
        lookout.start()
        stack.callback(lookout.close)
        yield client, lookout


@contextlib.contextmanager
def client_of(address: str | None, say: Say = to_stderr) -> Iterator[Any]:
    """A Dask client for work that can be shared: features of images, counting. None where no address is given."""
    if address is None:
        yield None
        return
    with watched_client(address, say) as (client, lookout):
        lookout.await_worker()
        try:
            yield client
        except Exception as error:
            if client.status == "running":
                raise
            what = f"the scheduler was lost in mid-work ({type(error).__name__})"
            raise UsageError(f"--dask {address}: {what}: start it again, or do without") from error


@contextlib.contextmanager
def _quiet(name: str) -> Iterator[None]:
    """What that logger has to say is said better here."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def check_address(address: str) -> int:
    """How many workers `local:N` asks for; 0 where `address` is that of a scheduler."""
    kind, _, text = address.partition(":")
    if not address.strip():
        raise UsageError(f"--dask {address!r}: expected the address of a scheduler, or local:N")
    if kind != "local":
        return 0
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--dask {address}: expected local:N with N of 1 or more workers")
    return int(text)
