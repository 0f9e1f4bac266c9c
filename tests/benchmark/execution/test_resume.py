"""Deaths, damage and company: whatever happens to runs, the store ends as that of an undisturbed run."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

STEPS = [
    f"{prefix}{what}-{step}"
    for prefix in ("", "dataset-")
    for what in ("payload", "record")
    for step in ("opened", "written", "synced", "renamed")
]
DEADLY = """
import os
from benchmark import register_method
from benchmark.execution import store

def die(name):
    if name == {step!r}:
        os.kill(os.getpid(), 9)

store.commit_step = die

@register_method("deadly", title="Deadly", family="control")
class Deadly:
    def fit(self, train): ...

    def encode(self, split): ...
"""
COUNTING = """
import os, sys
import numpy as np
from benchmark import Split, register_method

@register_method("counting", title="Counting", family="control")
class Counting:
    def __init__(self, bits: int, seed: int = 0) -> None:
        self.bits, self.seed = bits, seed

    def fit(self, train: Split):
        handle = os.open({path!r}, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(handle, f"{{self.bits}} {{self.seed}}\\n".encode())
        os.close(handle)
        return self

    def encode(self, split: Split) -> np.ndarray:
        planes = np.random.default_rng(self.seed).normal(size=(split.features.shape[1], self.bits))
        return np.where(split.features @ planes >= 0, 1, -1).astype(np.int8)
"""

pytestmark = pytest.mark.slow


def finish(bench: Any, *more: str, code: int = 0) -> None:
    """Run in a process of its own to the end, which must be this exit code."""
    process = bench.start(*more)
    told = process.communicate(timeout=300)
    assert process.returncode == code, "\n".join(told)


@pytest.mark.parametrize("step", STEPS)
def test_death_at_any_step_of_a_commit_loses_nothing(bench: Any, other_bench: Any, step: str) -> None:
    other_bench.run()
    deadly = bench.folder / "deadly.py"
    deadly.write_text(DEADLY.format(step=step))
    peaceful = list(bench.plugins)
    bench.plugins.append(deadly)
    finish(bench, "--jobs", "1", code=-signal.SIGKILL)
    before = bench.content()
    assert before.items() <= other_bench.content().items()  # nothing corrupt
    assert bench.store.verify().faults == []
    bench.plugins = peaceful
    assert bench.run() == 0
    assert bench.content() == other_bench.content()
    assert bench.leftovers() == []


def descendants(pid: int) -> list[int]:
    """Of a process, its server's and its cells' included."""
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        except OSError:
            continue
        found += [int(child) for child in children]
        waiting += [int(child) for child in children]
    return found


def disturb(process: subprocess.Popen[str], rng: random.Random, length: float) -> None:
    """At a random moment kill the runner, or first its cells or their server, and the runner a moment later."""
    time.sleep(rng.uniform(0, length))
    victims = descendants(process.pid)
    if victims and rng.random() < 0.4:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(victims), signal.SIGKILL)
        time.sleep(rng.uniform(0, 0.3))
    process.kill()
    process.wait()


def test_fifty_deaths_at_random_moments_lose_nothing(bench: Any, other_bench: Any) -> None:
    bench.seeds = other_bench.seeds = list(range(150))
    finish(other_bench)
    other_bench.seeds = other_bench.seeds[:1]
    start = time.monotonic()
    finish(other_bench)  # how long a run takes before its first cell
    length = 4 * (time.monotonic() - start)
    rng = random.Random(0)
    lost = 0
    for _ in range(50):
        done = bench.content()
        with bench.start(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            disturb(process, rng, length)
        now = bench.content()
        assert {key for key, one in done.items() if one["status"] == "ok"} <= now.keys()
        lost += len(now) == len(done)
        length *= 1 if now else 1.2  # other work on the machine may have slowed it down
        assert bench.store.verify().faults == []
    assert lost < 50
    finish(bench)
    assert bench.content() == other_bench.content()
    assert bench.leftovers() == []


def test_eight_runs_at_once_compute_each_of_400_cells_once(bench: Any) -> None:
    counts = bench.folder / "computed"
    method = bench.folder / "counting.py"
    method.write_text(COUNTING.format(path=str(counts)))
    bench.plugins, bench.methods = [method], ["counting"]
    bench.bits, bench.seeds = [4, 8, 12, 16], list(range(100))
    runs = [bench.start("--jobs", "1", stdout=subprocess.DEVNULL) for _ in range(8)]
    assert [process.wait(timeout=400) for process in runs] == [0] * 8
    for process in runs:
        process.communicate()
    computed = collections.Counter(counts.read_text().splitlines())
    assert len(computed) == 400
    assert set(computed.values()) == {1}
    assert len(bench.store.keys()) == 400
    assert bench.store.verify().faults == []
    assert bench.leftovers() == []


def test_a_bit_flipped_in_each_of_100_files_is_found_and_mended(bench: Any, other_bench: Any) -> None:
    bench.seeds = other_bench.seeds = list(range(60))
    assert bench.run() == 0
    sound = bench.content()
    rng = random.Random(0)
    files = sorted(path for folder in ("cells", "datasets") for path in (bench.results / folder).iterdir())
    for path in rng.sample(files, 100):
        content = bytearray(path.read_bytes())
        position = rng.randrange(len(content) * 8)
        content[position // 8] ^= 1 << position % 8
        path.write_bytes(content)
    # A record and its payload make one fault, and are set aside together.
    faults = bench.store.verify().faults
    assert 100 / 2 <= len(faults) <= 61
    assert bench.store.verify().faults == []
    kept = bench.content()
    assert kept.items() <= sound.items()
    assert len(kept) + len(faults) in (60, 61)
    assert bench.run() == 0
    assert bench.content() == sound
    assert bench.store.verify().faults == []
    assert bench.leftovers() == []


def test_damage_is_mended_by_a_run_even_unverified(bench: Any) -> None:
    bench.run()
    sound = bench.content()
    path = next(bench.store.cells.glob("*.json"))
    path.write_bytes(path.read_bytes().replace(b'"status":"ok"', b'"status":"ko"'))
    assert bench.run() == 0
    assert bench.content() == sound
    assert (bench.results / "quarantine" / path.name).exists()
