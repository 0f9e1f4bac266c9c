"""Whether the backbones that cells need can be had: asked before any work, and only where there is work to do.

Imports torch, which a finished grid does without.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchmark.data.weights import DEFAULT, is_file
from benchmark.deep.backbones import MINI, load_backbone
from benchmark.errors import UsageError
from benchmark.execution.grid import Cell, DatasetChoice
from benchmark.wording import closest


def check_backbones(cells: Iterable[Cell]) -> None:
    """Raise UsageError for a network that is not known, weights it does not have, or a file that does not fit it."""
    for choice in {(one.choice.backbone, one.choice.weights): one.choice for one in cells}.values():
        own = choice.weights is None and choice.backbone == choice.dataset.backbone
        if choice.backbone not in (None, MINI) and not own:  # what a data set names itself needs no torch to believe
            _check(choice, str(choice.backbone))


def _check(choice: DatasetChoice, name: str) -> None:
    from benchmark.data.vision import torchvision

    known = list(torchvision.models.list_models(module=torchvision.models))
    if name not in known:
        close = closest(name, [MINI, *known])
        hint = f"did you mean '{close[0]}'?" if close else f"expected {MINI} or a classifier of torchvision's"
        raise UsageError(f"unknown backbone '{name}': {hint}")
    weights = choice.weights or DEFAULT
    if weights == "random":
        return
    if is_file(weights):
        load_backbone(name, weights, choice.partial_weights)
        return
    names = [one.name for one in torchvision.models.get_model_weights(name)]
    if weights not in names:
        raise UsageError(f"backbone {name} has no weights '{weights}' in torchvision: it has {', '.join(names)}")
