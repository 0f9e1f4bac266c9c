"""What the shallow methods cost: `python performance/shallow.py [--methods itq sdh] [--threads 2]`.

Fits 10,000 x 4,096 features at 64 bits and encodes 100,000 more, each method in a process of its own so that
its peak memory is its own, and prints the figures beside the bounds they must meet on two cores. Behind each
time stands the processor time it took: with `--threads 1` on a busy machine, that is the figure to look at.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

FIT_BOUND = {"lsh": 5, "sh": 5, "itq": 10, "ksh": 90, "sdh": 60}  # seconds
ENCODE_BOUND, MEMORY_BOUND = 10, 4.0  # seconds, GB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=list(FIT_BOUND))
    parser.add_argument("--threads", default="2")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # the inner process: measure this method
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.one)
        return
    print("method   fit s / processor (bound)   encode s / processor (bound)   peak GB (bound)")
    limits = {f"{name}_NUM_THREADS": arguments.threads for name in ("OMP", "OPENBLAS", "MKL")}
    for name in arguments.methods:
        command = [sys.executable, __file__, "--one", name]
        subprocess.run(command, check=True, env=os.environ | limits)


def measure(name: str) -> None:
    """Fit once, encode twice (the lesser time counts), and print one line."""
    from benchmark import Split, get_method

    train = features(10_000, seed=0)
    labels = np.arange(len(train)) % 100
    method = get_method(name)
    given = Split(features=train, labels=labels).visible(method.info.input, method.info.needs)
    fitted = method(64, seed=0)
    fit = timed(lambda: fitted.fit(given))
    database = Split(features=features(100_000, seed=1))
    encode = min(timed(lambda: fitted.encode(database)) for _ in range(2))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    bounds = [FIT_BOUND.get(name, "-"), ENCODE_BOUND, MEMORY_BOUND]
    figures = ["{:.1f} / {:.1f}".format(*fit), "{:.1f} / {:.1f}".format(*encode), f"{peak:.2f}"]
    print(f"{name:8s}", *(f"{f:>14} ({b:>3})" for f, b in zip(figures, bounds, strict=True)))


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    start, start_processor = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - start_processor


def features(items: int, seed: int, dimension: int = 4096, chunk: int = 5000) -> np.ndarray:
    """Non-negative, half zero, around 100 class centres, with a decaying spectrum: the look of fc7 after ReLU."""
    centres = np.random.default_rng(7).standard_normal((100, dimension), dtype=np.float32)
    scale = (1 + np.arange(dimension, dtype=np.float32)) ** -0.3
    rng = np.random.default_rng(seed)
    out = np.empty((items, dimension), np.float32)
    for first in range(0, items, chunk):
        part = out[first : first + chunk]
        rng.standard_normal(dtype=np.float32, out=part)
        part += centres[np.arange(first, first + len(part)) % 100]
        part *= scale
        np.maximum(part, 0, out=part)
    return out


if __name__ == "__main__":
    main()
