"""Numbers that papers printed, as data: published.csv, with source, table, protocol, conventions and doubts.

They are set beside results only where both were measured alike; nothing is tuned towards them. `title` is the method as
printed, `method` its name here, by which it is found. `protocol` is that of a data set here ("published lists"), or the
rows of training set, queries and database ("10000/5000/45000"), which the audit of a result must have; "unstated" says
that the source does not tell.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MINIATURE = "a miniature is never set against published numbers"
UNSTATED = "unstated"


@dataclass(frozen=True)
class Published:
    """One printed MAP and how it was measured."""

    source: str
    table: str
    dataset: str
    protocol: str
    imbalance_factor: int | None  # rows of the largest class over those of the smallest, where it was varied
    backbone: str
    title: str
    method: str
    bits: int
    map: float
    k: int | None  # None: the whole database
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
    typed |= {"bits": int(row["bits"]), "map": float(row["map"])}
    typed |= {"k": None if row["k"] == "all" else int(row["k"])}
    typed |= {"imbalance_factor": int(row["imbalance_factor"]) if row["imbalance_factor"] else None}
    return Published(**typed)


def printed_for(cell: Mapping[str, Any]) -> list[Published]:
    """All that was printed for the method, the data set and the length of a cell (a row of the frame)."""
    wanted = (cell["dataset"], cell["method"], int(cell["bits"]))
    return [one for one in published() if (one.dataset, one.method, one.bits) == wanted]


def measured_alike(cell: Mapping[str, Any]) -> Published | None:
    """The first printed number that a cell may be set against; where a source prints two, its doubt says so."""
    return next((one for one in printed_for(cell) if not why_not_comparable(cell, one)), None)


def why_not_comparable(cell: Mapping[str, Any], other: Published) -> str:
    """What differs between a cell and a printed number; empty where they may be subtracted."""
    if cell["miniature"]:
        return MINIATURE
    differing = []
    if other.backbone != cell["backbone"]:
        backbone = f"an {UNSTATED} backbone" if other.backbone == UNSTATED else other.backbone
        differing.append(f"published for {backbone}, this is {cell['backbone'] or 'features'}")
    if other.protocol not in (cell["protocol"], _rows(cell)):
        sized = "/" in other.protocol  # else rows would tell nothing
        differing.append(f"protocol {other.protocol}, here {cell['protocol']}{f' ({_rows(cell)})' if sized else ''}")
    if not _same_cutoff(cell, other):
        differing.append(f"k {'all' if other.k is None else other.k}, here {cell.get('k')}")
    for name in ("denominator", "empty"):
        if getattr(other, name) not in (UNSTATED, cell.get(name)):
            differing.append(f"{name} {getattr(other, name)}, here {cell.get(name)}")
    return "; ".join(differing)


def _rows(cell: Mapping[str, Any]) -> str:
    """Rows of training set, queries and database as the audit found them."""
    found = [cell.get(f"{part}_rows") for part in ("train", "query", "database")]
    return "/".join("?" if rows is None or rows != rows else f"{rows:.0f}" for rows in found)


def _same_cutoff(cell: Mapping[str, Any], other: Published) -> bool:
    """A cut-off beyond the database is none."""
    k, database = cell.get("k"), cell.get("database_rows")
    whole = k is not None and database is not None and k >= database
    return whole if other.k is None else k == other.k
