"""Which network a method trains on which rows: the three depths of training, for given features and for images.

| train  | given features                     | given images                                     |
|--------|------------------------------------|--------------------------------------------------|
| "hash" | hash layer on the features         | hash layer on the frozen backbone's features     |
| "last" | the same, or with a backbone: its  | last layers and hash layer on the frozen trunk's |
|        | last layers on its trunk's features| features                                         |
| "all"  | hash layer on the features         | the whole network                                |
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from benchmark.contracts import Split
from benchmark.data.images import Transform
from benchmark.deep.backbones import Backbone, load_backbone
from benchmark.deep.lazy import torch
from benchmark.deep.network_inputs import FeatureRows, ImageRows, Rows
from benchmark.deep.profile import Training
from benchmark.deep.trainer import Trainable, outputs
from benchmark.errors import UsageError
from benchmark.shallow.scaling import FeatureScaling

if TYPE_CHECKING:
    from torch import nn

    from benchmark.deep.network import HashNetwork

MEASURED = 1024  # training images that fix the scaling of a network that is trained whole


@dataclass
class Assembly:
    """A network with what comes before it when rows are encoded."""

    network: HashNetwork
    frozen: nn.Module | None = None  # images -> the features that the network was trained on
    transform: Transform | None = None  # of images; None where the method was given features
    scaling: FeatureScaling | None = None  # of given features, where the network has none of its own

    def rows(self, split: Split) -> Rows:
        """The rows of a split as this network takes them."""
        if self.transform is not None:
            if split.images is None:
                raise UsageError("encode: these rows have no images, but the method was fitted on images")
            return ImageRows(split.images, self.transform)
        if split.features is None:
            raise UsageError("encode: these rows have no features, but the method was fitted on features")
        return FeatureRows(split.features, self.scaling)

    def encoder(self) -> nn.Module:
        """From what `rows` gives to raw outputs."""
        return self.network if self.frozen is None else torch.nn.Sequential(self.frozen, self.network)


def assemble(method: Trainable, train: Split) -> tuple[Assembly, Rows]:
    """The network to train, with fresh hash layer, and the rows to train it on."""
    training = method.training
    if train.images is not None:
        if training.backbone is None:
            raise UsageError(f"{method.info.name}: images need a backbone; name one in the profile")
        backbone = load_backbone(training.backbone, training.weights, training.partial_weights)
        if training.train == "all":
            return _from_images(method, train, backbone)
        return _from_frozen(method, train, backbone)
    if training.train == "last" and training.backbone is not None:
        backbone = load_backbone(training.backbone, training.weights, training.partial_weights)
        return _from_trunk(method, _checked(train.features), backbone)
    scaling = _scaling(method, _checked(train.features), fixed=True)
    empty = torch.nn.Identity()
    network = _network(empty, empty, method.head(scaling.width))
    return Assembly(network, scaling=scaling), FeatureRows(scaling.transform(train.features))


def _network(body: nn.Module, scale: nn.Module, head: nn.Module) -> HashNetwork:
    from benchmark.deep.network import HashNetwork

    return HashNetwork(body, scale, head)


def _scaled(method: Trainable, body: nn.Module, rows: Rows) -> HashNetwork:
    """Body and head with a scaling between them that is measured on these rows, before any training."""
    from benchmark.deep.network import Scale

    fixed = not any(True for _ in body.parameters())
    scaling = _scaling(method, outputs(body, rows, method.training), fixed)
    return _network(body, Scale(scaling), method.head(scaling.width))


def _scaling(method: Trainable, features: np.ndarray, fixed: bool) -> FeatureScaling:
    """Of what the hash layer sees. Only features that training does not change are reduced to principal directions:
    those of a body that learns would be those of its first step."""
    components = method.training.components if fixed else 0
    # A step of Adam moves an output by the rate times the sum of its inputs' sizes, and decay bounds it by that sum
    # too: were it to grow with the width, settings chosen at one width would not serve another.
    gain: Literal["sqrt", "even"] = "even" if method.training.optimizer == "adam" else "sqrt"
    return FeatureScaling.fit(features, mode=method.scaling, gain=gain, components=components)


def _from_images(method: Trainable, train: Split, backbone: Backbone) -> tuple[Assembly, Rows]:
    from benchmark.deep.network import Normalise

    transform = image_transform(backbone.transform, method.training)
    body = torch.nn.Sequential(Normalise(transform), backbone.trunk, backbone.last)
    some = np.unique(np.linspace(0, len(train) - 1, MEASURED).astype(int))
    measured = train.take(some).images
    assert train.images is not None
    assert measured is not None
    network = _scaled(method, body, ImageRows(measured, transform))
    return Assembly(network, transform=transform), ImageRows(train.images, transform)


def _from_frozen(method: Trainable, train: Split, backbone: Backbone) -> tuple[Assembly, Rows]:
    from benchmark.deep.network import Normalise

    transform = image_transform(backbone.transform, method.training)
    last = backbone.last if method.training.train == "last" else torch.nn.Identity()
    frozen = torch.nn.Sequential(Normalise(transform), backbone.trunk)
    if method.training.train == "hash":
        frozen.append(backbone.last)
    assert train.images is not None
    rows = FeatureRows(outputs(frozen, ImageRows(train.images, transform), method.training))
    return Assembly(_scaled(method, last, rows), frozen=frozen, transform=transform), rows


def _from_trunk(method: Trainable, features: np.ndarray, backbone: Backbone) -> tuple[Assembly, Rows]:
    rows = FeatureRows(features)
    try:
        return Assembly(_scaled(method, backbone.last, rows)), rows
    except RuntimeError as error:
        raise UsageError(
            f"{method.info.name}: {features.shape[1]} features are not the trunk's of {backbone.name} ({error}); "
            "extract them with cut='trunk', or train = 'hash'"
        ) from error


def _checked(features: np.ndarray | None) -> np.ndarray:
    if features is None:
        raise UsageError("training: rows with neither features nor images, expected one of them")
    return features


def image_transform(transform: Transform, training: Training) -> Transform:
    """The backbone's own transform, at the sizes the profile asks for, where it has sizes at all."""
    if transform.resize is None:
        return transform
    return dataclasses.replace(
        transform, resize=training.resize or transform.resize, crop=training.crop or transform.crop
    )
