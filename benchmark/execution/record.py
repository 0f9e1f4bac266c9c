"""What one cell came to: the one definition that worker, store, report, compare and score share.

On disk a record is JSON with these names at its top level. Schemas before the present one are brought up to it when
they are read; a newer one is refused by name. Nothing here touches a file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

SCHEMA_VERSION = 2
Status = Literal["ok", "skipped", "failed", "invalid_codes", "timeout", "oom", "interrupted"]
CODES_ONLY = "codes only"  # where settings come from, of codes that were made elsewhere
GOOD = ("ok", "skipped")  # what needs no second try
# The names of a record's metrics and of its payload's arrays, for all who write or read them. A name of `Scores` means
# what it means there.
METRICS = {
    "map": "MAP@k under the conventions below",
    **dict.fromkeys(("k", "ties", "denominator", "empty"), "convention of `map`"),
    "map_all": "MAP over the whole database",
    "map_best": "MAP@k with ties broken in favour",
    "map_worst": "MAP@k with ties broken against",
    "map_stable": "MAP@k with ties in the order of the list files, as the literature's scripts have it",
    "map_macro": "mean over classes of their MAP@k",
    "map_groups": "mean over the classes of each group (head, middle, tail) of their MAP@k",
    "precision_at_radius_2": "mean precision within Hamming distance 2, an empty ball counting 0; None for vectors",
    "empty_ball_share": "queries whose ball of radius 2 is empty, as part of all; None for vectors",
    "stored_bits": "bits that an item takes: those of its code, or 32 for each number of a vector",
    "chance_map": "MAP@k of random codes",
    "queries": "queries that were scored",
    "skipped_queries": "queries without any relevant item in the database",
}
CODES = ("query_codes", "database_codes")
ARRAYS = {
    **dict.fromkeys(CODES, "packed codes; none where vectors were ranked, or after `prune --codes`"),
    "ap": "AP@k per query",
    "class_ap": "MAP@k per class, nan for a class without a query",
    **dict.fromkeys(("recall", "precision"), "precision-recall curve"),
    **dict.fromkeys(
        ("precision_at_radius", "recall_at_radius", "items_at_radius"), "per Hamming distance 0..bits; not for vectors"
    ),
    **dict.fromkeys(("n", "precision_at_n", "recall_at_n"), "P@N and recall@N"),
}
# Arrays of a payload that schema 1 called otherwise.
OLD_ARRAYS = {
    "radius_precision": "precision_at_radius",
    "radius_recall": "recall_at_radius",
    "radius_items": "items_at_radius",
}


MAPPINGS = ("asked", "titles", "metrics", "seconds", "search", "health", "audit", "training", "provenance")


class Unreadable(ValueError):
    """A record that is whole but not one we know how to read: fields missing, or a newer schema."""


@dataclass
class Record:
    """One cell: what was asked for, what it was made from, what came of it."""

    key: str
    cell: Mapping[str, Any]  # what people call it: method, params, dataset, protocol, bits, seed, profile, backbone
    parts: Mapping[str, Any]  # all that was hashed into the key, by name
    status: Status = "failed"
    asked: Mapping[str, Any] = field(default_factory=dict)  # data and weights in the user's words; never hashed
    titles: dict[str, str] = field(
        default_factory=dict
    )  # of method and data set; also needs, plugins: what a report says of them
    family: str = ""
    miniature: bool = False
    metrics: dict[str, Any] = field(default_factory=dict)  # those of METRICS
    seconds: dict[str, float] = field(default_factory=dict)  # load, fit, encode, score
    peak_memory: int | None = None
    search: dict[str, float] = field(default_factory=dict)  # what a search of its codes costs: performance/search.py
    health: dict[str, Any] = field(default_factory=dict)
    audit: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    error: dict[str, str] | None = None  # kind, message, traceback
    payload: dict[str, Any] | None = None  # file, sha256, bytes
    model: dict[str, Any] | None = None  # the same of the fitted method, where it was to be kept; or the reason why not
    schema: int = SCHEMA_VERSION

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def codes_only(self) -> bool:
        """Whether the codes were made elsewhere and only scored here."""
        return self.cell.get("settings") == CODES_ONLY

    @property
    def doubts(self) -> str:
        """Why a score must not be read as the method's, and what to do, in one line; empty where all is well."""
        found = self.health.get("doubts") or (["codes collapsed"] if self.health.get("collapsed") else [])
        remedy = self.health.get("remedy")
        return "; ".join(map(str, found)) + (f": {remedy}" if found and remedy else "")

    @property
    def revision(self) -> str:
        """Of the data set."""
        return str(self.parts["dataset"]["revision"])

    @property
    def reason(self) -> str:
        """Why there is no score, in one line; empty where there is one."""
        if self.ok:
            return ""
        lines = str((self.error or {}).get("message") or "").strip().splitlines()
        return f"{self.status.replace('_', ' ')}: {lines[-1].strip()}" if lines else self.status

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Record:
        """A stored record of any schema; Unreadable says what is wrong with one that is not."""
        schema = raw.get("schema")
        if not isinstance(schema, int) or schema < 1:
            raise Unreadable(f"schema {schema!r}, expected a number from 1 to {SCHEMA_VERSION}")
        if schema > SCHEMA_VERSION:
            raise Unreadable(f"schema {schema} is newer than {SCHEMA_VERSION}, the latest this version reads: update")
        known = {one.name: one for one in dataclasses.fields(cls)}
        fields = {name: value for name, value in raw.items() if name in known}
        missing = [name for name in ("key", "cell", "parts", "status") if name not in fields]
        if missing:
            raise Unreadable(f"it lacks {', '.join(missing)}")
        record = cls(**fields)
        _check(record)
        return record


def _check(record: Record) -> None:
    """What every reader relies on."""
    if record.status not in get_args(Status):
        raise Unreadable(f"status {record.status!r}, expected one of {', '.join(get_args(Status))}")
    names = ("method", "dataset", "bits", "seed")
    if not isinstance(record.cell, Mapping) or any(name not in record.cell for name in names):
        raise Unreadable(f"its cell lacks one of {', '.join(names)}")
    for name, kind in zip(names, (str, str, int, int), strict=True):
        if not isinstance(record.cell[name], kind):
            raise Unreadable(f"its cell has {name} {record.cell[name]!r}, expected {kind.__name__}")
    data = record.parts.get("dataset") if isinstance(record.parts, Mapping) else None
    if not isinstance(data, Mapping) or "revision" not in data:
        raise Unreadable("its parts lack the data set's revision")
    for name in MAPPINGS:
        if not isinstance(getattr(record, name), Mapping):
            raise Unreadable(f"its {name} is {getattr(record, name)!r}, expected names with values")
    if not isinstance(record.error, Mapping | None):
        raise Unreadable(f"its error is {record.error!r}, expected names with values")
    if not isinstance(record.model, Mapping | None):
        raise Unreadable(f"its model is {record.model!r}, expected names with values")
    if record.ok and not isinstance(record.metrics.get("map"), (int, float)):
        raise Unreadable("it is ok but its metrics have no MAP")


def arrays_of(record: Record, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of a payload under their present names."""
    if record.schema >= 2:
        return dict(stored)
    return {OLD_ARRAYS.get(name, name): array for name, array in stored.items()}
