"""Records -> one pandas frame, and the frame -> sheets: what may stand in one table.

Nothing is drawn or formatted here. A sheet holds the cells of one profile, one backbone and one kind of data (real
or miniature); data sets of one name but another protocol, split or cut-off are different columns of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmark.execution.record import Record
from benchmark.report.style import dataset_order, method_order

if TYPE_CHECKING:
    import pandas as pd

CELL = ["method", "params", "dataset", "protocol", "bits", "seed", "profile", "backbone"]
STALE = "stale: code or data have changed since; run it again"
VARIANTS = ("dph-f", "dph-w", "dph-q")


def frame(records: Iterable[Record], stale: Collection[str] = ()) -> pd.DataFrame:
    """One row per record, the newest record of each cell marked `current`.

    A current cell whose code has changed since (its key is in `stale`, or its method has a newer result made by
    other code) has the status "stale": it is shown as missing, with that reason, and never mixed in.
    """
    import pandas as pd

    rows = [row(record) for record in records]
    table = pd.DataFrame(_with_known_datasets(rows))
    if table.empty:
        return table
    table = table.sort_values(["ended", "key"], kind="stable")
    table["current"] = ~table.duplicated(CELL, keep="last")
    newest = table.drop_duplicates("method", keep="last").set_index("method")["sources"]
    changed = table["key"].isin(list(stale)) | (table["sources"] != table["method"].map(newest))
    table.loc[changed & table["current"], ["status", "reason"]] = ["stale", STALE]
    table["_method"] = [method_order(m, f) for m, f in zip(table["method"], table["family"], strict=True)]
    table["_dataset"] = [dataset_order(name) for name in table["dataset"]]
    table = table.sort_values(["_dataset", "protocol", "_method", "params", "bits", "seed"], kind="stable")
    return table.drop(columns=["_method", "_dataset"]).reset_index(drop=True)


def _with_known_datasets(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A cell that failed early does not know its data set's title; cells that ran do."""
    known = {row["dataset"]: row for row in rows if row["dataset_title"]}
    for row in rows:
        other = known.get(row["dataset"])
        row["miniature"] = row["miniature"] or bool(other and other["miniature"])
        row["dataset_title"] = other["dataset_title"] if other else row["dataset"]
    return rows


def row(record: Record) -> dict[str, Any]:
    """One record flattened: the cell, what it was made from, its scalar scores, costs and health."""
    cell, metrics = record.cell, record.metrics
    titles, provenance = record.titles, record.provenance
    params = cell.get("params") or {}
    flat = {
        "key": record.key,
        "method": cell["method"],
        "title": titles.get("method") or cell["method"],
        "family": record.family,
        "params": json.dumps(params, sort_keys=True) if params else "",
        "dataset": cell["dataset"],
        "dataset_title": titles.get("dataset") or "",
        "protocol": str(cell.get("protocol") or ""),
        "bits": int(cell["bits"]),
        "seed": int(cell["seed"]),
        "profile": str(cell.get("profile") or ""),
        "backbone": str(cell.get("backbone") or ""),
        "setup": setup(record),
        "revision": record.revision,
        "miniature": record.miniature,
        "status": record.status,
        "reason": record.reason,
        "ended": str(provenance.get("ended") or ""),
        "peak_memory": record.peak_memory,
        "sources": json.dumps(record.parts.get("sources"), sort_keys=True),
        "versions": json.dumps(provenance.get("versions"), sort_keys=True),
        "machine": json.dumps(provenance.get("machine"), sort_keys=True),
    }
    flat |= {name: value for name, value in metrics.items() if not isinstance(value, (Mapping, list))}
    flat |= {f"map_{group}": value for group, value in (metrics.get("map_groups") or {}).items()}
    flat |= {f"seconds_{part}": value for part, value in record.seconds.items()}
    flat |= {f"health_{part}": value for part, value in record.health.items()}
    return flat


def setup(record: Record) -> str:
    """What must agree for two cells to be compared and is in no name: profile values, weights, evaluator."""
    shared = {name: record.parts.get(name) for name in ("profile", "weights", "evaluator")}
    return hashlib.sha256(json.dumps(shared, sort_keys=True, default=str).encode()).hexdigest()[:6]


@dataclass(frozen=True, eq=False)
class Dataset:
    """One column group: a data set under one protocol, split and cut-off."""

    name: str
    title: str
    protocol: str
    revision: str
    miniature: bool
    label: str  # the title, with the protocol where two would be confused

    @property
    def slug(self) -> str:
        """For file names: the name, and what the label adds to the title."""
        return slug(self.name + self.label.removeprefix(self.title))


