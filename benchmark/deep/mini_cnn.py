"""mini-cnn: the small network of the miniatures, standing in for AlexNet pre-trained on ImageNet.

It is pre-trained once per machine, in less than a minute on one thread, on canvases of its own: glyphs that no
miniature uses, and another taxonomy (see `_targets`), so that its features are related to the miniatures' classes
but not made of them. The weights are kept under `cache_dir()`; they need not be bit-identical across machines, so
`RECIPE_HASH`, which names them in a cell's key, identifies the recipe and not the numbers. Reading it does not
import torch.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.cache import cache_dir, locked, replacing
from benchmark.deep.lazy import torch
from benchmark.miniature.protocol import source_hash
from benchmark.miniature.render import render
from benchmark.miniature.scenes import Look, Palette, Scenes, draw_scenes
from benchmark.seeds import derive_seed, generator

if TYPE_CHECKING:
    from torch import nn

SIZE = 32  # images are 32 x 32: no resizing, no crop
MEAN = (0.27, 0.27, 0.27)
STD = (0.2, 0.2, 0.2)
DIMENSION = 256  # of the penultimate features
TRUNK_DIMENSION = 192
CANVASES = 8_000
EPOCHS = 6
BATCH = 50
LEARNING_RATE = 0.004
PALETTE = Palette(tuple(f"hue{i}" for i in range(7)), colourless="grey")
RECIPE_HASH = hashlib.sha256((Path(__file__).read_text("utf-8") + source_hash()).encode()).hexdigest()[:16]


def build_mini_cnn() -> nn.Sequential:
    """The network with fresh weights: `.trunk` maps normalised images to (n, 192), `.last` those to (n, 256)."""
    nn = torch.nn

    def conv(inputs: int, outputs: int, width: int, stride: int = 1) -> list[Any]:
        layer = nn.Conv2d(inputs, outputs, width, stride, padding=width // 2, bias=False)
        return [layer, nn.BatchNorm2d(outputs), nn.ReLU()]

    trunk = nn.Sequential(
        *conv(3, 32, 5, 2),
        *conv(32, 64, 3),
        *conv(64, 96, 3, 2),
        *conv(96, TRUNK_DIMENSION, 3),
        # The maximum, not the mean: what matters is whether a glyph is anywhere on the canvas.
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
    )
    last = nn.Sequential(nn.Linear(TRUNK_DIMENSION, DIMENSION), nn.ReLU())
    return nn.Sequential(OrderedDict(trunk=trunk, last=last))


def load_mini_cnn() -> nn.Sequential:
    """The pre-trained network, in evaluation mode; trained on first use and cached."""
    path = cache_dir() / "weights" / f"mini-cnn-{RECIPE_HASH}.pt"
    network = build_mini_cnn()
    with locked(path):  # a second process waits and then reads what the first one wrote
        if not path.exists():
            state = pretrain().state_dict()
            with replacing(path) as temporary:
                torch.save(state, temporary)
    network.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
    return network.eval()


def pretrain(canvases: int = CANVASES, epochs: int = EPOCHS) -> nn.Sequential:
    """Train from scratch on the auxiliary canvases, on the CPU; leaves torch's random state as it was."""
    images, targets = _auxiliary(canvases)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed("mini-cnn", "weights"))
        network = build_mini_cnn()
        head = torch.nn.Linear(DIMENSION, targets.shape[1])
        _train(network, head, images, targets, epochs)
    return network.eval()


def normalise(images: np.ndarray) -> Any:
    """(n, 32, 32, 3) uint8 to a float tensor (n, 3, 32, 32) as the trunk expects it."""
    tensor = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float() / 255
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (MEAN, STD))
    return (tensor - mean) / std


def _auxiliary(canvases: int) -> tuple[Any, Any]:
    """Canvases of glyphs that no miniature has, half with one glyph and half with several, and their targets."""
    rng = generator("mini-cnn", "auxiliary")
    classes = len(PALETTE.class_names)
    half = canvases // 2
    single = rng.integers(0, classes, (half, 1))
    several = rng.integers(0, classes, (canvases - half, 6))
    several[np.arange(6) >= rng.integers(1, 7, (len(several), 1))] = -1
    images, targets = [], []
    for name, shown, sizes in (("single", single, (14, 20)), ("several", several, (11, 14))):
        scenes = draw_scenes(rng, "auxiliary", shown, PALETTE, Look(sizes))
        images.append(render(scenes, "mini-cnn", name))
        targets.append(_targets(scenes, shown))
    return normalise(np.concatenate(images)), torch.from_numpy(np.concatenate(targets)).float()


def _targets(scenes: Scenes, shown: np.ndarray) -> np.ndarray:
    """(n, targets) bool."""
    hot = np.zeros((len(shown), len(PALETTE.class_names) + 1), bool)
    hot[np.arange(len(shown))[:, None], shown] = True
    return hot[:, :-1]


def _train(network: nn.Module, head: nn.Module, images: Any, targets: Any, epochs: int) -> None:
    parameters = [*network.parameters(), *head.parameters()]
    optimiser = torch.optim.AdamW(parameters, LEARNING_RATE)
    steps = epochs * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps)
    loss_of = torch.nn.BCEWithLogitsLoss(reduction="sum")
    network.train()
    for _ in range(epochs):
        order = torch.randperm(len(images))[: len(images) // BATCH * BATCH]
        for rows in order.view(-1, BATCH):
            optimiser.zero_grad()
            loss = loss_of(head(network(images[rows])), targets[rows]) / BATCH
            loss.backward()
            optimiser.step()
            schedule.step()
