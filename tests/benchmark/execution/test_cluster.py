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
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmark import Split, Splits, UsageError, count
from benchmark.data import feature_cache as features
from benchmark.data.images import ImageArrays, Transform
from benchmark.deep.backbones import Backbone
from benchmark.deep.profile import load_profile
from benchmark.execution import dask_client
from benchmark.execution import shipping as parcels
from benchmark.execution.cluster import connect
from benchmark.execution.dask_client import client_of
from benchmark.execution.request import Request
from benchmark.execution.shipping import at_home
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


def request(**changes: Any) -> Request:
    blank: dict[str, Any] = {
        "key": "k", "identity": {}, "parts": {}, "dataset": "lsh", "data_root": None, "dataset_parameters": {},
        "profile": load_profile("quick"), "backbone": None, "weights": None, "partial_weights": False,
    }  # fmt: skip
    return Request(**(blank | changes))


def test_a_snapshot_is_kept_where_the_results_folder_is_in_sight(tmp_path: Path) -> None:
    seen = str(tmp_path / "checkpoints" / "k.pt")
    assert at_home(request(checkpoint=seen)).checkpoint == seen
    assert at_home(request(checkpoint=str(tmp_path / "no" / "folder" / "k.pt"))).checkpoint is None


def test_files_that_a_worker_does_not_see_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(parcels, "_received", {})
    here = tmp_path / "here"
    (here / "root" / "lists").mkdir(parents=True)
    (here / "root" / "lists" / "train.txt").write_text("a 1")
    for name in ("data.npz", "weights.pth", "plugin.py"):
        (here / name).write_text(name)
    asked = request(
        dataset=f"features:{here / 'data.npz'}",
        data_root=str(here / "root"),
        weights=str(here / "weights.pth"),
        plugins=(str(here / "plugin.py"),),
    )
    paths = parcels.named_paths(asked)
    assert len(paths) == 4
    assert parcels.lacking(paths) == []
    packed = [parcels.pack(path) for path in paths]
    assert at_home(asked) == asked
    here.rename(tmp_path / "elsewhere")
    assert parcels.lacking(paths) == paths
    for parcel in packed * 2:
        parcels.receive(parcel)
    assert parcels.lacking(paths) == []
    found = at_home(asked)
    assert found.dataset.startswith("features:")
    assert Path(found.dataset.partition(":")[2]).read_text() == "data.npz"
    assert Path(found.weights or "").read_text() == "weights.pth"
    assert Path(found.plugins[0]).read_text() == "plugin.py"
    assert (Path(found.data_root or "") / "lists" / "train.txt").read_text() == "a 1"


def test_what_is_too_large_to_send_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").write_bytes(b"x" * 100)
    monkeypatch.setattr(parcels, "LIMIT", 99)
    with pytest.raises(UsageError, match="too much to send: mount it"):
        parcels.pack(str(tmp_path))


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
    alone = features.extract(dataset, splits, "mean", cache=tmp_path / "alone", workers=0)
    with distributed.Client(processes=False, n_workers=2, dashboard_address=None, set_as_default=False) as client:
        helped = features.extract(dataset, splits, "mean", cache=tmp_path / "helped", client=client)
    for name, split in alone.parts().items():
        assert np.array_equal(split.features, helped.parts()[name].features)  # type: ignore[arg-type]


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
