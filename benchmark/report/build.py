"""Everything of one report in order: frame, sheets, tables, figures, page. What they contain is decided elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from benchmark.report import curves, tables
from benchmark.report.figures import Drawing, draw
from benchmark.report.frame import defaults, frame, sheets
from benchmark.report.page import write_page
from benchmark.report.payloads import Payloads
from benchmark.report.table import Table, document


def build(
    store: Any, records: list[Any], out: Path, *, stale: Collection[str], known: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Write the report; return the files written (relative) and the digest of each figure."""
    table = frame(records, stale)
    payloads = Payloads(store, records)
    all_tables: list[Table] = []
    drawings: list[Drawing] = []
    for sheet in sheets(table):
        plain = tables.main_sheet(defaults(sheet))
        if plain.cells.empty:
            continue
        all_tables.append(tables.map_table(plain, payloads, name=f"map-{sheet.slug}", title="MAP"))
        for dataset in plain.datasets():
            if (plain.of(dataset)["status"] == "ok").any():
                drawings += curves.dataset_curves(plain, dataset, payloads)
    files = _write_tables(all_tables, out)
    digests = draw_changed(drawings, out / "figures", known)
    files += [f"figures/{drawing.name}.{suffix}" for drawing in drawings for suffix in ("pdf", "png", "csv")]
    write_page(out / "index.html", all_tables, drawings)
    return [*files, "index.html"], digests


def _write_tables(all_tables: list[Table], out: Path) -> list[str]:
    folder = out / "tables"
    written = [path for table in all_tables for path in table.write(folder)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "all.tex").write_text(document(all_tables), encoding="utf-8")
    return [path.relative_to(out).as_posix() for path in [*written, folder / "all.tex"]]


def draw_changed(drawings: list[Drawing], folder: Path, known: Mapping[str, str]) -> dict[str, str]:
    """Draw what is new or changed; return name -> digest of all."""
    digests = {drawing.name: drawing.digest() for drawing in drawings}
    todo = []
    for drawing in drawings:
        there = all((folder / f"{drawing.name}.{suffix}").is_file() for suffix in ("pdf", "png", "csv"))
        if not there or known.get(drawing.name) != digests[drawing.name]:
            todo.append(drawing)
    for drawing in todo:
        draw(drawing, folder)
    return digests
