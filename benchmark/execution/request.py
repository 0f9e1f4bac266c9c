"""What goes to a process that carries out a cell, and what comes back: plain data, whichever machine it is on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmark.deep.profile import Profile
from benchmark.execution.origin import Origin
from benchmark.execution.record import Record


@dataclass(frozen=True)
class Request:
    """All that a process needs to carry out one cell; plain data, so that it travels to any machine."""

    key: str
    identity: Mapping[str, Any]
    parts: Mapping[str, Any]
    asked: Mapping[str, Any]
    dataset: str
    data_root: str | None
    dataset_parameters: Mapping[str, Any]
    profile: Profile
    backbone: str | None
    weights: str | None
    partial_weights: bool
    plugins: Sequence[Origin] = ()  # of its method and its data set, where they are not built in
    threads: int = 1
    checkpoint: str | None = None
    scheduler: str | None = None  # address of a Dask scheduler whose workers may help to make features
    fold: tuple[int, int] | None = None  # for `tune`: part i of n of the training split is held out
    keep_model: bool = False  # also return the fitted method, as the bytes of a file
    with_dataset: bool = False  # also return what the store keeps of the data set


@dataclass
class Outcome:
    """What a cell came to: its record, its payload, and data set's arrays and model where they were asked for."""

    record: Record
    payload: dict[str, np.ndarray] = field(default_factory=dict)
    dataset: dict[str, np.ndarray] = field(default_factory=dict)
    model: bytes | None = None
