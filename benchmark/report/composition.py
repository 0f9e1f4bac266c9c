"""Everything of one report in order: frame, sheets, tables, figures, page. What they contain is decided elsewhere.

A table or figure that cannot be made costs itself and is named on the page, with the reason; never the report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from benchmark.execution.record import Record
from benchmark.report import curve_figures, diagnostics_figures, score_tables, sensitivity_figures
from benchmark.report.display_names import LONGEST_REASON, clean, unique_names
from benchmark.report.drawing import Drawing, draw_figure
from benchmark.report.headline import headline_words
from benchmark.report.page import Page, write_page
from benchmark.report.ranks import rank_figure, rank_table
from benchmark.report.record_frame import frame_of, readable_rows
from benchmark.report.report_files import Manifest
from benchmark.report.retrievals import gallery_of, retrieval_figure
from benchmark.report.selection import selection_words
from benchmark.report.sheets import DatasetColumn, Sheet, defaults, main_sheet, mixtures, scored, sheets
from benchmark.report.stored_arrays import StoredArrays
from benchmark.report.table import Table, document

SUFFIXES = ("pdf", "png", "csv")
PARALLEL_FROM = 8  # figures: fewer are drawn sooner than helpers start
Made = TypeVar("Made")


def compose_report(
    store: Any,
    records: list[Record],
    out: Path,
    *,
    stale: Collection[str],
    known: Manifest,
    at_hand: Mapping[str, Any],
    faults: Mapping[str, str],
    only: Mapping[str, Collection[Any]] | None,
) -> tuple[list[str], dict[str, str]]:
    """Write the report; return the files written (relative) and the digest of each figure."""
    rows, unshowable = readable_rows(records)
    frame, page = frame_of(rows, stale), Page()
    page.unshown += [(f"record {key}", reason) for key, reason in {**faults, **unshowable}.items()]
    page.warnings += selection_words(only)
    stored = StoredArrays(store, records, at_hand)
    for sheet in sheets(frame):
        gather(sheet, stored, page)
    _name_apart(page)
    files = _write_tables(page.tables, out)
    digests = draw_changed(page, out, known)
    files += [name for drawing in page.drawings for name in _files(drawing)]
    write_page(out / "index.html", page, frame, [record for record in records if record.key not in unshowable])
    return [*files, "index.html"], digests


def attempt(page: Page, what: str, make: Callable[..., Made], *arguments: Any) -> Made | None:
    """What `make` makes; None, and a line on the page, where one odd record makes it fail."""
    try:
        return make(*arguments)
    except Exception as error:  # records hold what plugins and people put there: anything can be wrong with them
        page.unshown.append((what, clean(f"{type(error).__name__}: {error}", LONGEST_REASON)))
        return None


def gather(sheet: Sheet, stored: StoredArrays, page: Page) -> None:
    """Everything of one sheet. Only the figures of sweeps see changed parameters."""
    plain, of = defaults(sheet), f"of {sheet.words}"
    page.drawings += attempt(page, f"sensitivity {of}", sensitivity_figures.sensitivity_figures, sheet) or []
    page.drawings += attempt(page, f"sweeps {of}", sensitivity_figures.dataset_figures, plain) or []
    if plain.cells.empty:
        return
    main = main_sheet(plain)
    for name, make in score_tables.sheet_tables(plain, stored):
        table = attempt(page, f"table {name}", make)
        page.tables += [table] if table else []
    page.warnings += attempt(page, f"mixtures {of}", mixtures, plain) or []
    if not len(scored(main.cells)):
        return
    table = attempt(page, f"ranks {of}", lambda: rank_table(main, stored, name=f"ranks-{sheet.slug}"))
    page.tables += [table] if table else []
    said = attempt(page, f"headline {of}", headline_words, main, stored)
    page.headlines += [said] if said else []
    page.drawings += attempt(page, f"ranks {of}", rank_figure, main) or []
    for dataset in main.datasets():
        if len(scored(main.of(dataset))):
            gather_dataset(main, dataset, stored, page)


def gather_dataset(sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays, page: Page) -> None:
    """Figures, charts and retrievals of one data set."""
    given, of = (sheet, dataset, stored), f"of {dataset.label} ({sheet.words})"
    page.drawings += attempt(page, f"curves {of}", curve_figures.dataset_curves, *given) or []
    for name, make in diagnostics_figures.DIAGNOSTICS.items():
        drawing = attempt(page, f"{name} {of}", make, *given)
        page.drawings += [drawing] if drawing else []
    page.charts += attempt(page, f"charts {of}", curve_figures.explorer_charts, *given) or []
    shown = attempt(page, f"retrievals {of}", gallery_of, *given)
    if shown is not None:
        page.galleries.append(shown)
        figure = attempt(page, f"retrieved images {of}", retrieval_figure, shown, f"{dataset.slug}-{sheet.slug}")
        page.drawings += [figure] if figure else []


def _name_apart(page: Page) -> None:
    """No two tables and no two figures share a file."""
    tables, drawings = (unique_names(one.name for one in group) for group in (page.tables, page.drawings))
    page.tables = [replace(table, name=name) for table, name in zip(page.tables, tables, strict=True)]
    page.drawings = [replace(drawing, name=name) for drawing, name in zip(page.drawings, drawings, strict=True)]


def _write_tables(all_tables: list[Table], out: Path) -> list[str]:
    folder = out / "tables"
    written = [path for table in all_tables for path in table.write(folder)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "all.tex").write_text(document(all_tables), encoding="utf-8")
    return [path.relative_to(out).as_posix() for path in [*written, folder / "all.tex"]]


def _files(drawing: Drawing) -> list[str]:
    return [f"figures/{drawing.name}.{suffix}" for suffix in SUFFIXES]


def draw_changed(page: Page, out: Path, known: Manifest) -> dict[str, str]:
    """Draw what is new, changed or damaged; return name -> digest of all that could be drawn."""
    digests = {drawing.name: drawing.digest() for drawing in page.drawings}
    todo = [
        drawing
        for drawing in page.drawings
        if known.figures.get(drawing.name) != digests[drawing.name] or not known.whole(out, _files(drawing))
    ]
    if len(todo) < PARALLEL_FROM:
        reasons = [drawn(drawing, out / "figures") for drawing in todo]
    else:
        from joblib import Parallel, delayed

        helpers = Parallel(n_jobs=min(os.cpu_count() or 1, 8))
        reasons = helpers(delayed(drawn)(drawing, out / "figures") for drawing in todo)
    failed = {drawing.name: reason for drawing, reason in zip(todo, reasons, strict=True) if reason}
    page.unshown += [(f"figure {name}", reason) for name, reason in failed.items()]
    page.drawings = [drawing for drawing in page.drawings if drawing.name not in failed]
    return {name: digest for name, digest in digests.items() if name not in failed}


def drawn(drawing: Drawing, folder: Path) -> str:
    """Draw; return what went wrong, or nothing."""
    try:
        draw_figure(drawing, folder)
    except OSError:
        raise  # the disk is full or closed: no figure of ours is to blame, and none could be written
    except Exception as error:
        return clean(f"{type(error).__name__}: {error}", LONGEST_REASON)
    return ""
