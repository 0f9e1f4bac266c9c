"""Records -> one pandas frame: a row per record, with what it is called in this report and whether it counts.

A record counts unless its key is called stale: it belongs to a report because it is what a run today would make, never
because it is the newest of its kind. Nothing is drawn or formatted here.

Columns: `key`; what was run (`method`, `params`, `tuned`, `settings`, `dataset`, `protocol`, `bits`, `seed`, `profile`,
`backbone`); what it was made from (`revision`, `cutoff` and `options` of the data, rows of its parts and of its
classes, `profile_id`, `weights`, `evaluator`, `sources`); what it is called here (`title`, `family`, `dataset_label`,
`dataset_slug`, `miniature`); what came of it (`status`, `reason`, `doubts`, every score by its name as `map` and `k`,
`map_<group of classes>`, `seconds_<part>`, `search_<part>`, `health_<part>`, `peak_memory`, `stored_bits` of an item);
`current`: not stale; `shown`: stands in the tables, if only as a dash.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmark.execution.record import Record
from benchmark.report.display_names import (
    LONGEST_REASON,
    UNNAMED,
    DatasetIdentity,
    DatasetNames,
    clean,
    dataset_labels,
    method_titles,
    short_hash,
    unique_slugs,
)
from benchmark.report.looks import dataset_order, method_order

if TYPE_CHECKING:
    import pandas as pd

CELL = ["method", "params", "dataset", "protocol", "bits", "seed", "profile", "backbone"]
IDENTITY = list(DatasetIdentity._fields)
SETUP = ["profile_id", "weights", "evaluator"]  # must agree for two cells to be compared, and is in no name
SLOT = [*CELL, "revision", "cutoff", *SETUP, "miniature"]
STALE = "stale: code, data or settings have changed since; run it again"
TEXT_SCORES = ("ties", "denominator", "empty")  # all other scores are numbers


class Unshowable(ValueError):
    """A record whose content is not what a report can show; says what is wrong."""


def readable_rows(records: Iterable[Record]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The rows of all records that can be shown, and key -> what is wrong for the others."""
    rows, faults = [], {}
    for record in records:
        try:
            rows.append(row(record))
        except Exception as error:  # whatever somebody put into a record costs that record, not the report
            faults[record.key] = clean(f"{type(error).__name__}: {error}", LONGEST_REASON)
    return rows, faults


def record_frame(records: Iterable[Record], stale: Collection[str] = ()) -> pd.DataFrame:
    """One row per record that can be shown, in the order of tables. `stale`: keys of records that do not count."""
    return frame_of(readable_rows(records)[0], stale)


def frame_of(rows: list[dict[str, Any]], stale: Collection[str] = ()) -> pd.DataFrame:
    """The frame of rows made by `readable_rows`."""
    import pandas as pd

    old = set(stale)
    for one in rows:
        one["current"] = one["key"] not in old
    _name_datasets(rows)
    _name_methods(rows)
    rows.sort(key=_order)
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    table.loc[~table["current"], ["status", "reason"]] = ["stale", STALE]
    _withhold_rivals(table)
    table["shown"] = table["current"] | _fills_a_gap(table)
    return table


def _order(one: Mapping[str, Any]) -> tuple[Any, ...]:
    data = (dataset_order(one["dataset"]), one["protocol"], one["dataset_label"])
    return (*data, method_order(one["method"], one["family"]), one["params"], one["bits"], one["seed"], one["key"])


