"""The training loop and the encoding loop, the same for every deep method.

A method decides what a batch holds and what the loss is; this file steps, watches, and keeps snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.deep.lazy import torch
from benchmark.deep.profile import Training
from benchmark.deep.rows import Rows
from benchmark.errors import TrainingFailed
from benchmark.seeds import derive_seed, generator

if TYPE_CHECKING:
    from benchmark.deep.method import DeepMethod
    from benchmark.deep.network import HashNetwork

History = dict[str, list[Any]]
LOGGED = 50  # points of the loss curve that are kept


def device_of(training: Training) -> torch.device:
    """The device a training runs on: "auto" is CUDA where there is one."""
    if training.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(training.device)


def train(method: DeepMethod, network: HashNetwork, rows: Rows) -> History:
    """Minimise the method's objective; the loss curve and gradient norms at some steps."""
    from benchmark.deep.network import parameter_groups

    training = method.training
    device = device_of(training)
    network.to(device).train()
    optimizer = torch.optim.SGD(parameter_groups(network, training), lr=0.0, momentum=training.momentum)
    history: History = {"step": [], "loss": [], "gradient_norm": []}
    every = max(1, training.steps // LOGGED)
    for step, inputs, target in _batches(method, rows, range(training.steps)):
        _seed(device, "dropout", method.seed, step)
        _set_rates(optimizer, training, step)
        optimizer.zero_grad(set_to_none=True)
        loss = method.objective(network(inputs.to(device)).float(), target.to(device), step)
        _check_finite(loss, method, step)
        loss.backward()
        if step % every == 0 or step == training.steps - 1:
            _log(history, step, loss, network)
        optimizer.step()
    return history


def _seed(device: torch.device, *parts: object) -> None:
    """Seed the generator that dropout draws from; the caller has forked the global state."""
    chosen = torch.cuda.default_generators[device.index or 0] if device.type == "cuda" else torch.default_generator
    chosen.manual_seed(derive_seed(*parts))


def _batches(method: DeepMethod, rows: Rows, steps: range) -> Iterator[tuple[int, torch.Tensor, Any]]:
    for step in steps:
        items, target = method.draw(step)
        random = generator("augment", method.seed, step) if method.training.augment else None
        yield step, rows.take(items, random), target


def _set_rates(optimizer: torch.optim.Optimizer, training: Training, step: int) -> None:
    rate = training.learning_rate * training.decay ** (step // training.decay_every)
    for group in optimizer.param_groups:
        group["lr"] = rate * group["rate"]


def _check_finite(loss: torch.Tensor, method: DeepMethod, step: int) -> None:
    if not torch.isfinite(loss):
        raise TrainingFailed(
            f"{method.info.name}: the loss is {loss.item()} at step {step} of {method.training.steps}; "
            f"lower the learning rate ({method.training.learning_rate:g})"
        )


def _log(history: History, step: int, loss: torch.Tensor, network: HashNetwork) -> None:
    gradients = [p.grad.norm() for p in network.parameters() if p.grad is not None]
    history["step"].append(step)
    history["loss"].append(loss.item())
    history["gradient_norm"].append(torch.stack(gradients).norm().item() if gradients else 0.0)


def encode(network: HashNetwork, rows: Rows, training: Training, bits: int) -> np.ndarray:
    """Codes of all rows, a batch at a time: +1 where the output is positive, else -1."""
    device = device_of(training)
    network.to(device).eval()
    codes = np.empty((len(rows), bits), np.int8)
    with torch.inference_mode():
        for start in range(0, len(rows), training.encode_batch):
            items = np.arange(start, min(start + training.encode_batch, len(rows)))
            outputs = network(rows.take(items).to(device))
            codes[items] = np.where((outputs > 0).cpu().numpy(), 1, -1)
    return codes