@dataclass(frozen=True, eq=False)
class Sheet:
    """The current cells that may be compared with each other in one table."""

    profile: str
    backbone: str
    miniature: bool
    cells: pd.DataFrame

    @property
    def slug(self) -> str:
        return slug("-".join(part for part in (self.profile, self.backbone or "features") if part))

    def datasets(self) -> list[Dataset]:
        columns = ["dataset", "dataset_title", "protocol", "revision", "miniature"]
        rows = list(self.cells[columns].drop_duplicates(["dataset", "protocol", "revision"]).itertuples(index=False))
        titles = [row.dataset_title for row in rows]
        found = []
        for row in rows:
            label = title = row.dataset_title
            if row.miniature and "miniature" not in label.lower():
                label = title = f"{label} (miniature)"
            if titles.count(row.dataset_title) > 1:
                label = f"{title}, {row.protocol} {row.revision[:6]}"
            found.append(Dataset(row.dataset, title, row.protocol, row.revision, row.miniature, label))
        return found

    def of(self, dataset: Dataset) -> pd.DataFrame:
        """Cells of one data set, of all methods and parameters."""
        cells = self.cells
        same = (cells["dataset"] == dataset.name) & (cells["protocol"] == dataset.protocol)
        return cells[same & (cells["revision"] == dataset.revision)]

    def only(self, mask: Any) -> Sheet:
        """The same sheet with some of its cells."""
        return Sheet(self.profile, self.backbone, self.miniature, self.cells[mask])


def slug(text: str) -> str:
    """A file name made of lower-case letters, digits and single dashes."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part) or "unnamed"


def sheets(table: pd.DataFrame) -> list[Sheet]:
    """Current cells by profile, backbone and kind of data, the largest sheet first.

    Where one profile or backbone name stands for several setups (an edited profile file, other weights), each
    setup has its own sheet and shows its hash.
    """
    if table.empty:
        return []
    current = table[table["current"]]
    named = ["profile", "backbone", "miniature"]
    setups = current.groupby(named)["setup"].nunique()
    found = []
    for (profile, backbone, miniature, setup), cells in current.groupby([*named, "setup"], sort=False):
        alone = setups[profile, backbone, miniature] == 1
        found.append(Sheet(profile if alone else f"{profile} {setup}", backbone, miniature, cells))
    return sorted(found, key=lambda sheet: -len(sheet.cells))


def defaults(sheet: Sheet) -> Sheet:
    """Only cells with default parameters: what ordinary tables show."""
    return sheet.only(sheet.cells["params"] == "")


def scored(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that ended well."""
    return cells[cells["status"] == "ok"]


def curve_bits(cells: pd.DataFrame) -> int:
    """Bits at which curves are shown: the paper's 64, else the most there are."""
    bits = scored(cells)["bits"] if len(scored(cells)) else cells["bits"]
    return 64 if (bits == 64).any() else int(bits.max())


def well_filled(sheet: Sheet) -> Sheet:
    """Scored cells of those columns (data set x bits) that at least half of the methods have: where ranks mean much."""
    cells = scored(sheet.cells)
    filled = cells.groupby(["dataset", "protocol", "revision", "bits"])["method"].transform("nunique")
    return Sheet(sheet.profile, sheet.backbone, sheet.miniature, cells[2 * filled >= cells["method"].nunique()])


def chance_level(cells: pd.DataFrame) -> float | None:
    """MAP of a random ranking on the data set of these cells."""
    known = cells["chance_map"].dropna().tolist() if "chance_map" in cells else []
    return float(known[0]) if known else None


def methods(cells: pd.DataFrame) -> list[tuple[str, str]]:
    """(name, title) of the methods in the order of the paper."""
    rows = cells[["method", "title", "family"]].drop_duplicates("method").itertuples(index=False, name=None)
    return [(name, title) for name, title, family in sorted(rows, key=lambda row: method_order(row[0], row[2]))]


def mixtures(sheet: Sheet) -> list[str]:
    """What should be one thing in a sheet and is several: said beside its numbers."""
    cells, said = scored(sheet.cells), []
    for column, words in (("versions", "library versions"), ("machine", "machines")):
        if cells[column].nunique() > 1:
            said.append(f"The cells were made under {cells[column].nunique()} different {words} (see provenance).")
    return said
