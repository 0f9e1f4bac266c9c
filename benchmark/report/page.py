"""index.html: one self-contained page. Here its data are gathered; how it looks and behaves is in the template.

Everything that comes from plugins passes jinja2's autoescape, in HTML and in the embedded JSON alike.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.execution.record import Record
from benchmark.program import typed
from benchmark.report.display_names import LONGEST_REASON, clean
from benchmark.report.drawing import Drawing, mark_outline
from benchmark.report.looks import Look
from benchmark.report.retrievals import TOP, Gallery
from benchmark.report.table import Table, spread_text, to_latex
from benchmark.wording import counted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

IMAGE_BUDGET = 3_000_000  # bytes of retrieved images in the page, so that it stays under 8 MB
LINKED_ONLY = ("radius-", "recall-", "top-n-", "map-")  # shown by strips and overview; alone they are only linked
LONGEST_LINE = 500  # letters of a line of a traceback
KINDS = ("Scores", "Ranks and tests")  # of tables; the others follow as they come
WIDE = ("strip", "training", "top10")
AUDITED = {
    "classes": "Classes",
    "overlap": "Queries that are database rows too",
    "same_features": "Queries with the features of a database row",
    "train_in_query": "Training rows that are queries",
    "train_outside_database": "Training rows outside the database",
    "similar_pairs": "Fraction of similar training pairs",
    "chance_map": "MAP of a random ranking",
    "map_cutoff": "k of MAP@k",
}


AUDIT_LINES = ("errors", "warnings", "notes")


@dataclass
class Page:
    """What stands on the page, in plain values."""

    headlines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    galleries: list[Gallery] = field(default_factory=list)
    charts: list[dict[str, Any]] = field(default_factory=list)
    unshown: list[tuple[str, str]] = field(default_factory=list)  # what could not be shown, and why
    shared: list[tuple[str, str]] = field(default_factory=list)  # sheet -> what the captions of its tables share
    logged: set[str] = field(default_factory=set)  # keys of failed cells whose log is in the results folder
    looks: dict[str, Look] = field(default_factory=dict)
    unnamed: set[str] = field(default_factory=set)  # methods that begin unticked in the explorer
    setup: list[str] = field(default_factory=list)  # files that describe the experiment
    setup_words: list[str] = field(default_factory=list)  # what they say
    tried: int = 0  # pieces that were gathered, made or not
    expected: int = 0  # how many there will be


def write_page(path: Path, page: Page, frame: pd.DataFrame, records: list[Record]) -> None:
    """Render the template."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["spread"] = spread_text
    environment.globals["counted"] = counted
    audited = list(audits(records, frame, page.unshown))
    html = environment.get_template("page.html.j2").render(
        page=page,
        latex={table.name: to_latex(table) for table in page.tables},
        heads={table.name: head_rows(table) for table in page.tables},
        figures=[figure_entry(drawing, path.parent) for drawing in page.drawings],
        browser=list(browser(page.galleries)),
        charts=page.charts,
        kinds=table_kinds(page.tables),
        looks={method: _look_of_charts(look) for method, look in page.looks.items()},
        unnamed=sorted(page.unnamed),
        problems=problems(frame, {record.key: record for record in records}, page.logged),
        stale=stale_results(frame),
        audits=audited,
        provenance=origins(records),
        cells=len(frame),
        setup_words=page.setup_words,
    )
    path.write_text(html, encoding="utf-8", errors="replace")


def _look_of_charts(look: Look) -> dict[str, Any]:
    return {"color": look.color, "dash": list(look.dash), "mark": mark_outline(look), "filled": look.filled}


def table_kinds(tables: list[Table]) -> dict[str, list[Table]]:
    """Tables by kind: those of one kind are folded behind tabs."""
    names = dict.fromkeys([*KINDS, *(table.kind for table in tables)])
    found = {name: [table for table in tables if table.kind == name] for name in names}
    return {name: group for name, group in found.items() if group}


def head_rows(table: Table) -> list[tuple[str, int]]:
    """Group headings with the number of columns each spans."""
    spans: list[tuple[str, int]] = []
    for column in table.columns:
        if spans and spans[-1][0] == column.group:
            spans[-1] = (column.group, spans[-1][1] + 1)
        else:
            spans.append((column.group, 1))
    return spans if any(group for group, _ in spans) else []


def figure_entry(drawing: Drawing, folder: Path) -> dict[str, Any]:
    """A figure as the template wants it, with its image unless it is only linked."""
    source = ""
    if not drawing.name.startswith(LINKED_ONLY):
        content = (folder / "figures" / f"{drawing.name}.png").read_bytes()
        source = f"data:image/png;base64,{base64.b64encode(content).decode()}"
    shown: dict[str, Any] = {"name": drawing.name, "title": drawing.title, "alt": drawing.alt, "note": drawing.note}
    shown["opens"] = drawing.kind == "overview"  # the page begins with it
    wide = drawing.name.startswith(WIDE) or bool(drawing.options.get("wide"))
    return shown | {"wide": wide, "source": source}


# --- the retrieval browser ---------------------------------------------------------------------------------