def row(record: Record) -> dict[str, Any]:
    """One record flattened: the cell, what it was made from, its scalar scores, costs and health."""
    cell, parts, metrics = record.cell, record.parts, record.metrics
    cutoff = parts["dataset"].get("map_cutoff", metrics.get("k"))
    flat: dict[str, Any] = {
        "key": record.key,
        "method": str(cell["method"]),
        "title": clean(record.titles.get("method") or ""),
        "family": str(record.family),
        "params": _json(cell.get("params")),
        "tuned": _json(cell.get("tuned")),
        "settings": clean(cell.get("settings") or "defaults"),
        "dataset": str(cell["dataset"]),
        "dataset_title": clean(record.titles.get("dataset") or ""),
        "spec": str(record.asked.get("dataset") or ""),
        "options": _json(record.asked.get("options")),
        "protocol": str(cell.get("protocol") or ""),
        "bits": _whole(cell["bits"], "bits"),
        "seed": _whole(cell["seed"], "seed"),
        "profile": clean(cell.get("profile") or ""),
        "backbone": clean(cell.get("backbone") or ""),
        "revision": record.revision,
        "cutoff": None if cutoff is None else _whole(cutoff, "map_cutoff"),
        "profile_id": "" if parts.get("profile") is None else short_hash(_json(parts["profile"]) or "{}"),
        "components": _components(parts.get("profile")),
        "weights": _json(parts.get("weights")),
        "weights_name": clean(record.asked.get("weights") or "", 40),
        "evaluator": _json(parts.get("evaluator")),
        "miniature": bool(record.miniature),
        "status": record.status,
        "reason": clean(record.reason, LONGEST_REASON),
        "doubts": clean(record.doubts, LONGEST_REASON),
        "sources": _json(parts.get("sources")),
        "versions": _json(record.provenance.get("versions")),
        "machine": _json(record.provenance.get("machine")),
        "ended": clean(record.provenance.get("ended") or ""),
    }
    return flat | _audited_sizes(record.audit) | _measured(record)


def _audited_sizes(audit: Mapping[str, Any]) -> dict[str, int | None]:
    """Rows of each part, and of the largest and smallest class in training; None where unknown."""
    parts = audit.get("parts") or {}
    sizes = {f"{name}_rows": (parts.get(name) or {}).get("rows") for name in ("train", "query", "database")}
    counts = [int(count) for count in (parts.get("train") or {}).get("class_counts") or []]
    return sizes | {"largest_class": max(counts, default=None), "smallest_class": min(counts, default=None)}


def _components(profile: Any) -> int:
    """Of given features, how many principal directions a network is shown; 0 for all columns as they are."""
    training = profile.get("training") if isinstance(profile, Mapping) else None
    return _whole(training.get("components") or 0, "components") if isinstance(training, Mapping) else 0


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True) if value else ""


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise Unshowable(f"{name} is {value!r}, expected a whole number")
    return int(value)


def _measured(record: Record) -> dict[str, Any]:
    """Scalar scores, costs and health; every one of them a finite number, nothing, or a word where words are meant."""
    metrics = record.metrics
    flat = {name: value for name, value in metrics.items() if not isinstance(value, (Mapping, list))}
    numbers: dict[str, Any] = {name: value for name, value in flat.items() if name not in TEXT_SCORES}
    numbers |= {f"map_{group}": value for group, value in (metrics.get("map_groups") or {}).items()}
    numbers |= {f"seconds_{part}": value for part, value in record.seconds.items()}
    numbers |= {f"search_{part}": value for part, value in record.search.items()}
    told = ("doubts", "remedy")
    numbers |= {f"health_{part}": value for part, value in record.health.items() if part not in told}
    numbers["peak_memory"] = record.peak_memory
    numbers["stored_bits"] = metrics.get("stored_bits", record.cell["bits"] if record.ok else None)
    for name, value in numbers.items():
        if value is not None and not (isinstance(value, (int, float)) and math.isfinite(value)):
            raise Unshowable(f"{name} is {value!r}, expected a finite number")
    return numbers | {name: clean(flat[name], 40) for name in TEXT_SCORES if flat.get(name) is not None}


# --- what things are called --------------------------------------------------------------------------------


def _identity(one: Mapping[str, Any]) -> DatasetIdentity:
    return DatasetIdentity(*(one[name] for name in IDENTITY))


