"""What one training step costs, by method: `python benchmarks/losses.py [--bits 64] [--dimension 256]`.

Times the loss alone (forward and backward on given outputs) and the whole step (draw, network, loss, update) on one
batch shape, in processor time of one thread: the least of several repeats, the methods taking turns, so that a
busy machine distorts the ratios little. The bound that matters: DPH's step costs at most 1.3 times HashNet's.
"""

from __future__ import annotations

import argparse
import dataclasses
import time

import numpy as np
import torch

from benchmark import Split, get_method
from benchmark.deep import DeepMethod, load_profile
from benchmark.registry import methods

STEPS = 20
REPEATS = 7


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
    names = [cls.info.name for cls in methods if cls.info.family == "deep"]
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for _ in range(REPEATS):
        for name in names:
            fits = [time_fit(name, arguments.bits, train, steps) for steps in (1, 1 + STEPS)]
            times[name].append((time_loss(name, arguments.bits, train), *fits))
    # A step is the difference between a longer and a shorter training, so that set-up cancels.
    least = {name: np.min(times[name], axis=0) for name in names}
    step = {name: (long - short) / STEPS for name, (_, short, long) in least.items()}
    print("method      loss ms   step ms   step / HashNet's")
    for name in sorted(names, key=lambda name: step[name]):
        print(f"{name:10s} {least[name][0]:8.2f} {step[name]:9.2f} {step[name] / step['hashnet']:12.2f}")


def build(name: str, bits: int, steps: int) -> DeepMethod:
    training = dataclasses.replace(load_profile("quick").training, steps=steps)
    method: DeepMethod = get_method(name)(bits=bits, seed=0, training=training)
    return method


def time_fit(name: str, bits: int, train: Split, steps: int) -> float:
    """Milliseconds for a training of so many steps."""
    method = build(name, bits, steps)
    start = time.process_time()
    method.fit(train)
    return 1000 * (time.process_time() - start)


def time_loss(name: str, bits: int, train: Split) -> float:
    """Milliseconds for loss and gradient on given outputs."""
    method = build(name, bits, STEPS)
    assert train.similarity is not None
    method.prepare(train.similarity)
    items, target = method.draw(0)
    outputs = torch.randn(len(items), bits, generator=torch.Generator().manual_seed(0), requires_grad=True)
    start = time.process_time()
    for number in range(STEPS):
        method.objective(outputs, target, number).backward()
    return 1000 * (time.process_time() - start) / STEPS


if __name__ == "__main__":
    main()