def browser(galleries: list[Gallery]) -> Iterator[dict[str, Any]]:
    """Each gallery as JSON, with as many queries as its share of the image budget allows."""
    budget = IMAGE_BUDGET / max(1, len(galleries))
    for shown in galleries:
        images: dict[str, str] = {}
        queries: list[dict[str, Any]] = []
        spent = 0
        for place, query in enumerate(shown.queries):
            new = {name: _data_uri(image) for name, image in _pictures(shown, place) if name not in images}
            size = sum(map(len, new.values()))
            if spent + size > budget and queries:
                break
            images |= new
            spent += size
            queries.append({"id": f"q{query}", "name": shown.query_names[place], "results": _results(shown, place)})
        items = {result["id"] for query in queries for rows in query["results"].values() for result in rows}
        yield {
            "label": shown.sheet.titled(f"{shown.dataset.label}, {shown.bits} bits{shown.of_seed}"),
            "sheet": shown.sheet.slug,
            "methods": [{"name": name, "title": title} for name, title in shown.methods],
            "lead": shown.lead,
            "queries": queries,
            "names": {f"d{item}": name for item, name in shown.item_names.items() if f"d{item}" in items},
            "images": images,
            "why": shown.why_no_images,
            "top": TOP,
        }


def _pictures(shown: Gallery, place: int) -> Iterator[tuple[str, np.ndarray]]:
    query = shown.queries[place]
    if query in shown.query_images:
        yield f"q{query}", shown.query_images[query]
    for items in shown.items.values():
        yield from (
            (f"d{item}", shown.item_images[int(item)]) for item in items[place] if int(item) in shown.item_images
        )


def _results(shown: Gallery, place: int) -> dict[str, list[dict[str, Any]]]:
    return {
        method: [
            {"id": f"d{item}", "hit": bool(hit)}
            for item, hit in zip(items[place], shown.hits[method][place], strict=True)
        ]
        for method, items in shown.items.items()
    }


def _data_uri(image: np.ndarray) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "WEBP", quality=85)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"


# --- failures, audits, provenance --------------------------------------------------------------------------


def problems(frame: pd.DataFrame, records: Mapping[str, Record], logged: Collection[str] = ()) -> list[dict[str, Any]]:
    """Shown cells without a score, those alike in one row, with the whole traceback of the first of them."""
    if frame.empty:
        return []
    bad = frame[frame["shown"] & (frame["status"] != "ok")]
    groups = bad.groupby(["title", "dataset_label", "profile", "status", "reason"], sort=False)
    return [
        dict(zip(("method", "dataset", "profile", "status", "reason"), key, strict=True))
        | {"bits": ", ".join(str(b) for b in sorted(cells["bits"].unique())), "count": len(cells)}
        | {"traceback": _traceback(records.get(cells["key"].iloc[0])), "key": clean(cells["key"].iloc[0])[:12]}
        | {"logged": cells["key"].iloc[0] in logged, "why": typed(["why", clean(cells["key"].iloc[0])[:12]])}
        for key, cells in groups
    ]


def _traceback(record: Record | None) -> str:
    """Line by line as it was, but for what a page cannot hold."""
    told = str(((record and record.error) or {}).get("traceback") or "")
    lines = [(line[: len(line) - len(line.lstrip(" "))], clean(line, LONGEST_LINE)) for line in told.splitlines()]
    return "\n".join(f"{indent}{words}" for indent, words in lines)


def stale_results(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Records that do not count and are not even a dash in a table."""
    if frame.empty:
        return []
    groups = frame[~frame["shown"]].groupby(["title", "dataset_label", "profile"], sort=False)
    return [
        dict(zip(("method", "dataset", "profile"), key, strict=True)) | {"count": len(cells)} for key, cells in groups
    ]


def audits(records: list[Record], frame: pd.DataFrame, unshown: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """The audit of each split that stands in the report, once."""
    shown = frame[frame["shown"]] if len(frame) else frame
    labels = dict(zip(shown["key"], shown["dataset_label"], strict=True)) if len(shown) else {}
    seen: set[str] = set()
    for record in records:
        label = labels.get(record.key, "")
        if not record.audit or not label or label in seen:
            continue
        try:
            found = _audit(record, label)
        except Exception as error:  # an odd audit costs itself
            unshown.append((f"audit of {label}", clean(f"{type(error).__name__}: {error}", LONGEST_REASON)))
            continue
        seen.add(label)
        yield found


def _audit(record: Record, label: str) -> dict[str, Any]:
    audit = record.audit
    counts = ((audit.get("parts") or {}).get("train") or {}).get("class_counts") or []
    return {
        "title": label,
        "protocol": clean(record.cell.get("protocol") or ""),
        "revision": clean(record.revision),
        "parts": {clean(name): _audited_part(part) for name, part in (audit.get("parts") or {}).items()},
        "facts": [(label, _plain(audit[key])) for key, label in AUDITED.items() if audit.get(key) is not None],
        "groups": {clean(name): len(members) for name, members in (audit.get("groups") or {}).items()},
        "histogram": sorted((int(count) for count in counts), reverse=True),
        **{kind: [clean(line, LONGEST_REASON) for line in audit.get(kind) or []] for kind in AUDIT_LINES},
    }


def _audited_part(part: Mapping[str, Any]) -> list[str]:
    """Rows, duplicates, rows without a label, labels per row."""
    return [_plain(part.get(name)) for name in ("rows", "duplicates", "unlabelled", "labels_per_row")]


def _plain(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else clean(value)


def origins(records: list[Record]) -> list[dict[str, Any]]:
    """Where cells were made: one row per distinct machine, versions, threads and commit."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        made = dict(record.provenance)
        ended = clean(made.pop("ended", ""))
        row = found.setdefault(repr(made), {"made": made, "count": 0, "first": ended, "last": ended})
        row["count"] += 1
        row["first"], row["last"] = min(row["first"], ended), max(row["last"], ended)
    return list(found.values())
