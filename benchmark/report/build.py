"""Everything of one report in order: frame, sheets, tables, figures, page. What they contain is decided elsewhere."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from benchmark.report import curves, insight, tables
from benchmark.report.figures import Drawing, draw
from benchmark.report.frame import Dataset, Sheet, defaults, frame, mixtures, scored, sheets
from benchmark.report.gallery import gallery, retrieval_figure
from benchmark.report.headline import headline
from benchmark.report.page import Page, write_page
from benchmark.report.payloads import Payloads
from benchmark.report.table import Table, document

SUFFIXES = ("pdf", "png", "csv")
PARALLEL_FROM = 8  # figures: fewer are drawn sooner than helpers start


def build(
    store: Any,
    records: list[Any],
    out: Path,
    *,
    stale: Collection[str],
    known: Mapping[str, str],
    at_hand: Mapping[str, Any],
) -> tuple[list[str], dict[str, str]]:
    """Write the report; return the files written (relative) and the digest of each figure."""
    table, page = frame(records, stale), Page()
    payloads = Payloads(store, records, at_hand)
    for sheet in sheets(table):
        gather(sheet, payloads, page)
    files = _write_tables(page.tables, out)
    digests = draw_changed(page.drawings, out / "figures", known)
    files += [f"figures/{drawing.name}.{suffix}" for drawing in page.drawings for suffix in SUFFIXES]
    write_page(out / "index.html", page, table, records)
    return [*files, "index.html"], digests


def gather(sheet: Sheet, payloads: Payloads, page: Page) -> None:
    """Everything of one sheet. Only the figures of sweeps see changed parameters."""
    plain = defaults(sheet)
    page.drawings += insight.sensitivity_figures(sheet)
    if plain.cells.empty:
        return
    page.tables += tables.sheet_tables(plain, payloads)
    page.warnings += mixtures(plain)
    main = tables.main_sheet(plain)
    if len(scored(main.cells)):
        page.headlines.append(headline(main, payloads))
    page.drawings += insight.rank_figure(main)
    for dataset in main.datasets():
        if len(scored(main.of(dataset))):
            gather_dataset(main, dataset, payloads, page)


def gather_dataset(sheet: Sheet, dataset: Dataset, payloads: Payloads, page: Page) -> None:
    """Figures, charts and retrievals of one data set."""
    page.drawings += curves.dataset_curves(sheet, dataset, payloads)
    page.drawings += insight.dataset_insights(sheet, dataset, payloads)
    page.charts += curves.explorer_charts(sheet, dataset, payloads)
    shown = gallery(sheet, dataset, payloads)
    if shown is not None:
        page.galleries.append(shown)
        figure = retrieval_figure(shown, f"{dataset.slug}-{sheet.slug}")
        page.drawings += [figure] if figure else []


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
