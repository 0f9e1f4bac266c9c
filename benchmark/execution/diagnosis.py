"""Whether a training can be believed: read off its history and its codes, when the cell has run.

A method's `history` may have lists `loss` and `gradient_norm`, and `largest_weight` and `largest_bias` of what it
trained; `DeepMethod` logs all four. What is found is kept in the record's health, and told wherever the score is.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.registry import get_method

ENDS = 3  # logged losses that make a beginning and an end: a single batch says little
RISEN = 1.02  # the end of the loss against its beginning
FALLEN = 0.999  # the least of the loss against its beginning
BLOWN = 10.0  # the most of the loss against its beginning
VANISHED = 1e-6  # of the largest gradient
RUNAWAY = 1e3  # of a weight or a bias: inputs are of unit size, and codes are signs


def doubts(history: Mapping[str, Any], health: Mapping[str, Any]) -> list[str]:
    """What is wrong with a training, in a few words each; nothing where nothing is."""
    found = ["codes collapsed to a few constants"] if health.get("collapsed") else []
    loss, gradient = _numbers(history, "loss"), _numbers(history, "gradient_norm")
    if len(loss) >= 2 * ENDS:
        found += _of_loss(loss, gradient)
    for name in ("largest_weight", "largest_bias"):
        values = _numbers(history, name)
        if values and values[-1] > RUNAWAY:
            found.append(f"{name.replace('_', ' ')} ran away to {values[-1]:.1e}")
    return found


def _of_loss(loss: Sequence[float], gradient: Sequence[float]) -> list[str]:
    start, end = statistics.fmean(loss[:ENDS]), statistics.fmean(loss[-ENDS:])
    size = abs(start) or 1.0
    ways = f"{start:.4g} to {end:.4g}"
    if end > start + (RISEN - 1) * size:
        return [f"loss ended above its start ({ways})"]
    if max(loss) > start + (BLOWN - 1) * size:
        return [f"loss blew up on its way ({ways}, {max(loss):.4g} between)"]
    if min(loss) > start - (1 - FALLEN) * size and start > 0:
        return [f"loss never fell ({ways})"]
    if gradient and gradient[-1] < VANISHED * max(gradient) and end > start / 2:
        return [f"gradient vanished while the loss was high ({ways})"]
    return []


def _numbers(history: Mapping[str, Any], name: str) -> list[float]:
    values = history.get(name)
    if not isinstance(values, (list, tuple)):
        return []
    return [float(value) for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]


def remedy(method: str, learning_rate: float | None) -> str:
    """What to do about it: only what this method has."""
    if learning_rate:
        lower = f"lower the rate (--set {method}.learning_rate={learning_rate / 3:.2g})"
        return f"{lower} or let cross-validation choose (--tune)"
    cls = get_method(method)
    if getattr(cls, "search_space", {}) or any(one.search for one in cls.info.declared.values()):
        return "let cross-validation choose (--tune)"
    if cls.info.parameters:
        return f"try other values of {', '.join(cls.info.parameters)} (--set {method}.NAME=VALUE)"
    return "it has no parameters to set; look at what its fit learns, and at the features it is given"
