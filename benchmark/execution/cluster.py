"""A Dask cluster as the place where cells run: an existing scheduler's, or one of N workers on this machine.

Dask decides which worker runs a cell and gives it to another when that worker vanishes, a bounded number of times
(its setting `distributed.scheduler.allowed-failures`). On the worker, `supervise` runs the cell in a process of
its own, as it does here: a cell that hangs or dies takes no worker with it. Nothing there writes to results/: record,
payload and log travel back. Dask is an optional extra; only this module and callers of `connect` import it.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmark.errors import UsageError
from benchmark.execution.shipping import at_home, lacking, named_paths, pack, send
from benchmark.execution.supervise import INTERRUPTED, LOG_LIMIT, Ending, Flag, Limits, start_server, supervise
from benchmark.execution.worker import Request

CONNECT_SECONDS = 30
POLL_SECONDS = 0.2  # between looks at the flag that stops a run; a result is noticed at once
LOST_TRIES = 3  # how often a cell whose result the cluster has lost is sent again


class Cluster:
    """Runs tasks through a Dask client, one at a time per thread of its workers."""

    def __init__(self, client: Any, modules: Sequence[str]) -> None:
        self.client, self.modules = client, tuple(modules)
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
    ) -> Ending:
        """Run `task(argument)` in a process of its own on some worker and say how it ended."""
        if isinstance(argument, Request):
            self._send(named_paths(argument))
        ending = INTERRUPTED
        for _ in range(LOST_TRIES):
            key = f"hashbench-{uuid.uuid4().hex}"
            future = self.client.submit(carry_out, task, argument, limits, self.modules, key, key=key, pure=False)
            ending, text = self._awaited(future, stop)
            if ending.kind != "lost":
                break
        if log is not None and text:
            with contextlib.suppress(OSError):
                log.write_bytes(text)
        return ending

    def _send(self, paths: Sequence[str]) -> None:
        """See to it that every worker has these files and folders."""
        with self._sending:
            new = [path for path in paths if path not in self._sent]
            missing = self.client.run(lacking, new) if new else {}
            for path in {path for some in missing.values() for path in some}:
                send(self.client, pack(path))
            self._sent.update(new)

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
            if future.status == "error":
                return self._failed(future.exception()), b""
            if future.status in ("cancelled", "lost"):
                return Ending(status="failed", kind="lost", message="the cluster has lost the cell's result"), b""

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


def carry_out(
    task: Callable[[Any], Any], argument: Any, limits: Limits, modules: Sequence[str], key: str
) -> tuple[Ending, bytes]:
    """On a worker: supervise the task; its log travels back with how it ended."""
    import distributed

    start_server(limits.threads, modules)
    stop = Cancelled(distributed.get_worker(), key)
    with tempfile.TemporaryDirectory(prefix="hashbench-log-") as folder:
        log = Path(folder) / "log"
        mine = at_home(argument) if isinstance(argument, Request) else argument
        ending = supervise(task, mine, limits, log, stop)
        return ending, log.read_bytes()[-LOG_LIMIT:] if log.is_file() else b""


@contextlib.contextmanager
def connect(address: str, modules: Sequence[str] = ()) -> Iterator[Cluster]:
    """The cluster at `address`, or for `local:N` one of N worker processes that ends with the run."""
    try:
        import distributed
    except ImportError:
        raise UsageError('--dask needs Dask, which is not installed: pip install -e ".[dask]"') from None
    with contextlib.ExitStack() as stack:
        if address.startswith("local:"):
            # Cells are watched one by one (--memory), so that Dask need not restart workers for their sake.
            local = distributed.LocalCluster(
                n_workers=_workers(address),
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            )
            target: Any = stack.enter_context(local)
        else:
            target = address
        try:
            client = distributed.Client(target, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(f"--dask {address}: no scheduler answers there ({type(error).__name__})") from None
        stack.enter_context(client)
        yield Cluster(client, modules)


@contextlib.contextmanager
def client_of(address: str | None) -> Iterator[Any]:
    """A Dask client for work that can be shared: features of images, counting. None where no address is given."""
    if address is None:
        yield None
        return
    with connect(address) as cluster:
        yield cluster.client


def _workers(address: str) -> int:
    text = address.partition(":")[2]
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--dask {address}: expected local:N with N of 1 or more workers")
    return int(text)
