"""The training loop and the forward loop, the same for every deep method.

A method (anything that is `Trainable`) decides what a batch holds and what the loss is; this file steps, watches, and
keeps snapshots. All that is random in a step is drawn from the seed and the step's number, so a snapshot needs no
random state.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from benchmark.contracts import MethodInfo
from benchmark.data.cache import replacing
from benchmark.deep.lazy import torch
from benchmark.deep.network_inputs import Rows, ahead
from benchmark.deep.profile import Training
from benchmark.errors import TrainingFailed, UsageError
from benchmark.seeds import derive_seed, generator

if TYPE_CHECKING:
    from torch import nn

    from benchmark.deep.network import HashNetwork

History = dict[str, list[Any]]
LOGGED = 50  # points of the loss curve that are kept
LOGS = ("step", "loss", "gradient_norm", "largest_weight", "largest_bias")


class Trainable(Protocol):
    """What a method must offer to be trained; `DeepMethod` is what authors derive from."""

    info: ClassVar[MethodInfo]
    bias_rate: ClassVar[float | None]
    adam_decay: ClassVar[float]
    adam_rate: ClassVar[float]
    bits: int
    seed: int
    steps: int
    decay: float
    scaling: Any
    training: Training
    state: dict[str, torch.Tensor]

    @property
    def sgd_rate(self) -> float: ...

    def head(self, dimension: int) -> nn.Module: ...

    def draw(self, step: int) -> tuple[np.ndarray, Any]: ...

    def objective(self, outputs: torch.Tensor, target: Any, step: int) -> torch.Tensor: ...


def device_of(training: Training) -> torch.device:
    """The device a training runs on: "auto" is CUDA where there is one."""
    if training.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(training.device)


@contextlib.contextmanager
def private_randomness(training: Training, *seed: object) -> Iterator[None]:
    """Torch's global generators seeded by these parts, and put back as they were in the end."""
    device = device_of(training)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        _seed(device, *seed)
        yield


def only_small_layers(training: Training) -> bool:
    """Whether one thread is faster than several, and gives the same bits on every machine."""
    return training.train != "all" and device_of(training).type == "cpu"


def _seed(device: torch.device, *parts: object) -> None:
    chosen = torch.cuda.default_generators[device.index or 0] if device.type == "cuda" else torch.default_generator
    chosen.manual_seed(derive_seed(*parts))


@dataclass
class TrainingState:
    """A training in progress: all that a snapshot holds."""

    network: HashNetwork
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    state: dict[str, torch.Tensor]  # the method's own
    history: History
    step: int = 0

    def save(self, path: Path, identity: str) -> None:
        parts = {name: getattr(self, name).state_dict() for name in ("network", "optimizer", "scaler")}
        rest = {"state": self.state, "history": self.history, "step": self.step, "identity": identity}
        with replacing(path) as temporary:
            torch.save(parts | rest, temporary)

    def load(self, path: Path, identity: str, device: torch.device) -> None:
        try:
            snapshot = torch.load(path, weights_only=True, map_location=device)
        except Exception as error:  # a foreign or broken file may fail in any way
            raise UsageError(f"checkpoint {path} cannot be read ({error}); delete it to start over") from error
        if snapshot["identity"] != identity:
            raise UsageError(f"checkpoint {path} belongs to another training; delete it to start over")
        for name in ("network", "optimizer", "scaler"):
            getattr(self, name).load_state_dict(snapshot[name])
        self.state.update(snapshot["state"])
        self.history, self.step = snapshot["history"], snapshot["step"]


def train(method: Trainable, network: HashNetwork, rows: Rows) -> History:
    """Minimise the method's objective; the loss curve and gradient norms at some steps.

    With `training.checkpoint`, goes on from the snapshot found there. The last one stays until the caller, who knows
    when the result is safe, deletes it.
    """
    training, device = method.training, device_of(method.training)
    run = start(method, network, device)
    identity = _identity(method, len(rows))
    path = Path(training.checkpoint) if training.checkpoint else None
    if path is not None and path.exists():
        run.load(path, identity, device)
    saved = time.monotonic()
    network.train()
    for step, inputs, target in batches(method, rows, range(run.step, method.steps)):
        _seed(device, "dropout", method.seed, step)
        take_step(method, run, inputs.to(device), target.to(device), step)
        run.step = step + 1
        if path is not None and time.monotonic() - saved >= training.checkpoint_seconds:
            run.save(path, identity)
            saved = time.monotonic()
    if path is not None and path.exists():
        run.save(path, identity)
    return run.history


def start(method: Trainable, network: HashNetwork, device: torch.device) -> TrainingState:
    """A training before its first step."""
    network.to(device)
    method.state = {name: value.to(device) for name, value in method.state.items()}
    optimizer = _optimizer(method, network)
    mixed = device.type == "cuda" and method.training.mixed_precision
    scaler = torch.amp.GradScaler(device.type, enabled=mixed)
    return TrainingState(network, optimizer, scaler, method.state, {name: [] for name in LOGS})


def _optimizer(method: Trainable, network: HashNetwork) -> torch.optim.Optimizer:
    """SGD with momentum, or Adam whose decay acts on the hash layer's weights themselves: both by parts."""
    from benchmark.deep.network import parameter_groups

    training, rates = method.training, (method.training.hash_rate, _bias_rate(method))
    if training.optimizer == "sgd":
        groups = parameter_groups(network, *rates, training.weight_decay, training.weight_decay)
        return torch.optim.SGD(groups, lr=0.0, momentum=training.momentum)
    # A backbone that comes trained is not pulled to zero: that would unlearn it, the faster the higher the rate.
    groups = parameter_groups(network, *rates, method.adam_decay * method.decay, 0.0)
    return torch.optim.AdamW(groups, lr=0.0, betas=(training.momentum, 0.999))