def _name_datasets(rows: Sequence[dict[str, Any]]) -> None:
    """Title, label and file name of each row's data set. A cell that failed early knows no title; others may."""
    titled: dict[str, dict[str, dict[str, Any]]] = {}  # name -> revision -> a row that knows the title
    for one in sorted(rows, key=lambda one: (not one["current"], one["dataset_title"])):
        if one["dataset_title"]:
            titled.setdefault(one["dataset"], {}).setdefault(one["revision"], one)
    for one in rows:
        known = titled.get(one["dataset"], {})
        other = known.get(one["revision"]) or (next(iter(known.values())) if len(known) == 1 else {})
        one["known_title"] = other.get("dataset_title") or clean(one["dataset"]) or UNNAMED
        one["miniature"] = one["miniature"] or bool(other.get("miniature"))
    called: dict[DatasetIdentity, dict[str, Any]] = {}
    for one in sorted(rows, key=lambda one: (not one["current"], one["known_title"], one["spec"])):
        called.setdefault(_identity(one), one)
    for counting in (True, False):  # what is stale takes no name from what counts
        _label(rows, {identity: one for identity, one in called.items() if one["current"] == counting}, counting)
    for one in rows:
        one["dataset_title"] = one.pop("known_title")


def _label(rows: Iterable[dict[str, Any]], called: Mapping[DatasetIdentity, Mapping[str, Any]], current: bool) -> None:
    titles = {}
    for identity, one in called.items():
        marked = one["miniature"] and "miniature" not in one["known_title"].lower()
        titles[identity] = one["known_title"] + (" (miniature)" if marked else "")
    labels = dataset_labels({identity: DatasetNames(titles[identity], one["spec"]) for identity, one in called.items()})
    names = [one.dataset for one in labels]
    shortest = {name: min((titles[one] for one in labels if one.dataset == name), key=len) for name in names}
    slugs = unique_slugs(
        {
            one: one.dataset
            if names.count(one.dataset) == 1
            else _slug_words(one.dataset, shortest[one.dataset], label)
            for one, label in labels.items()
        }
    )
    for one in rows:
        identity = _identity(one)
        if identity in labels:
            one["dataset_label"] = labels[identity] if current else f"{labels[identity]} (earlier data)"
            one["dataset_slug"] = slugs[identity]


def _slug_words(name: str, title: str, label: str) -> str:
    """For file names, where data sets share a name: the name, and what the label adds to the title."""
    return name + label.removeprefix(title) if label.startswith(title) else label


def _name_methods(rows: Sequence[dict[str, Any]]) -> None:
    found: dict[str, str] = {}
    for one in sorted(rows, key=lambda one: (not one["title"], not one["current"], one["title"])):
        found.setdefault(one["method"], one["title"])
    titles = method_titles(dict(sorted(found.items())))
    for one in rows:
        one["title"] = titles[one["method"]]


# --- what counts -------------------------------------------------------------------------------------------


def _withhold_rivals(table: pd.DataFrame) -> None:
    """Results of one cell made by different code or tuning, none of them stale: which is meant is not known."""
    current = table[table["current"]]
    for _, rivals in current[current.duplicated(SLOT, keep=False)].groupby(SLOT, dropna=False, sort=False):
        what = "different tuned parameters" if rivals["tuned"].nunique() > 1 else "different code of the method"
        reason = (
            f"unclear: {len(rivals)} results were made by {what}, and which of them is meant is not known; "
            f"name the method's file by --plugin, or run the cell again"
        )
        table.loc[rivals.index, ["status", "reason"]] = ["unclear", reason]


def _fills_a_gap(table: pd.DataFrame) -> pd.Series:
    """Stale rows whose column stands in the report by other cells, and that no current row replaces: dashes there.

    Data, cut-off, weights and profile of the column must be its own: a stale result of other data belongs nowhere.
    """
    column = [*IDENTITY, "profile", "backbone", "miniature", *SETUP]
    current = table[table["current"]]
    columns = {tuple(key) for key in current[column].astype(str).itertuples(index=False)}
    slots = {tuple(key) for key in current[SLOT].astype(str).itertuples(index=False)}
    in_column = [tuple(key) in columns for key in table[column].astype(str).itertuples(index=False)]
    replaced = [tuple(key) in slots for key in table[SLOT].astype(str).itertuples(index=False)]
    import pandas as pd

    return pd.Series(in_column, table.index) & ~pd.Series(replaced, table.index)
