"""Which settings of a method are worth trying: the values it declares, the training's own, draws and neighbours.

A setting is a dict of what differs from the defaults; {} is the defaults. Nothing here runs or scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmark.contracts import MethodInfo
from benchmark.deep.profile import Training
from benchmark.errors import UsageError
from benchmark.execution.grid import changed_parameters, sets_training
from benchmark.registry import get_method
from benchmark.seeds import generator

Setting = dict[str, Any]
Space = dict[str, list[Any]]
# Of the profile's: searched for every method that trains a network, with no line of its author's. Wide enough that a
# winner at the edge is the exception, and then `neighbours` goes beyond.
FACTORS = {"learning_rate": (0.1, 0.3, 1.0, 3.0, 10.0), "weight_decay": (0.1, 0.3, 1.0, 3.0, 10.0)}
WIDER = 3.0  # how far beyond the edge one step goes


def search_space(info: MethodInfo, training: Training, fixed: Iterable[str] = ()) -> Space:
    """Name -> values in rising order: what a method declares and how it is trained, less what the user has set."""
    declared: dict[str, Any] = {name: one.search for name, one in info.declared.items() if one.search}
    declared.update(getattr(get_method(info.name), "search_space", {}))
    for name, factors in FACTORS.items():
        if sets_training(info, name) and getattr(training, name):
            declared.setdefault(name, [_rounded(factor * getattr(training, name)) for factor in factors])
    for name in declared:
        if name not in info.parameters and not sets_training(info, name):
            raise UsageError(f"method '{info.name}': search_space names '{name}', which is none of its parameters")
    kept = {name: list(values) for name, values in sorted(declared.items()) if name not in fixed}
    return {name: _ordered([*values, default_of(info, training, name)]) for name, values in kept.items()}


def default_of(info: MethodInfo, training: Training, name: str) -> Any:
    """What a parameter, or a number of the training, is where nobody sets it."""
    return getattr(training, name) if sets_training(info, name) else info.parameters[name]


def size(space: Space) -> int:
    """How many settings there are."""
    return math.prod(len(values) for values in space.values())


def draws(info: MethodInfo, training: Training, space: Space, number: int) -> list[Setting]:
    """The defaults, then draws in which every value of every parameter comes as often as any other; none twice."""
    random = generator("tune", info.name)
    found: list[Setting] = [{}]
    number = min(number, size(space))
    while len(found) < number:
        columns = {name: _dealt(values, number, random) for name, values in space.items()}
        for row in range(number):
            one = changed(info, training, {name: values[row] for name, values in columns.items()})
            if one not in found and len(found) < number:
                found.append(one)
    return found


def neighbours(info: MethodInfo, training: Training, space: Space, best: Setting) -> list[Setting]:
    """Settings one step from `best` in one parameter, those of the training first; beyond the edge where it lies there.

    Only numbers of the training go beyond: what a method declares may have bounds that only its author knows.
    """
    found = []
    for name in sorted(space, key=lambda one: not sets_training(info, one)):
        values, here = space[name], best.get(name, default_of(info, training, name))
        place = values.index(here) if here in values else 0
        near = [values[at] for at in (place - 1, place + 1) if 0 <= at < len(values)]
        if sets_training(info, name) and place == 0:
            near.insert(0, _rounded(here / WIDER))
        if sets_training(info, name) and place == len(values) - 1:
            near.insert(0, _rounded(here * WIDER))
        found += [changed(info, training, {**best, name: value}) for value in near]
    return found


def at_edge(info: MethodInfo, training: Training, space: Space, tried: Sequence[Setting], best: Setting) -> list[str]:
    """The numbers of the training whose best value ends both what was to be searched and what was tried beyond it."""
    edges = []
    for name in (one for one in space if sets_training(info, one)):
        own = getattr(training, name)
        here, values = best.get(name, own), {one.get(name, own) for one in tried} | set(space[name])
        if here in (min(values), max(values)):
            edges.append(name)
    return edges


def changed(info: MethodInfo, training: Training, values: Mapping[str, Any]) -> Setting:
    """Only what differs from the defaults, each in its declared type."""
    typed = changed_parameters(info, values)
    return {name: value for name, value in typed.items() if value != default_of(info, training, name)}


def _dealt(values: Sequence[Any], number: int, random: np.random.Generator) -> list[Any]:
    """So many values, each as often as any other, in random order."""
    order = [int(place) for _ in range(-(-number // len(values))) for place in random.permutation(len(values))]
    return [values[order[place]] for place in random.permutation(number)]


def _ordered(values: Sequence[Any]) -> list[Any]:
    """Each once; numbers in rising order."""
    unique = [value for at, value in enumerate(values) if value not in values[:at]]
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in unique)
    return sorted(unique) if numbers else unique


def _rounded(value: float) -> float:
    """To three digits: 0.30000000000000004 is not what anyone would type."""
    return float(f"{value:.3g}")
