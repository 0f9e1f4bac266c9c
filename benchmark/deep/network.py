"""The network of a deep method: a backbone's part, the fixed scaling of its output, and the hash layer.

Imports torch when it is imported, unlike the rest of this package. What is built for which data lives in
`assembly.py`, how it is trained in `trainer.py`.
"""

from __future__ import annotations

import torch
from torch import nn

from benchmark.data.images import Transform
from benchmark.shallow.scaling import FeatureScaling


class Normalise(nn.Module):
    """Decoded images, (n, h, w, 3) uint8, to what a backbone takes; on the network's device, not before."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self.transform = transform

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scaled: torch.Tensor = self.transform.normalise(images)
        return scaled


class Scale(nn.Module):
    """`FeatureScaling` inside a network: fixed from the training set before training starts.

    Penultimate features come out of a ReLU: without centring all codes start alike, and several methods never
    leave that state.
    """

    mean: torch.Tensor
    directions: torch.Tensor | None

    def __init__(self, scaling: FeatureScaling) -> None:
        super().__init__()
        self.register_buffer("mean", torch.from_numpy(scaling.mean.copy()))
        turned = None if scaling.directions is None else torch.from_numpy(scaling.directions.copy())
        self.register_buffer("directions", turned)
        self.unit_length, self.gain = scaling.mode in ("l2", "center-l2"), scaling.gain

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        features = features - self.mean
        if self.directions is not None:
            features = features @ self.directions
        if self.unit_length:
            features = nn.functional.normalize(features, eps=1e-8)
        return self.gain * features


class HashNetwork(nn.Module):
    """Inputs -> body -> fixed scaling -> head -> raw outputs u, (n, bits). Body and scaling may be the identity.

    A `classifier` of the outputs is trained and kept with the network, but is no part of what encodes.
    """

    def __init__(self, body: nn.Module, scale: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.body, self.scale, self.head = body, scale, head
        self.classifier: nn.Module = nn.Identity()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.head(self.scale(self.body(inputs)))
        return outputs


def hash_layer(dimension: int, bits: int, deviation: float) -> nn.Module:
    """A linear layer with weights N(0, deviation^2) and zero bias."""
    layer = nn.Linear(dimension, bits)
    nn.init.normal_(layer.weight, std=deviation)
    nn.init.zeros_(layer.bias)
    return layer


class Slices(nn.Module):
    """Divide and encode: bit k is a linear unit on slice k of the inputs, (n, bits * width) to (n, bits).

    A grouped convolution does the same ten times slower on a processor.
    """

    def __init__(self, bits: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(bits, width) / width**0.5)
        self.bias = nn.Parameter(torch.zeros(bits))

    def forward(self, units: torch.Tensor) -> torch.Tensor:
        return (units.view(len(units), *self.weight.shape) * self.weight).sum(2) + self.bias


def parameter_groups(
    network: HashNetwork, fast: float, of_bias: float, decay: float, body_decay: float
) -> list[dict[str, object]]:
    """Parameters with rate and decay: head and classifier learn `fast` times faster, biases at `of_bias` times the
    rate of the weights beside them and without decay."""
    groups: list[dict[str, object]] = []
    body, head, classifier = network.body, network.head, network.classifier
    for part, rate, shrink in ((body, 1.0, body_decay), (head, fast, decay), (classifier, fast, decay)):
        for name, parameter in part.named_parameters():
            bias = name.endswith("bias")
            rates = {"rate": rate * (of_bias if bias else 1.0), "weight_decay": 0.0 if bias else shrink}
            groups.append({"params": [parameter], **rates})
    return groups