def _bias_rate(method: Trainable) -> float:
    return method.training.bias_rate if method.bias_rate is None else method.bias_rate


def take_step(method: Trainable, run: TrainingState, inputs: torch.Tensor, target: Any, step: int) -> None:
    """One update of the network by one batch."""
    training = method.training
    set_rates(run.optimizer, method, step)
    run.optimizer.zero_grad(set_to_none=True)
    with torch.autocast(inputs.device.type, enabled=run.scaler.is_enabled()):
        raw = run.network(inputs)
    loss = checked_loss(method, method.objective(raw.float(), target, step))
    if not torch.isfinite(loss):
        remedy = f"lower the learning rate ({training.learning_rate:g})"
        if step == 0:  # before anything was learned
            remedy = "the loss itself is at fault: 0 / 0, or a root or logarithm of 0, as of a row with itself or alone"
        raise TrainingFailed(
            f"{method.info.name}: the loss is {loss.item()} at step {step} of {method.steps}; {remedy}"
        )
    run.scaler.scale(loss).backward()
    run.scaler.unscale_(run.optimizer)
    if step % max(1, method.steps // LOGGED) == 0 or step == method.steps - 1:
        _log(run, step, loss.item())
    run.scaler.step(run.optimizer)
    run.scaler.update()


def checked_loss(method: Trainable, loss: Any) -> torch.Tensor:
    """The loss, if it is one number that something can be learned from."""
    if not isinstance(loss, torch.Tensor):
        given = type(loss).__name__
    elif loss.numel() != 1:
        given = f"shape {tuple(loss.shape)}"
    elif not loss.requires_grad:
        given = "a constant: nothing of it depends on the outputs"
    else:
        return loss
    raise UsageError(f"{method.info.name}: loss returned {given}; expected a tensor of one number, such as a mean")


def batches(method: Trainable, rows: Rows, steps: range) -> Iterator[tuple[int, torch.Tensor, Any]]:
    """(step, inputs, target) of these steps."""
    training = method.training

    def batch(step: int) -> tuple[int, torch.Tensor, Any]:
        items, target = method.draw(step)
        random = generator("augment", method.seed, step) if training.augment else None
        return step, rows.take(items, random), target

    return ahead(batch, steps, training.num_workers)


def set_rates(optimizer: torch.optim.Optimizer, method: Trainable, step: int) -> None:
    """The learning rates of this step, by part of the network."""
    training = method.training
    factor = method.sgd_rate if training.optimizer == "sgd" else method.adam_rate
    rate = factor * training.learning_rate * rate_factor(training, step, method.steps)
    for group in optimizer.param_groups:
        group["lr"] = rate * group["rate"]


def rate_factor(training: Training, step: int, steps: int) -> float:
    """What the schedule makes of the learning rate at this step of so many: it rises, then falls."""
    rising = min(1.0, (step + 1) / max(1, round(training.warmup * steps)))
    if training.schedule == "cosine":
        return float(rising * (1 + math.cos(math.pi * step / steps)) / 2)
    return float(rising * training.decay ** (step // training.decay_every))


def _log(run: TrainingState, step: int, loss: float) -> None:
    gradients = [p.grad.norm() for p in run.network.parameters() if p.grad is not None]
    run.history["step"].append(step)
    run.history["loss"].append(loss)
    run.history["gradient_norm"].append(torch.stack(gradients).norm().item() if gradients else 0.0)
    for name, biases in (("largest_weight", False), ("largest_bias", True)):
        largest = [
            p.detach().abs().max() for key, p in run.network.named_parameters() if key.endswith("bias") == biases
        ]
        run.history[name].append(torch.stack(largest).max().item() if largest else 0.0)


def _identity(method: Trainable, rows: int) -> str:
    """What a snapshot must have been made of, to be of use."""
    parameters = {name: str(getattr(method, name, None)) for name in method.info.parameters}
    parts = [method.info.name, method.bits, method.seed, parameters, rows, method.training.identity()]
    return json.dumps(parts)


def outputs(module: nn.Module, rows: Rows, training: Training) -> np.ndarray:
    """The module's outputs for all rows, (n, d) float32, computed a batch at a time in evaluation mode."""
    return np.concatenate([part.cpu().numpy() for part in _forward(module, rows, training)])


def encode(module: nn.Module, rows: Rows, training: Training, bits: int) -> np.ndarray:
    """Codes of all rows: +1 where the output is positive, else -1. Keeps no outputs."""
    codes = np.empty((len(rows), bits), np.int8)
    start = 0
    for part in _forward(module, rows, training):
        codes[start : start + len(part)] = np.where((part > 0).cpu().numpy(), 1, -1)
        start += len(part)
    return codes


def _forward(module: nn.Module, rows: Rows, training: Training) -> Iterator[torch.Tensor]:
    device, size = device_of(training), training.encode_batch
    module.to(device).eval()

    def batch(start: int) -> torch.Tensor:
        return rows.take(np.arange(start, min(start + size, len(rows))))

    with torch.no_grad():
        for inputs in ahead(batch, range(0, len(rows), size), training.num_workers):
            with torch.autocast(device.type, enabled=device.type == "cuda" and training.mixed_precision):
                raw = module(inputs.to(device))
            yield raw.float()
