"""Cells on a Dask cluster: the numbers of a local run, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmark import Split, Splits, UsageError, count
from benchmark.data import feature_cache as features
from benchmark.data.images import ImageArrays, Transform
from benchmark.deep.backbones import Backbone
from benchmark.execution import dask_client
from benchmark.execution.cluster import connect
from benchmark.execution.dask_client import client_of
from benchmark.execution.supervise import Limits

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
    monkeypatch.setattr(dask_client, "CONNECT_SECONDS", 1)
    with pytest.raises(UsageError, match="no scheduler answers"), connect("tcp://127.0.0.1:1"):
        pass


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install -e '?\"\.\[dask\]"), connect("local:1"):
        pass


def test_features_made_by_a_cluster_are_those_made_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With workers that are threads of this process, so that they have its stand-in for a backbone."""
    import distributed
    import torch

    class Mean(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return images.mean(dim=(2, 3))

    transform = Transform(resize=8, crop=6)
    monkeypatch.setattr(features, "CHUNK", 8)
    monkeypatch.setattr(features, "BATCH", 4)
    monkeypatch.setattr(features, "weights_id", lambda name, weights, partial: "none")
    monkeypatch.setattr(features, "transform_of", lambda name: transform)
    monkeypatch.setattr(
        features, "load_backbone", lambda *_: Backbone("mean", Mean(), torch.nn.Identity(), transform, 3, "none")
    )
    pictures = np.random.default_rng(0).integers(0, 256, (43, 10, 12, 3), np.uint8)
    names = [str(number) for number in range(43)]
    splits = Splits(*(Split(images=ImageArrays(pictures[a:b]), ids=names[a:b]) for a, b in ((5, 43), (0, 5), (5, 43))))
    dataset: Any = SimpleNamespace(name="tiny", revision="1")
    alone = features.extract(dataset, splits, features.FeatureSource("mean"), cache=tmp_path / "alone", workers=0)
    with distributed.Client(processes=False, n_workers=2, dashboard_address=None, set_as_default=False) as client:
        helped = features.extract(
            dataset, splits, features.FeatureSource("mean"), cache=tmp_path / "helped", client=client
        )
    for name, split in alone.parts().items():
        assert np.array_equal(split.features, helped.parts()[name].features)  # type: ignore[arg-type]


@pytest.mark.slow
def test_counting_uses_the_same_client(scheduler: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    codes = [rng.choice(np.array([-1, 1], np.int8), (rows, 16)) for rows in (7, 300)]
    labels = [rng.integers(0, 4, rows) for rows in (7, 300)]
    with client_of(scheduler[0]) as client:
        helped = count(*codes, *labels, client=client)
    assert np.array_equal(helped.counts, count(*codes, *labels).counts)
    with client_of(None) as nobody:
        assert nobody is None


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is waited for for long, and nothing is waited for in silence."""
    monkeypatch.setattr(dask_client, "CONNECT_SECONDS", 5)
    monkeypatch.setattr(dask_client, "PATIENCE_SECONDS", 1)
    monkeypatch.setattr(dask_client, "LOOK_SECONDS", 0.2)


def visible(bench: Any, name: str, seeds: int) -> Path:
    """Give the bench a method of this name that leaves a file for each cell it starts, in the folder returned."""
    started = bench.folder / "started"
    started.mkdir()
    method = bench.folder / f"{name}.py"
    method.write_text(SLOW_START.replace("FOLDER", repr(str(started))).replace("visible", name))
    bench.plugins, bench.methods, bench.seeds = [method], [name], list(range(seeds))
    return started


def when(folder: Path, number: int, action: Any) -> threading.Thread:
    """Do it when so many files are in the folder."""

    def wait() -> None:
        deadline = time.monotonic() + 60
        while len(list(folder.iterdir())) < number and time.monotonic() < deadline:
            time.sleep(0.02)
        action()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_a_run_whose_scheduler_is_killed_ends_and_can_be_taken_up(
    dask_processes: Any, bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """D: it hung for ever."""
    dask_processes.worker()
    started = visible(bench, "orphaned", seeds=6)
    when(started, 3, dask_processes.scheduler.kill)
    begin = time.monotonic()
    assert bench.run("--dask", dask_processes.address) == 1
    assert time.monotonic() - begin < 60
    told = capsys.readouterr()
    assert f"lost the Dask scheduler at {dask_processes.address}: trying" in told.out
    assert f"the Dask scheduler at {dask_processes.address} is gone; to go on: hashbench " in told.err
    assert "failed" not in bench.statuses().values()
    assert bench.run() == 0
    assert [record.status for record in bench.store.records()] == ["ok"] * 6
    assert bench.leftovers() == []
    assert len(list(started.iterdir())) <= 6 + 1  # what the cluster had done is not done again


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_a_run_without_workers_says_what_it_waits_for(
    dask_processes: Any, bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """D: from the beginning, and when the last of them is killed in mid-run; it goes on with those that come."""
    started = visible(bench, "starved", seeds=4)
    first: list[Any] = []
    threading.Timer(3, lambda: first.append(dask_processes.worker())).start()
    when(started, 2, lambda: (first[0].kill(), time.sleep(3), dask_processes.worker()))
    assert bench.run("--dask", dask_processes.address) == 0
    told = capsys.readouterr().out
    waiting = f"s: waiting; Ctrl-C stops, or start workers: dask worker {dask_processes.address}"
    assert told.count(waiting) == 2
    assert told.count("Dask: going on with 1 worker") == 2
    assert [record.status for record in bench.store.records()] == ["ok"] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_waiting_for_workers_can_be_stopped(dask_processes: Any) -> None:
    """D: before the first one comes, and with a task under way."""
    stop, said = threading.Event(), []
    threading.Timer(2, stop.set).start()
    with connect(dask_processes.address, say=said.append, stop=stop) as place:
        assert place.run(abs, -1, Limits(), None, stop).status == "interrupted"
    assert any("no Dask worker for" in text for text in said)


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_shared_work_ends_with_a_sentence_when_the_scheduler_is_killed(dask_processes: Any) -> None:
    """D: features and counting, too."""
    dask_processes.worker()
    threading.Timer(8, dask_processes.scheduler.kill).start()

    def work() -> None:
        with client_of(dask_processes.address, lambda text: None) as client:
            client.submit(time.sleep, 600).result()

    with pytest.raises(UsageError, match="the scheduler was lost in mid-work"):
        work()


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
    keys = {record.cell["method"]: record.key for record in bench.store.records()}
    assert "Segmentation fault" in bench.store.log_path(keys["segfaults"]).read_text()
    assert 1 << 19 < bench.store.log_path(keys["prints"]).stat().st_size < 1 << 21
    assert bench.leftovers() == []


@pytest.mark.slow
def test_a_cell_that_takes_every_worker_with_it_is_given_up() -> None:
    murder = "import multiprocessing, os; os.kill(multiprocessing.parent_process().pid, 9)"
    with connect("local:1") as place:
        ending = place.run(exec, murder, Limits())
        assert (ending.status, ending.kind) == ("failed", "crash")
        assert "vanished" in ending.message
        assert place.run(abs, -1, Limits()).value == 1


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
    started = visible(bench, "visible", seeds=8)
    other_bench.plugins, other_bench.methods, other_bench.seeds = bench.plugins, bench.methods, bench.seeds
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
