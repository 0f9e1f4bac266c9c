"""How long a finished grid takes to be found finished: `python performance/resume.py [CELLS]`.

A store of so many records (default 2,000) is made up from one real cell, then `run_all.py` is timed on it in a
fresh process, five times; the target is under two seconds. With `--profile`, where the time goes.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmark.commands import arguments
from benchmark.commands.main import build_parser, main
from benchmark.execution.plan import plan
from benchmark.execution.store import Store

ROOT = Path(__file__).parents[1]


def make_data(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    arrays = {}
    for part, rows in (("train", 200), ("query", 100), ("database", 1000)):
        arrays[f"{part}_features"] = rng.normal(size=(rows, 16)).astype(np.float32)
        arrays[f"{part}_labels"] = rng.integers(0, 100, rows)
    path = folder / "data.npz"
    np.savez(path, map_cutoff=100, **arrays)
    return path


def words(folder: Path, cells: int) -> list[str]:
    grid = ["--methods", "lsh", "itq", "sh", "ksh", "sdh", "--bits", "16", "32", "48", "64"]
    seeds = [str(seed) for seed in range(cells // 20)]
    data = ["--datasets", f"features:{folder / 'data.npz'}", "--seeds", *seeds]
    return ["run", *grid, *data, "--results", str(folder / "results"), "--no-report", "--profile", "quick"]


def fill(folder: Path, cells: int) -> int:
    """One real cell, and its record under the key of every other."""
    one = words(folder, 20)
    one[one.index("--methods") + 1 : one.index("--bits")] = ["lsh"]
    one[one.index("--bits") + 1 : one.index("--datasets")] = ["16"]
    assert main(one) == 0
    store = Store(folder / "results")
    record = next(store.records())
    payload = store.payload(record)
    wanted = plan(arguments.grid_of(build_parser("run").parse_args(words(folder, cells))), store)
    os.fsync = lambda handle: None  # type: ignore[assignment]  # a made-up store need not survive a power cut
    for planned in wanted:
        made_up = replace(record, key=planned.key, cell=planned.cell.identity, parts=planned.cell.parts, payload=None)
        store.commit(made_up, payload)
    return len(wanted)


def measure(folder: Path, cells: int) -> None:
    command = [sys.executable, str(ROOT / "run_all.py"), *words(folder, cells)]
    for _ in range(5):
        start, before = time.perf_counter(), os.times()
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"{told}: {time.perf_counter() - start:.2f} s, of which {used:.2f} s of processor time")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    cells = numbers[0] if numbers else 2000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_data(folder)
        print(f"{fill(folder, cells)} records made up")
        measure(folder, cells)
        if "--profile" in sys.argv:
            profile = cProfile.Profile()
            profile.runcall(main, words(folder, cells))
            pstats.Stats(profile).sort_stats("cumtime").print_stats(30)
