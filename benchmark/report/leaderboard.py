"""leaderboard.html: one self-contained page over all records that count, a row for each method, data set and set-up.

A row has the mean over its seeds, the card of its method, where it was made, and the command that makes it again. How
the page looks and filters is in the template. Everything that comes from records passes jinja2's autoescape.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.cards.card import card
from benchmark.errors import UsageError
from benchmark.execution.record import CODES_ONLY, Record
from benchmark.execution.store import Store
from benchmark.program import program
from benchmark.registry import get_method, methods
from benchmark.report.display_names import LONGEST_REASON, clean
from benchmark.report.page import origins
from benchmark.report.record_frame import SLOT, frame_of, readable_rows
from benchmark.report.rerun import rerun
from benchmark.report.selection import read_records
from benchmark.report.sheets import setting_words
from benchmark.wording import counted

if TYPE_CHECKING:
    import pandas as pd

FILE = "leaderboard.html"
FILTERS = {  # field of a row -> what its choice is called
    "dataset": "Data set",
    "protocol": "Protocol",
    "backbone": "Backbone",
    "bits": "Bits",
    "needs": "Learns from",
    "settings": "Settings",
}
NEEDS = {"nothing": "no labels", "similarity": "pairs", "triplets": "triplets", "labels": "labels"}
SETTINGS = {"defaults": "not tuned", "shipped": "tuned (shipped)", "tuned": "tuned here", CODES_ONLY: CODES_ONLY}


def write_leaderboard(
    store: Store, out: Path, stale: Collection[str] = (), unchecked: Mapping[str, str] | None = None
) -> Path:
    """Write the page into the folder `out`; `stale` names keys of records that do not count, `unchecked` those of which
    nobody can tell, with the reason."""
    records, faults = read_records(store)
    rows, unshowable = readable_rows(records)
    frame = frame_of(rows, stale)
    known = {record.key: record for record in records}
    made = origins([record for record in records if record.key not in unshowable])
    found = leaderboard_rows(frame, known, made, unchecked or {})
    left = [f"{len(faults) + len(unshowable)} that cannot be read", f"{_count(frame, 'stale')} stale"]
    left.append(f"{len(frame) - _count(frame, 'ok') - _count(frame, 'stale')} without a score")
    page = _template().render(
        rows=found,
        filters=[(name, label, _choices(found, name)) for name, label in FILTERS.items()],
        cards=[_card(name) for name in sorted({row["method"] for row in found})],
        origins=[{**one, "made": _lines(one["made"])} for one in made],
        left=[words for words in left if not words.startswith("0 ")],
        records=sum(len(row["keys"]) for row in found),
        program=program(),
    )
    out.mkdir(parents=True, exist_ok=True)
    half = out / f".{FILE}.part"
    half.write_text(page, encoding="utf-8", errors="replace")
    return half.replace(out / FILE)  # whole, and through nobody's link


def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["counted"] = counted
    return environment.get_template("leaderboard.html.j2")


def _count(frame: pd.DataFrame, status: str) -> int:
    return int((frame["status"] == status).sum()) if len(frame) else 0


def leaderboard_rows(
    frame: pd.DataFrame,
    records: Mapping[str, Record],
    made: Sequence[Mapping[str, Any]] = (),
    unchecked: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """One row for each thing that was run, seeds together, the highest MAP of each data set and length first."""
    if frame.empty:
        return []
    good = frame[frame["current"] & (frame["status"] == "ok")]
    places = {repr(one["made"]): number for number, one in enumerate(made, 1)}
    slot = [*(name for name in SLOT if name != "seed"), "settings", "tuned"]
    told = {key: why for key, why in (unchecked or {}).items() if why}
    rows = [_row(cells, records, places, told) for _, cells in good.groupby(slot, dropna=False, sort=False)]
    order = {label: place for place, label in enumerate(dict.fromkeys(good["dataset_label"]))}
    return sorted(rows, key=lambda row: (order[row["dataset"]], -row["bits"], -row["map"], row["method"]))


def _row(
    cells: pd.DataFrame, records: Mapping[str, Record], places: Mapping[str, int], unchecked: Mapping[str, str]
) -> dict[str, Any]:
    first, own = cells.iloc[0], [records[key] for key in cells["key"]]
    spread = float(cells["map"].std(ddof=1)) if len(cells) > 1 else None
    made = {places.get(repr({name: v for name, v in one.provenance.items() if name != "ended"}), 0) for one in own}
    radius, again = cells.get("precision_at_radius_2"), rerun(own)
    return {
        "method": first["method"],
        "title": first["title"] + setting_words(first["params"]),
        "control": first["family"] == "control",
        "family": first["family"],
        "dataset": first["dataset_label"],
        "protocol": clean(first["protocol"]) or "–",
        "backbone": first["backbone"] or "features as given",
        "bits": int(first["bits"]),
        "needs": _needs(first["method"], own[0]),
        "settings": SETTINGS.get(first["settings"], first["settings"]),
        "profile": first["profile"] or "–",
        "map": float(cells["map"].mean()),
        "spread": spread,
        "k": "all" if not first["k"] or first["k"] != first["k"] else int(first["k"]),
        "radius": None if radius is None or radius.isna().any() else float(radius.mean()),
        "seeds": sorted(int(seed) for seed in cells["seed"]),
        "doubts": clean("; ".join({text for text in cells["doubts"] if text}), LONGEST_REASON),
        "unchecked": clean(
            "; ".join(sorted({unchecked[key] for key in cells["key"] if key in unchecked})), LONGEST_REASON
        ),
        "merged": any("merged" in one.provenance for one in own),
        "made": sorted(made - {0}),
        "keys": [key[:12] for key in cells["key"]],
        "command": clean(again.command, 4000),
        "note": again.note,
        "install": clean(again.install, LONGEST_REASON),
    }


def _needs(method: str, record: Record) -> str:
    """What it learns from, as far as that is known here."""
    needs = record.titles.get("needs")
    if not needs and not record.codes_only and method in methods.names_unloaded():
        needs = get_method(method).info.needs  # records of earlier versions do not say it
    return NEEDS.get(str(needs), "not known")


def _choices(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    found = {row[name] for row in rows}
    return sorted(found) if name == "bits" else sorted(found, key=str)


# What rows lead to


def _card(name: str) -> dict[str, Any]:
    """What a method says of itself, if its file is here."""
    try:
        told = card(get_method(name))
    except UsageError:
        return {"name": name, "title": name, "lines": ["This installation has no file of this method."]}
    papers = [entry.sentence() for entry in told.citations] or ([told.info.paper] if told.info.paper else [])
    lines = [f"{told.info.family}; sees {told.sees}.", *papers, told.formula, *told.notes]
    lines += [f"Differs: {told.differs}"] if told.differs else []
    return {"name": name, "title": told.info.title, "lines": [line for line in lines if line]}


def _lines(made: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Provenance, name by name."""
    lines = []
    for name, value in made.items():
        text = ", ".join(f"{part} {one}" for part, one in value.items()) if isinstance(value, Mapping) else str(value)
        lines.append((clean(name), clean(text, LONGEST_REASON)))
    return lines
