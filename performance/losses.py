"""What one training step costs, by method: `python performance/losses.py [--bits 64] [--dimension 256]`.

Times the loss alone (forward and backward on given outputs) and the whole step (draw, network, loss, update) on one
batch shape and one thread. Methods take turns step by step in random order and the fastest of many steps counts, so
that a busy machine distorts the ratios little. The bound that matters: DPH's step costs at most 1.3 times HashNet's.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmark import Split
from benchmark.deep import DeepMethod, load_profile
from benchmark.deep.assembly import assemble
from benchmark.deep.trainer import batches, start, take_step
from benchmark.registry import methods

STEPS = 150


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--rows", type=int, default=1000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    train = Split(
        features=random.normal(size=(arguments.rows, arguments.dimension)).astype(np.float32),
        labels=random.integers(0, 100, arguments.rows),
    )
    deep = {cls.info.name: cls for cls in methods if cls.info.family == "deep"}
    runs = {name: runnable(build(cls, arguments.bits), train) for name, cls in deep.items()}
    least = {name: np.full(2, np.inf) for name in runs}
    for _ in range(STEPS):
        for name in random.permutation(list(runs)):  # who comes after a big one finds the caches cold
            least[name] = np.minimum(least[name], [milliseconds(action) for action in runs[name]])
    print("method      loss ms   step ms   step / HashNet's")
    for name, (loss, step) in sorted(least.items(), key=lambda item: item[1][1]):
        print(f"{name:10s} {loss:8.2f} {step:9.2f} {step / least['hashnet'][1]:12.2f}")


def build(cls: type[DeepMethod], bits: int) -> DeepMethod:
    training = dataclasses.replace(load_profile("quick").training, train="hash", steps=STEPS, device="cpu")
    return cls(bits=bits, seed=0, training=training)


def runnable(method: DeepMethod, train: Split) -> tuple[Callable[[], object], Callable[[], object]]:
    """Two actions: the loss and its gradient on given outputs, and the next training step."""
    assert train.similarity is not None
    assembled, rows = assemble(method, train)
    method.prepare(train)
    run = start(method, assembled.network.train(), torch.device("cpu"))
    items, target = method.draw(0)
    outputs = torch.randn(len(items), method.bits, generator=torch.Generator().manual_seed(0), requires_grad=True)
    steps = batches(method, rows, range(STEPS))

    def step() -> None:
        number, inputs, wanted = next(steps)
        take_step(method, run, inputs, wanted, number)

    return lambda: method.objective(outputs, target, 0).backward(), step


def milliseconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
