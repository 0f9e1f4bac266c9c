"""The trained network of a deep method as tensors, and the network built of them again by the way it was assembled.

Kept are the parts that training may have changed, and the scaling in front of the hash layer. A frozen backbone is not
kept: it is loaded again, and its weights must be those of then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmark.deep.assembly import Assembly, image_transform
from benchmark.deep.backbones import MINI, Backbone, load_backbone
from benchmark.deep.lazy import torch
from benchmark.deep.method import DeepMethod
from benchmark.errors import UsageError
from benchmark.shallow.scaling import FeatureScaling

if TYPE_CHECKING:
    from torch import nn

UNUSED = "classifier."  # trained beside the network; nothing encodes by it


def encodes_by_network(method: Any) -> bool:
    """Whether `encode` is that of every deep method, so that the network is all it needs."""
    fitted = isinstance(method, DeepMethod) and isinstance(getattr(method, "_assembly", None), Assembly)
    return fitted and _author(type(method)) is DeepMethod


def _author(cls: type) -> type | None:
    """The class whose own `encode` is called; registration's wrapper around one that is inherited is nobody's."""
    for one in cls.__mro__:
        written: Any = vars(one).get("encode")
        while hasattr(written, "__wrapped__"):
            written = written.__wrapped__
        if written is not None and not written.__qualname__.startswith("_written."):
            return one
    return None


def keep_network(method: Any) -> dict[str, Any]:
    """All that `restore_network` needs."""
    assembled: Assembly = method._assembly
    network: Any = assembled.network
    tensors = {name: one.detach().cpu() for name, one in network.state_dict().items() if not name.startswith(UNUSED)}
    return {
        "images": assembled.transform is not None,
        "frozen": assembled.frozen is not None,
        "scaling": assembled.scaling,
        "unit_length": getattr(network.scale, "unit_length", None),  # None: there is no scaling in the network
        "gain": getattr(network.scale, "gain", None),
        "width": _width(assembled),
        "tensors": tensors,
    }


def _width(assembled: Assembly) -> int:
    """Columns that the hash layer sees."""
    if assembled.scaling is not None:
        return assembled.scaling.width
    scale: Any = assembled.network.scale
    return int(scale.mean.shape[0] if scale.directions is None else scale.directions.shape[1])


def restore_network(method: Any, kept: Mapping[str, Any]) -> None:
    """Give an instance that was built with the same parameters the network of the fitted one."""
    from benchmark.deep.network import HashNetwork

    body, frozen, transform = _body(method, kept)
    with torch.random.fork_rng(devices=[]):  # initial weights are drawn, and overwritten
        network = HashNetwork(body, _scale(kept), method.head(kept["width"]))
    try:
        network.load_state_dict(kept["tensors"])
    except RuntimeError as error:
        told = " ".join(str(error).split())
        raise UsageError(
            f"{method.info.name}: its code or backbone builds another network than it kept ({told})"
        ) from None
    method._assembly = Assembly(network.eval(), frozen, transform, kept["scaling"])


def _scale(kept: Mapping[str, Any]) -> nn.Module:
    from benchmark.deep.network import Scale

    if kept["unit_length"] is None:
        return torch.nn.Identity()
    tensors = kept["tensors"]
    directions = tensors.get("scale.directions")
    mode = "l2" if kept["unit_length"] else "none"
    turned = None if directions is None else directions.numpy()
    return Scale(FeatureScaling(mode, kept["gain"], tensors["scale.mean"].numpy(), turned))


def _body(method: Any, kept: Mapping[str, Any]) -> tuple[nn.Module, nn.Module | None, Any]:
    """What stands before the scaling: (trained part, frozen part, transform of images), as `assembly` has it."""
    from benchmark.deep.network import Normalise

    training = method.training
    if kept["unit_length"] is None:  # the hash layer on given features
        return torch.nn.Identity(), None, None
    backbone = _backbone(training, kept["frozen"])
    if not kept["images"]:
        return backbone.last, None, None
    transform = image_transform(backbone.transform, training)
    if not kept["frozen"]:
        return torch.nn.Sequential(Normalise(transform), backbone.trunk, backbone.last), None, transform
    frozen = torch.nn.Sequential(Normalise(transform), backbone.trunk)
    if training.train == "last":
        return backbone.last, frozen.eval(), transform
    return torch.nn.Identity(), frozen.append(backbone.last).eval(), transform


def _backbone(training: Any, with_weights: bool) -> Backbone:
    """Its weights are needed where they were frozen; else those that were kept take their place. The shape of the small
    network, and of one whose weights were partial, is known with its weights only."""
    if with_weights or training.backbone == MINI or training.partial_weights:
        return load_backbone(training.backbone, training.weights, training.partial_weights)
    return load_backbone(training.backbone, "random")
