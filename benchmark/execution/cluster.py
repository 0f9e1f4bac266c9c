"""A Dask cluster as the place where cells run: an existing scheduler's, or one of N workers on this machine.

Dask decides which worker runs a cell and gives it to another when that worker vanishes, a bounded number of times
(its setting `distributed.scheduler.allowed-failures`). On the worker, `supervise` runs the cell in a process of
its own, as it does here: a cell that hangs or dies takes no worker with it. Nothing there writes to results/: record,
payload and log travel back. Files that a worker does not see are sent to it (shipping.py) when it says so.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmark.execution.dask_client import Lookout, Say, to_stderr, watched_client
from benchmark.execution.request import Request
from benchmark.execution.shipping import at_home, lacking, make_parcel, named_paths, send
from benchmark.execution.supervise import (
    INTERRUPTED,
    LOG_LIMIT,
    Ending,
    Flag,
    Limits,
    Told,
    start_server,
    supervise,
)

POLL_SECONDS = 0.2  # between looks at the flag that stops a run; a result is noticed at once
LOST_TRIES = 3  # how often a cell whose result the cluster has lost is sent again
LACKING = "lacking"  # the kind of ending of a cell whose worker asks for files


class Cluster:
    """Runs tasks through a Dask client, one at a time per thread of its workers."""

    def __init__(self, client: Any, lookout: Lookout, modules: Sequence[str]) -> None:
        self.client, self.lookout, self.modules = client, lookout, tuple(modules)
        self._sent: set[str] = set()
        self._sending = threading.Lock()

    @property
    def workers(self) -> int:
        return len(self.client.nthreads())

    @property
    def slots(self) -> int:
        """Cells the workers can run at once: one per thread."""
        return max(1, sum(self.client.nthreads().values()))

    def run(
        self,
        task: Callable[[Any], Any],
        argument: Any,
        limits: Limits,
        log: Path | None = None,
        stop: Flag | None = None,
        told: Told | None = None,
    ) -> Ending:
        """Run `task(argument)` in a process of its own on some worker and say how it ended.

        What it tells of its steps stays there. An ending of kind `gone` means that the scheduler is: no task will run.
        """
        paths = named_paths(argument) if isinstance(argument, Request) else []
        ending, text, tries = INTERRUPTED, b"", 0
        while tries < LOST_TRIES:
            ending, text = self._once(task, argument, limits, paths, stop)
            if ending.kind == LACKING and not self._sent.issuperset(ending.value):
                self._send(ending.value)
            elif ending.kind not in ("lost", LACKING):
                break
            else:
                tries += 1
        if log is not None and text:
            with contextlib.suppress(OSError):
                log.write_bytes(text)
        return ending

    def _once(self, task: Any, argument: Any, limits: Limits, paths: Sequence[str], stop: Flag | None) -> Any:
        while self.client.status == "connecting" and not (stop is not None and stop.is_set()):
            time.sleep(POLL_SECONDS)  # the scheduler may come back, or its lookout will give it up
        if self.client.status in ("closing", "closed"):
            return self._gone(), b""
        key = f"hashbench-{uuid.uuid4().hex}"
        arguments = (task, argument, limits, self.modules, paths, key)
        try:
            future = self.client.submit(supervise_on_worker, *arguments, key=key, pure=False)
        except Exception:
            if self.client.status == "running":
                raise
            return self._gone(), b""
        return self._awaited(future, stop)

    def _send(self, paths: Sequence[str]) -> None:
        """See to it that every worker, now and later, has these files and folders."""
        with self._sending:
            for path in paths:
                if path not in self._sent:
                    send(self.client, make_parcel(path))
                    self._sent.add(path)

    def _awaited(self, future: Any, stop: Flag | None) -> tuple[Ending, bytes]:
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        while True:
            done.wait(POLL_SECONDS)
            if future.status == "finished":
                ending, text = future.result()
                return ending, text
            if stop is not None and stop.is_set():
                future.cancel()
                return INTERRUPTED, b""
            if self.lookout.gone:
                return self._gone(), b""
            if future.status == "error":
                return self._failed(future.exception()), b""
            if future.status in ("cancelled", "lost"):
                return Ending(status="failed", kind="lost", message="the cluster has lost the cell's result"), b""

    def _gone(self) -> Ending:
        """The cell is as good as before: it is to be run, not to be called a failure."""
        self.lookout.look()
        return Ending(status="interrupted", kind="gone", message=self.lookout.gone or "the Dask client was closed")

    def _failed(self, error: BaseException) -> Ending:
        import distributed

        if isinstance(error, distributed.KilledWorker):
            return Ending(status="failed", kind="crash", message="every Dask worker that ran the cell vanished")
        return Ending(status="failed", kind="cluster", message=f"{type(error).__name__}: {error}")


class Cancelled:
    """Says stop when the scheduler has taken the task back: the run was interrupted, or its process died."""

    def __init__(self, worker: Any, key: str) -> None:
        self.worker, self.key = worker, key

    def is_set(self) -> bool:
        known = self.worker.state.tasks.get(self.key)
        return known is None or known.state in ("cancelled", "released", "forgotten")


def supervise_on_worker(
    task: Callable[[Any], Any],
    argument: Any,
    limits: Limits,
    modules: Sequence[str],
    paths: Sequence[str],
    key: str,
) -> tuple[Ending, bytes]:
    """On a worker: supervise the task; its log travels back with how it ended. Files it lacks are asked for."""
    import distributed

    missing = lacking(paths)
    if missing:
        return Ending(missing, "failed", LACKING, f"not on the Dask worker, though sent: {', '.join(missing)}"), b""
    start_server(limits.threads, modules)
    stop = Cancelled(distributed.get_worker(), key)
    with tempfile.TemporaryDirectory(prefix="hashbench-log-") as folder:
        log = Path(folder) / "log"
        mine = at_home(argument) if isinstance(argument, Request) else argument
        ending = supervise(task, mine, limits, log, stop)
        return ending, log.read_bytes()[-LOG_LIMIT:] if log.is_file() else b""


@contextlib.contextmanager
def connect(
    address: str, modules: Sequence[str] = (), say: Say = to_stderr, stop: Flag | None = None
) -> Iterator[Cluster]:
    """The cluster at `address`, or for `local:N` one of N worker processes that ends with the run."""
    with watched_client(address, say) as (client, lookout):
        lookout.await_worker(stop)
        yield Cluster(client, lookout, modules)
