"""Backbones: a classifier cut in two where deep methods need it, with its weights and its image transform.

`trunk` turns images into flat features that can be cached, `last` turns those into the penultimate features
(fc7 of AlexNet and VGG); the classifier's last layer is gone. Networks that have a single linear layer behind
their pooling have nothing between, so their `last` is the identity. Training lives elsewhere, and so does
caching.

Importing this module costs no torch: a plan asks it for `weights_id` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.data.images import Transform
from benchmark.data.weights import DEFAULT, check_weights, is_file, match_weights, read_weights, weights_name
from benchmark.errors import UsageError
from benchmark.wording import closest

if TYPE_CHECKING:
    from torch import nn

MINI = "mini-cnn"
CROPS = {  # input sizes other than 224, as in torchvision; written out so that a cache is found without torch
    "efficientnet_b1": 240, "efficientnet_b2": 288, "efficientnet_b3": 300, "efficientnet_b4": 380,
    "efficientnet_b5": 456, "efficientnet_b6": 528, "efficientnet_b7": 600, "efficientnet_v2_l": 480,
    "efficientnet_v2_m": 480, "efficientnet_v2_s": 384, "inception_v3": 299, "regnet_y_128gf": 384,
    "swin_v2_b": 256, "swin_v2_s": 256, "swin_v2_t": 256, "vit_h_14": 518,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Backbone:
    """A network without its last layer. `last(trunk(transform.normalise(images)))` has shape (n,
    dimension)."""

    name: str
    trunk: nn.Module
    last: nn.Module
    transform: Transform
    dimension: int
    weights_hash: str
    missing: tuple[str, ...] = ()  # parameters that partial weights did not hold, none of them in use


@dataclass
class _Cut:
    """A network cut in two, the names of its parameters behind the trunk, and what remains without those."""

    trunk: nn.Module
    last: nn.Module
    dimension: int
    head: set[str]
    pooled: tuple[nn.Module, int] | None = None  # trunk and dimension when the weights of `last` are unknown


def weights_id(name: str, weights: str | Path | None = None, partial: bool = False) -> str:
    """What identifies a backbone's weights in a cell's key, without importing torch."""
    if name == MINI:
        from benchmark.deep.mini_cnn import RECIPE_HASH

        _only_own_weights(weights)
        return f"{MINI}:{RECIPE_HASH}"
    return f"{name}:{weights_name(weights, partial)}"


def has_last(name: str) -> bool:
    """Whether anything lies between trunk and penultimate features; where not, both are the same."""
    return name == MINI or name.startswith(("alexnet", "vgg", "mobilenet_v3"))


def transform_of(name: str) -> Transform:
    """Squares of the size the network was trained on, with a margin of an eighth: 256 cut to 224 for most."""
    if name == MINI:
        from benchmark.deep.mini_cnn import MEAN, STD

        return Transform(resize=None, crop=None, mean=MEAN, std=STD)
    crop = CROPS.get(name, 224)
    half = (0.5, 0.5, 0.5)
    if name == "efficientnet_v2_l":  # the one that was trained on another scale
        return Transform(round(crop * 256 / 224), crop, half, half)
    return Transform(round(crop * 256 / 224), crop)


def load_backbone(name: str, weights: str | Path | None = None, partial: bool = False) -> Backbone:
    """The backbone `name` in evaluation mode.

    `weights` is a file (.npz, .pth), one of torchvision's names (default IMAGENET1K_V1, downloaded by
    torchvision), or "random". `partial` allows a file that lacks the layers behind the trunk; features are
    then the trunk's, averaged over the image.
    """
    identity = weights_id(name, weights, partial)
    if name == MINI:
        from benchmark.deep.mini_cnn import DIMENSION, load_mini_cnn

        net: Any = load_mini_cnn().eval()
        return Backbone(name, net.trunk, net.last, transform_of(name), DIMENSION, identity)
    model = _build(name, None if weights is None else str(weights))
    missing: list[str] = []
    cut = _cut(name, model)
    if weights is not None and is_file(str(weights)):
        missing = _fill(model, str(weights), cut.head, partial)
    _cut_off(model)
    trunk, last, dimension = cut.trunk, cut.last, cut.dimension
    if cut.pooled and any(f"classifier.{key}" in missing for key in cut.last.state_dict()):
        from torch import nn

        (trunk, dimension), last = cut.pooled, nn.Identity()
    return Backbone(name, trunk.eval(), last.eval(), transform_of(name), dimension, identity, tuple(missing))


def _only_own_weights(weights: str | Path | None) -> None:
    if weights is not None:
        raise UsageError(f"backbone {MINI} trains its own weights, but weights '{weights}' were given; leave them out")


def _known() -> list[str]:
    """The classifiers of torchvision; detection, segmentation and video live in sub-modules of its models."""
    from benchmark.data.vision import torchvision

    return list(torchvision.models.list_models(module=torchvision.models))


def _build(name: str, weights: str | None) -> nn.Module:
    """The whole classifier; global random state is left as it was."""
    import torch

    from benchmark.data.vision import torchvision

    if name not in _known():
        close = closest(name, [MINI, *_known()])
        hint = f"did you mean '{close[0]}'?" if close else f"expected {MINI} or a classifier of torchvision's"
        raise UsageError(f"unknown backbone '{name}': {hint}")
    wanted = None if weights == "random" or (weights and is_file(weights)) else weights or DEFAULT
    if wanted:
        names = [w.name for w in torchvision.models.get_model_weights(name)]
        if wanted not in names:
            raise UsageError(f"backbone {name} has no weights '{wanted}' in torchvision: it has {', '.join(names)}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            model: nn.Module = torchvision.models.get_model(name, weights=wanted)
        except (OSError, RuntimeError) as error:  # no network, no room for the file, or a file cut short
            raise UsageError(
                f"backbone {name}: weights {wanted} cannot be downloaded ({error}); give --weights FILE"
            ) from None
    if hasattr(model, "aux_logits"):
        model.aux_logits = False  # type: ignore[assignment]
    return model


def _cut(name: str, model: Any) -> _Cut:
    """Where the network is cut in two. `_cut_off` has still to take the classifier off `model` itself."""
    from torch import nn

    head: Any = getattr(model, "classifier", None)
    if name.startswith("squeezenet"):  # classifies by a 1x1 convolution, so its features are the averaged maps
        trunk = nn.Sequential(model.features, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        return _Cut(trunk, nn.Identity(), head[1].in_channels, _names("classifier", head))
    if _is_deep_head(head):
        last, dimension = head[:-1], head[-1].in_features
        convolutions = [m for m in model.features.modules() if isinstance(m, nn.Conv2d)]
        pooled = nn.Sequential(model.features, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        width = convolutions[-1].out_channels
        return _Cut(model, last, dimension, _names("classifier", head), (pooled, width))
    path, linear = _last_linear(model)
    return _Cut(model, nn.Identity(), linear.in_features, _names(path, linear))


def _is_deep_head(head: Any) -> bool:
    """A flat classifier of several linear layers, as in AlexNet, VGG and MobileNet v3."""
    from torch import nn

    if not isinstance(head, nn.Sequential) or not isinstance(head[0], nn.Linear | nn.Dropout):
        return False
    return sum(isinstance(layer, nn.Linear) for layer in head) > 1


def _last_linear(model: Any) -> tuple[str, Any]:
    from torch import nn

    return [(path, layer) for path, layer in model.named_modules() if isinstance(layer, nn.Linear)][-1]


def _names(prefix: str, module: Any) -> set[str]:
    return {f"{prefix}.{key}" for key in module.state_dict()}


def _cut_off(model: Any) -> None:
    """Take off what `_cut` put into `last`, and the classifier's last layer."""
    from torch import nn

    if _is_deep_head(getattr(model, "classifier", None)):
        model.classifier = nn.Identity()
    elif any(isinstance(layer, nn.Linear) for layer in model.modules()):
        path, _ = _last_linear(model)
        parent, _, leaf = path.rpartition(".")
        setattr(model.get_submodule(parent), leaf, nn.Identity())


def _fill(model: Any, file: str, head: set[str], partial: bool) -> list[str]:
    """Load the weight file into the network; the names it lacked (only with `partial`)."""
    check_weights(file)
    tensors = read_weights(file)
    wanted = model.state_dict()
    if not partial and tensors and set(wanted) - set(tensors) and set(wanted) - set(tensors) <= head:
        raise UsageError(
            f"weights file {file} holds the trunk only; allow it with --partial-weights, which leaves out "
            "the layers behind the trunk and averages the trunk's features over the image"
        )
    missing = match_weights(tensors, wanted, file, head if partial else ())
    model.load_state_dict(tensors, strict=False)
    return missing
