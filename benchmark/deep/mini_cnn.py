"""mini-cnn: the small network of the miniatures, standing in for AlexNet pre-trained on ImageNet.

It is pre-trained once per machine, in less than a minute on one thread, on canvases of its own: glyphs that no
miniature uses, and another taxonomy (see `_targets`), so that its features are related to the miniatures' classes
but not made of them. The weights are kept under `cache_dir()`; they need not be bit-identical across machines, so
`RECIPE_HASH`, which names them in a cell's key, identifies the recipe and not the numbers. Reading it does not
import torch.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.data.cache import cache_dir, locked, replacing
from benchmark.data.hashing import code_hash, joined_hash
from benchmark.data.miniature.pixels import paint_scenes
from benchmark.data.miniature.recipe import source_hash
from benchmark.data.miniature.scenes import TEXTURES, Palette, Scenes, Variation, draw_scenes
from benchmark.deep.lazy import torch
from benchmark.seeds import derive_seed, generator

if TYPE_CHECKING:
    from torch import nn

SIZE = 32  # images are 32 x 32: no resizing, no crop
MEAN = (0.27, 0.27, 0.27)
STD = (0.2, 0.2, 0.2)
DIMENSION = 256  # of the penultimate features
TRUNK_DIMENSION = 192
CANVASES = 16_000
EPOCHS = 3
BATCH = 64
LEARNING_RATE = 0.004
VARIATIONS = {"single": Variation((16, 22), reach=5), "several": Variation((12, 15))}
ARCS, SHADES = 7, 3  # the wheel in seven arcs of three shades; the miniatures cut it into ten and eight
PALETTE = Palette(tuple(f"arc {i // SHADES}" for i in range(ARCS * SHADES)), colourless="grey")
WEIGHTS = (3.0,) * 10 + (1.0,) * 24  # of the targets' losses: shape is learned last, unless it weighs more
RECIPE_HASH = joined_hash([code_hash(Path(__file__)), source_hash()])[:16]


def build_mini_cnn() -> nn.Sequential:
    """The network with fresh weights: `.trunk` maps normalised images to (n, 192), `.last` those to (n, 256)."""
    nn = torch.nn

    def conv(inputs: int, outputs: int, width: int, stride: int = 1) -> list[Any]:
        layer = nn.Conv2d(inputs, outputs, width, stride, padding=width // 2, bias=False)
        return [layer, nn.BatchNorm2d(outputs), nn.ReLU()]

    trunk = nn.Sequential(
        *conv(3, 32, 5, 2),
        *conv(32, 64, 3, 2),
        *conv(64, 64, 3),
        *conv(64, TRUNK_DIMENSION, 3),
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
    """Train from scratch on the auxiliary canvases, on one thread of the CPU, so that a machine always gets the
    same weights; leaves torch's random state and threads as they were."""
    images, targets = _auxiliary(canvases)
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed("mini-cnn", "weights"))
        torch.set_num_threads(1)
        try:
            network = build_mini_cnn()
            head = torch.nn.Linear(DIMENSION, targets.shape[1])
            torch.nn.init.constant_(head.bias, -3.0)  # targets are rare: start there
            _train(network, head, images, targets, epochs)
        finally:
            torch.set_num_threads(threads)
    return network.eval()


def normalise(images: np.ndarray) -> Any:
    """(n, 32, 32, 3) uint8 to a float tensor (n, 3, 32, 32) as the trunk expects it."""
    tensor = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float() / 255
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (MEAN, STD))
    return (tensor - mean) / std


def _auxiliary(canvases: int) -> tuple[Any, Any]:
    """Canvases of glyphs that no miniature has, a third with one glyph, the others with several; their targets."""
    rng = generator("mini-cnn", "auxiliary")
    classes = len(PALETTE.class_names)
    third = canvases // 3
    single = rng.integers(0, classes, (third, 1))
    several = rng.integers(0, classes, (canvases - third, 6))
    several[np.arange(6) >= rng.integers(1, 7, (len(several), 1))] = -1
    grey = rng.integers(0, 20, several.shape) == 0  # else the colourless kind, 1 of 211, would hardly be seen
    several[grey & (several >= 0)] = classes - 1
    images, targets = [], []
    for name, shown in (("single", single), ("several", several)):
        scenes = draw_scenes(rng, "auxiliary", shown, PALETTE, VARIATIONS[name])
        images.append(paint_scenes(scenes, "mini-cnn", name))
        targets.append(_targets(scenes, shown))
    return normalise(np.concatenate(images)), torch.from_numpy(np.concatenate(targets)).float()


def _targets(scenes: Scenes, shown: np.ndarray) -> np.ndarray:
    """(n, 34) bool: which digits are there, which seventh of the hue wheel, any grey; texture and ground colours.

    Never "three red" itself: digit and hue are asked for apart, in arcs that are no miniature's hues, and the
    background, which no miniature's label depends on, is asked for too. So distances between features mix what
    labels are about with what they are not, as they do for a network trained on another taxonomy.
    """
    hot = np.zeros((len(shown), len(PALETTE.class_names) + 1), bool)
    hot[np.arange(len(shown))[:, None], shown] = True
    coloured = hot[:, : 10 * ARCS * SHADES].reshape(-1, 10, ARCS, SHADES)
    digits, arcs, grey = coloured.any((2, 3)), coloured.any((1, 3)), hot[:, -2:-1]
    texture = np.eye(len(TEXTURES), dtype=bool)[scenes.texture]
    grounds = [np.eye(6, dtype=bool)[_order_of_channels(scenes.ground[:, i])] for i in range(2)]
    return np.concatenate([digits, arcs, grey, texture, *grounds], axis=1)


def _order_of_channels(colours: np.ndarray) -> np.ndarray:
    """Which of six sectors of the wheel a colour is in: its strongest channel, and the stronger of the others."""
    strongest = colours.argmax(1)
    after, before = (np.take_along_axis(colours, (strongest[:, None] + i) % 3, 1)[:, 0] for i in (1, 2))
    return 2 * strongest + (after > before)


def _train(network: nn.Module, head: nn.Module, images: Any, targets: Any, epochs: int) -> None:
    parameters = [*network.parameters(), *head.parameters()]
    optimiser = torch.optim.AdamW(parameters, LEARNING_RATE)
    steps = epochs * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps)
    loss_of = torch.nn.BCEWithLogitsLoss(weight=torch.tensor(WEIGHTS), reduction="sum")
    network.train()
    images = images.to(memory_format=torch.channels_last)  # a fifth faster on a CPU
    for _ in range(epochs):
        order = torch.randperm(len(images))[: len(images) // BATCH * BATCH]
        for rows in order.view(-1, BATCH):
            optimiser.zero_grad()
            loss = loss_of(head(network(images[rows])), targets[rows]) / BATCH
            loss.backward()
            optimiser.step()
            schedule.step()
