"""A tiny grid that runs in milliseconds, on the command line or in this process, and what its store holds; Dask."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.commands.main import main
from benchmark.execution.store import Store

ROOT = Path(__file__).parents[3]
HOSTILE = ROOT / "tests" / "hostile"
TIMES = ("seconds", "provenance", "peak_memory")  # what differs between two runs of one cell


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five classes around five points, as a features file."""
    rng = np.random.default_rng(0)
    centres, arrays = rng.normal(size=(5, 8)), {}
    for part, rows in (("train", 60), ("query", 20), ("database", 100)):
        labels = rng.integers(0, 5, rows)
        arrays[f"{part}_labels"] = labels
        arrays[f"{part}_features"] = (centres[labels] + 0.5 * rng.normal(size=(rows, 8))).astype(np.float32)
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    np.savez(path, map_cutoff=20, **arrays)
    return path


class Bench:
    """Runs of a tiny grid into one results folder."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder, self.data = folder, data
        self.plugins = [HOSTILE / "neighbour.py"]
        self.methods = ["neighbour"]
        self.bits, self.seeds = [4], [0, 1]
        self.results = folder / "results"

    def words(self, *more: str) -> list[str]:
        """The command line, without the program."""
        words = ["--datasets", f"features:{self.data}", "--no-report", "--results", str(self.results)]
        words += ["--methods", *self.methods, "--plugin", *map(str, self.plugins)]
        words += ["--bits", *map(str, self.bits), "--seeds", *map(str, self.seeds), "--profile", "quick"]
        return [*words, *more]

    def run(self, *more: str) -> int:
        """In this process."""
        return main(self.words(*more))

    def start(self, *more: str, **settings: Any) -> subprocess.Popen[str]:
        """In a process of its own."""
        command = [sys.executable, str(ROOT / "run_all.py"), *self.words(*more)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": self.folder}
        return subprocess.Popen(command, **(pipes | settings))

    @property
    def store(self) -> Store:
        return Store(self.results)

    def statuses(self) -> dict[str, str]:
        """Method -> status."""
        return {record.cell["method"]: record.status for record in self.store.records()}

    def content(self) -> dict[str, Any]:
        """Key -> all that must not depend on how often, where and beside what a cell was run."""
        records = {record.key: record for record in self.store.records()}
        return {
            key: {name: part for name, part in record.as_dict().items() if name not in TIMES}
            for key, record in records.items()
        }

    def leftovers(self) -> list[str]:
        """Files that no finished run leaves behind."""
        found = [path for path in self.results.rglob("*") if path.suffix in (".tmp", ".lock")]
        payloads = {record.payload["file"] for record in self.store.records() if record.payload}
        found += [path for path in (self.results / "cells").glob("*.npz") if path.name not in payloads]
        return [str(path) for path in found]


@pytest.fixture
def bench(tmp_path: Path, tiny: Path) -> Bench:
    return Bench(tmp_path, tiny)


@pytest.fixture
def other_bench(tmp_path: Path, tiny: Path) -> Bench:
    """A second results folder for the same grid: what an undisturbed run gives."""
    folder = tmp_path / "other"
    folder.mkdir()
    return Bench(folder, tiny)


class DaskProcesses:
    """A scheduler and workers as anyone would start them; they end with the block."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.note = folder, folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.over = False
        self.scheduler = self._start([], "scheduler", "--port", "0", "--host", "127.0.0.1")
        while not self.note.exists():
            assert self.scheduler.poll() is None
            time.sleep(0.1)
        self.address = json.loads(self.note.read_text())["address"]

    def _start(self, before: Sequence[str], *words: str, **settings: Any) -> subprocess.Popen[bytes]:
        assert not self.over, "a test that has failed starts no more"
        command = [*before, sys.executable, "-m", "dask", *words, "--scheduler-file", str(self.note), "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        self.processes.append(subprocess.Popen(command, **(quiet | settings)))
        return self.processes[-1]

    def worker(self, before: Sequence[str] = (), **settings: Any) -> subprocess.Popen[bytes]:
        """Start one, with words before its command where it is to live in a world of its own."""
        return self._start(before, "worker", "--nthreads", "1", "--no-nanny", **settings)

    def await_workers(self, number: int) -> None:
        import distributed

        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(number, timeout=120)

    def __enter__(self) -> DaskProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self.over = True
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@pytest.fixture
def dask_processes(tmp_path: Path) -> Iterator[DaskProcesses]:
    folder = tmp_path / "dask"
    folder.mkdir()
    with DaskProcesses(folder) as dask:
        yield dask


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler with two workers that tests share; the address, and the workers' processes."""
    with DaskProcesses(tmp_path_factory.mktemp("dask")) as dask:
        workers = [dask.worker(), dask.worker()]
        dask.await_workers(2)
        yield dask.address, workers
