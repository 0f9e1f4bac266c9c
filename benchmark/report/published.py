"""Numbers other papers printed, as data: published.csv, with source, table, protocol, conventions and doubts.

They are set beside results and subtracted only where both were measured alike; nothing is tuned towards them.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STAND_IN = "-mini"


@dataclass(frozen=True)
class Published:
    """One printed MAP and how it was measured."""

    source: str
    table: str
    dataset: str
    protocol: str
    backbone: str
    method: str
    bits: int
    map: float
    k: int
    denominator: str
    empty: str
    ties: str  # the papers do not say, and their scripts sort unstably: results show tie bounds instead
    doubt: str


@functools.cache
def published() -> tuple[Published, ...]:
    """All printed numbers, in the order of the file."""
    with (Path(__file__).parent / "published.csv").open(encoding="utf-8", newline="") as handle:
        return tuple(_number(row) for row in csv.DictReader(handle))


def _number(row: Mapping[str, str]) -> Published:
    typed: dict[str, Any] = dict(row)
    typed |= {"bits": int(row["bits"]), "map": float(row["map"]), "k": int(row["k"])}
    return Published(**typed)


def find(dataset: str, method: str, bits: int, backbone: str) -> Published | None:
    """The printed number nearest to a cell: a miniature stands for its data set, an unknown backbone for AlexNet.

    Whether the two may be subtracted is another question: see `why_not_comparable`.
    """
    dataset = dataset.removesuffix(STAND_IN)
    near = [p for p in published() if (p.dataset, p.method, p.bits) == (dataset, method, bits)]
    same = [p for p in near if p.backbone == backbone]
    return next(iter(same or [p for p in near if p.backbone == "alexnet"]), None)


def why_not_comparable(cell: Mapping[str, Any], other: Published) -> str:
    """What differs between a cell (a row of the frame) and a printed number; empty where they may be subtracted."""
    if cell["miniature"]:
        return "a miniature is not the published data set"
    differing = [
        f"{name} {cell.get(name)} here, {getattr(other, name)} published"
        for name in ("protocol", "backbone", "k", "denominator", "empty")
        if cell.get(name) != getattr(other, name)
    ]
    return "; ".join(differing)
