"""Everything of one report in order: frame, sheets, tables, figures, page. What they contain is decided elsewhere."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.report import curves, insight, tables
from benchmark.report.figures import Drawing, draw
from benchmark.report.frame import Sheet, defaults, frame, scored, sheets
from benchmark.report.gallery import Gallery, gallery, retrieval_figure
from benchmark.report.page import write_page
from benchmark.report.payloads import Payloads
from benchmark.report.table import Table, document

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = ("pdf", "png", "csv")
PARALLEL_FROM = 8  # figures: fewer are drawn sooner than helpers start


@dataclass
class Contents:
    """What a report is made of, before anything is written."""

    frame: pd.DataFrame
    tables: list[Table] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    galleries: list[Gallery] = field(default_factory=list)


def build(
    store: Any, records: list[Any], out: Path, *, stale: Collection[str], known: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Write the report; return the files written (relative) and the digest of each figure."""
    contents = Contents(frame(records, stale))
    payloads = Payloads(store, records)
    for sheet in sheets(contents.frame):
        gather(sheet, payloads, contents)
    files = _write_tables(contents.tables, out)
    digests = draw_changed(contents.drawings, out / "figures", known)
    files += [f"figures/{drawing.name}.{suffix}" for drawing in contents.drawings for suffix in SUFFIXES]
    write_page(out / "index.html", contents.tables, contents.drawings)
    return [*files, "index.html"], digests


def gather(sheet: Sheet, payloads: Payloads, contents: Contents) -> None:
    """Tables, drawings and galleries of one sheet. Only the figures of sweeps see changed parameters."""
    plain = defaults(sheet)
    contents.drawings += insight.sensitivity_figures(sheet)
    if plain.cells.empty:
        return
    contents.tables += tables.sheet_tables(plain, payloads)
    main = tables.main_sheet(plain)
    contents.drawings += insight.rank_figure(main)
    for dataset in main.datasets():
        if scored(main.of(dataset)).empty:
            continue
        contents.drawings += curves.dataset_curves(main, dataset, payloads)
        contents.drawings += insight.dataset_insights(main, dataset, payloads)
        shown = gallery(main, dataset, payloads)
        if shown is not None:
            contents.galleries.append(shown)
            figure = retrieval_figure(shown, f"{dataset.slug}-{sheet.slug}")
            contents.drawings += [figure] if figure else []


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
        there = all((folder / f"{drawing.name}.{suffix}").is_file() for suffix in SUFFIXES)
        if not there or known.get(drawing.name) != digests[drawing.name]:
            todo.append(drawing)
    if len(todo) < PARALLEL_FROM:
        for drawing in todo:
            draw(drawing, folder)
    else:
        from joblib import Parallel, delayed

        Parallel(n_jobs=min(os.cpu_count() or 1, 8))(delayed(draw)(drawing, folder) for drawing in todo)
    return digests
