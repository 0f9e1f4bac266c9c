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


def divide_and_encode(dimension: int, bits: int, width: int) -> nn.Module:
    """DNNH's hash layer: `width` units for each bit, which is encoded from its own units alone."""
    units = nn.Linear(dimension, bits * width)
    nn.init.zeros_(units.bias)
    return nn.Sequential(units, nn.ReLU(), Slices(bits, width))


class Slices(nn.Module):
    """Bit k is a linear unit on slice k of the inputs, (n, bits * width) to (n, bits).

    A grouped convolution does the same ten times slower on a processor.
    """

    def __init__(self, bits: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(bits, width) / width**0.5)
        self.bias = nn.Parameter(torch.zeros(bits))

    def forward(self, units: torch.Tensor) -> torch.Tensor:
        return (units.view(len(units), *self.weight.shape) * self.weight).sum(2) + self.bias


class ClassMemory(nn.Module):
    """Features with what the classes look like added where it is called for: v + tanh(W v) * softmax(W' v) M.

    M holds the classes' mean features, (classes, dimension). It is renewed after each pass over the training rows, from
    the features as they were when drawn (`note`); zero in the first pass. It stays with the network: encoding needs it.
    """

    means: torch.Tensor
    sums: torch.Tensor
    counts: torch.Tensor
    noted: torch.Tensor

    def __init__(self, dimension: int, classes: int) -> None:
        super().__init__()
        self.attention, self.selector = nn.Linear(dimension, classes), nn.Linear(dimension, dimension)
        for name, shape in (("means", (classes, dimension)), ("sums", (classes, dimension)), ("counts", (classes,))):
            self.register_buffer(name, torch.zeros(shape))
        self.register_buffer("noted", torch.zeros(()))  # rows since M was renewed
        self._seen: torch.Tensor | None = None  # features of the latest batch

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        self._seen = features.detach() if self.training else None
        recalled = torch.softmax(self.attention(features), 1) @ self.means
        return features + torch.tanh(self.selector(features)) * recalled

    def note(self, labels: torch.Tensor, rows: int) -> None:
        """What the batch that just passed was; after `rows` of them M is the mean of each class, where it had any."""
        if self._seen is None:
            return
        self.sums += labels.T @ self._seen.to(labels.dtype)
        self.counts += labels.sum(0)
        self.noted += len(labels)
        self._seen = None
        if self.noted >= rows:
            met, counts = self.counts[:, None] > 0, self.counts[:, None].clamp_min(1)
            self.means = torch.where(met, self.sums / counts, self.means)  # not in place: the step still needs the old
            for buffer in (self.sums, self.counts, self.noted):
                buffer.zero_()


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
