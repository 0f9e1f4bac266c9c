"""Cells on a Dask cluster: the numbers of a local run, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark import UsageError, cluster
from benchmark.cluster import at_home, connect
from benchmark.supervise import Limits

HOSTILE = Path(__file__).parents[2] / "hostile"
SLOW_START = '''
import time
from pathlib import Path
import numpy as np
from benchmark import Split, register_method

@register_method("visible", title="Visible", family="control")
class Visible:
    """Leaves a file for each cell it starts, and takes its time."""

    def __init__(self, bits: int, seed: int = 0) -> None:
        self.bits, self.seed = bits, seed

    def fit(self, train: Split):
        Path(FOLDER, f"{self.seed}-{time.time_ns()}").touch()
        time.sleep(0.5)
        return self

    def encode(self, split: Split) -> np.ndarray:
        planes = np.random.default_rng(self.seed).normal(size=(split.features.shape[1], self.bits))
        return np.where(split.features @ planes >= 0, 1, -1).astype(np.int8)
'''


@pytest.mark.parametrize("address", ["local:", "local:0", "local:two", "local:-1"])
def test_a_local_cluster_needs_a_number_of_workers(address: str) -> None:
    with pytest.raises(UsageError, match="expected local:N"), connect(address):
        pass


def test_an_address_where_nobody_answers_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(UsageError, match="no scheduler answers"), connect("tcp://127.0.0.1:1"):
        pass


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install -e '?\"\.\[dask\]"), connect("local:1"):
        pass


def test_other_arguments_than_requests_stay_as_they_are() -> None:
    assert at_home("anything") == "anything"


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers as anyone would start them; the address, and the workers' processes."""
    folder = tmp_path_factory.mktemp("dask")
    note = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    options = ["--scheduler-file", str(note), "--no-dashboard"]
    processes = [subprocess.Popen([*dask, "scheduler", "--port", "0", "--host", "127.0.0.1", *options], **quiet)]
    while not note.exists():
        assert processes[0].poll() is None
        time.sleep(0.1)
    worker = [*dask, "worker", "--scheduler-file", str(note), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    processes += [subprocess.Popen(worker, **quiet) for _ in range(2)]
    try:
        import distributed

        with distributed.Client(scheduler_file=str(note), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=120)
            address = client.scheduler.address
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


# The tests below share one cluster; the last of them takes a worker away.


@pytest.mark.slow
def test_a_cluster_gives_the_numbers_of_a_local_run(scheduler: Any, bench: Any, other_bench: Any) -> None:
    for one in (bench, other_bench):
        one.plugins += [HOSTILE / "segfaults.py", HOSTILE / "loops.py", HOSTILE / "prints.py"]
        one.methods = ["neighbour", "itq", "segfaults", "loops", "prints"]
        one.seeds = [0]
    assert bench.run("--timeout", "5", "--dask", scheduler[0]) == 1
    assert other_bench.run("--timeout", "5") == 1
    assert bench.content() == other_bench.content()
    assert bench.statuses() == {
        "neighbour": "ok", "itq": "ok", "segfaults": "failed", "loops": "timeout", "prints": "ok",
    }  # fmt: skip
    logs = {path.name: path.stat().st_size for path in (bench.results / "logs").iterdir()}
    assert logs.keys() == {path.name for path in (other_bench.results / "logs").iterdir()}
    assert bench.leftovers() == []


@pytest.mark.slow
def test_an_interrupted_run_takes_its_cells_back(scheduler: Any, bench: Any) -> None:
    """The worker is free again at once, not when the cell it was given ends."""
    stop = threading.Event()
    with connect(scheduler[0]) as place:
        threading.Timer(2, stop.set).start()
        assert place.run(time.sleep, 600, Limits(), None, stop).status == "interrupted"
        threads = [threading.Thread(target=place.run, args=(time.sleep, 0.1, Limits())) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
            assert not thread.is_alive()


@pytest.mark.slow
def test_a_worker_killed_in_mid_run_costs_no_cell(scheduler: Any, bench: Any, other_bench: Any) -> None:
    address, workers = scheduler
    started = bench.folder / "started"
    started.mkdir()
    method = bench.folder / "visible.py"
    method.write_text(SLOW_START.replace("FOLDER", repr(str(started))))
    for one in (bench, other_bench):
        one.plugins, one.methods, one.seeds = [method], ["visible"], list(range(8))
    process = bench.start("--dask", address)
    while len(list(started.iterdir())) < 3:
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(workers[0].pid, signal.SIGKILL)
    told = process.communicate(timeout=200)
    assert process.returncode == 0, "\n".join(told)
    assert len(list(started.iterdir())) <= 8 + 1 + 1  # at most the cell in flight on the dead worker is repeated
    assert other_bench.run() == 0
    assert bench.content() == other_bench.content()
    assert len(bench.content()) == 8
    assert bench.leftovers() == []
