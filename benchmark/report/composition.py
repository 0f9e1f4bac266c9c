"""Everything of one report in order: frame, sheets, tables, figures, page. What they contain is decided elsewhere.

A table or figure that cannot be made costs itself and is named on the page, with the reason; never the report.
"""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmark.data.cache import tell
from benchmark.execution.record import Record
from benchmark.report import curve_figures, diagnostics_figures, score_tables, sensitivity_figures
from benchmark.report.display_names import LONGEST_REASON, clean, unique_names
from benchmark.report.drawing import Drawing, draw_figure
from benchmark.report.experiment import experiment_files, setup_paragraphs
from benchmark.report.headline import headline_words
from benchmark.report.looks import Look, assigned_looks
from benchmark.report.page import Page, write_page
from benchmark.report.prominence import dressed, unnamed
from benchmark.report.ranks import rank_figure, rank_tables
from benchmark.report.record_frame import frame_of, readable_rows
from benchmark.report.report_files import Manifest
from benchmark.report.retrievals import gallery_of, retrieval_figure
from benchmark.report.selection import selection_words
from benchmark.report.settings_tables import settings_tables
from benchmark.report.sheets import DatasetColumn, Sheet, defaults, main_sheet, mixtures, scored, sheets
from benchmark.report.stored_arrays import StoredArrays
from benchmark.report.table import Table, document

SUFFIXES = ("pdf", "png", "csv")
PARALLEL_FROM = 8  # figures: fewer are drawn sooner than helpers start
WARM_FROM = 48  # records: helpers of a report of more are started before it is known what they are to draw
_HELPERS = min(os.cpu_count() or 1, 8)
Made = TypeVar("Made")


class Retrievals(NamedTuple):
    """Those of a data set, and where among the figures they belong."""

    sheet: Sheet
    dataset: DatasetColumn
    place: int


class Begun(NamedTuple):
    """Figures that are being drawn."""

    digests: dict[str, str]  # of all, drawn again or not
    todo: list[Drawing]
    reasons: Iterator[str]  # what went wrong with each of those to do, or nothing


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
    highlighted: Sequence[str] = (),
    notes: Sequence[str] = (),
    looks: Mapping[str, Look] | None = None,
) -> tuple[list[str], dict[str, str]]:
    """Write the report; return the files written (relative) and the digest of each figure."""
    ready = _warm_helpers() if len(records) >= WARM_FROM else iter(())
    rows, unshowable = readable_rows(records)
    frame = frame_of(rows, stale)
    looks = looks or assigned_looks({row["method"]: row["family"] for row in rows})
    page = Page(looks=dict(looks))
    page.logged |= {record.key for record in records if record.error and store.has_log(record.key)}
    page.unshown += [(f"record {key}", reason) for key, reason in {**faults, **unshowable}.items()]
    page.warnings += [*selection_words(only, records), *notes]
    stored = StoredArrays(store, records, at_hand)
    found, retrievals = sheets(frame, highlighted), list[Retrievals]()
    page.expected = 2 + sum(expected_attempts(sheet, stored) for sheet in found)  # the setup, its files and its words
    for sheet in found:
        before, plain = len(page.drawings), defaults(sheet)
        retrievals += gather(sheet, stored, page)
        named = main_sheet(plain)
        page.drawings[before:] = dressed(page.drawings[before:], named, looks)
        page.unnamed |= unnamed(named)
    _name_apart(page)
    list(ready)  # what they were started for is over
    drawing = draw_changed(page.drawings, out, known)  # by helpers, while the main process goes on
    files = [*_write_tables(page.tables, out), *_write_setup(page, found, stored, out)]
    add_retrievals(retrievals, stored, page, looks)
    _name_apart(page)
    last = draw_changed([one for one in page.drawings if one.name not in drawing.digests], out, known)
    digests = finish(page, last, drawing)  # few are drawn here, in this process, while the helpers draw the others
    files += [name for one in page.drawings for name in _files(one)]
    write_page(out / "index.html", page, frame, [record for record in records if record.key not in unshowable])
    return [*files, "index.html"], digests


def expected_attempts(sheet: Sheet, stored: StoredArrays) -> int:
    """How often `attempt` is called for a sheet, so that it can be said how far a report is."""
    plain = defaults(sheet)
    if plain.cells.empty:
        return 2
    main, tables = main_sheet(plain), len(score_tables.sheet_tables(plain, stored))
    shown = [dataset for dataset in main.datasets() if len(scored(main.of(dataset)))]
    each = 4 + len(diagnostics_figures.DIAGNOSTICS)  # curves, charts, retrievals and their figure
    return 4 + tables + (4 if shown else 0) + each * len(shown)


def attempt(page: Page, what: str, make: Callable[..., Made], *arguments: Any) -> Made | None:
    """What `make` makes; None, and a line on the page, where one odd record makes it fail."""
    tell("tables and curves", page.tried, max(page.expected, page.tried))
    page.tried += 1
    try:
        return make(*arguments)
    except Exception as error:  # records hold what plugins and people put there: anything can be wrong with them
        page.unshown.append((what, clean(f"{type(error).__name__}: {error}", LONGEST_REASON)))
        return None


def gather(sheet: Sheet, stored: StoredArrays, page: Page) -> list[Retrievals]:
    """Everything of one sheet but its retrievals, which are asked for. Only the figures of sweeps see changed
    parameters."""
    plain, of = defaults(sheet), f"of {sheet.words}"
    page.drawings += attempt(page, f"sensitivity {of}", sensitivity_figures.sensitivity_figures, sheet) or []
    page.drawings += attempt(page, f"sweeps {of}", sensitivity_figures.dataset_figures, plain, stored) or []
    if plain.cells.empty:
        return []
    main = main_sheet(plain)
    for name, make in score_tables.sheet_tables(plain, stored):
        table = attempt(page, f"table {name}", make)
        page.tables += [table] if table else []
    page.tables += attempt(page, f"settings {of}", settings_tables, sheet, stored) or []
    page.warnings += attempt(page, f"mixtures {of}", mixtures, plain) or []
    if not len(scored(main.cells)):
        return []
    page.shared.append((sheet.heading, score_tables.caption(plain)))
    page.tables += attempt(page, f"tests {of}", rank_tables, main, stored) or []
    said = attempt(page, f"headline {of}", headline_words, main, stored)
    page.headlines += [said] if said else []
    page.drawings += attempt(page, f"overview {of}", curve_figures.overview_figure, main) or []
    page.drawings += attempt(page, f"ranks {of}", rank_figure, main) or []
    shown = [dataset for dataset in main.datasets() if len(scored(main.of(dataset)))]
    return [gather_dataset(main, dataset, stored, page) for dataset in shown]


def gather_dataset(sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays, page: Page) -> Retrievals:
    """Figures and charts of one data set."""
    given, of = (sheet, dataset, stored), f"of {dataset.label} ({sheet.words})"
    page.drawings += attempt(page, f"curves {of}", curve_figures.dataset_curves, *given) or []
    for name, make in diagnostics_figures.DIAGNOSTICS.items():
        drawing = attempt(page, f"{name} {of}", make, *given)
        page.drawings += [drawing] if drawing else []
    page.charts += attempt(page, f"charts {of}", curve_figures.explorer_charts, *given) or []
    return Retrievals(sheet, dataset, len(page.drawings))


def add_retrievals(wanted: Sequence[Retrievals], stored: StoredArrays, page: Page, looks: Mapping[str, Look]) -> None:
    """Retrieved images: they take long to be had, and no other figure waits for them."""
    found: list[tuple[int, Drawing]] = []
    for sheet, dataset, place in wanted:
        of = f"of {dataset.label} ({sheet.words})"
        shown = attempt(page, f"retrievals {of}", gallery_of, sheet, dataset, stored)
        if shown is not None:
            page.galleries.append(shown)
            name = f"{dataset.slug}-{sheet.slug}"
            figure = attempt(page, f"retrieved images {of}", retrieval_figure, shown, name)
            found += [(place, one) for one in dressed([figure] if figure else [], sheet, looks)]
    for place, one in reversed(found):
        page.drawings.insert(place, one)


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


def _write_setup(page: Page, found: Sequence[Sheet], stored: StoredArrays, out: Path) -> list[str]:
    """The description of the experiment, which the page shows and links."""
    files = attempt(page, "experimental setup", experiment_files, found, stored.records) or {}
    page.setup = list(files)
    page.setup_words = (attempt(page, "setup", setup_paragraphs, found, stored.records) or []) if files else []
    for name, content in files.items():
        (out / name).write_text(content, encoding="utf-8", errors="replace")
    return list(files)


def _files(drawing: Drawing) -> list[str]:
    return [f"figures/{drawing.name}.{suffix}" for suffix in SUFFIXES]


def draw_changed(drawings: Sequence[Drawing], out: Path, known: Manifest) -> Begun:
    """Begin to draw what is new, changed or damaged."""
    digests = {drawing.name: drawing.digest() for drawing in drawings}
    todo = [
        drawing
        for drawing in drawings
        if known.figures.get(drawing.name) != digests[drawing.name] or not known.whole(out, _files(drawing))
    ]
    return Begun(digests, todo, _drawn_in_order(todo, out / "figures"))


def finish(page: Page, *begun: Begun) -> dict[str, str]:
    """Wait for figures; return name -> digest of all that could be drawn."""
    failed: dict[str, str] = {}
    todo = [drawing for one in begun for drawing in one.todo]
    for number, reason in enumerate(itertools.chain.from_iterable(one.reasons for one in begun)):
        failed |= {todo[number].name: reason} if reason else {}
        tell("drawing figures", number + 1, len(todo))
    page.unshown += [(f"figure {name}", reason) for name, reason in failed.items()]
    page.drawings = [drawing for drawing in page.drawings if drawing.name not in failed]
    return {name: digest for one in begun for name, digest in one.digests.items() if name not in failed}


def _drawn_in_order(todo: Sequence[Drawing], folder: Path) -> Iterator[str]:
    """What went wrong with each, in their order."""
    if len(todo) < PARALLEL_FROM:
        return (drawn(drawing, folder) for drawing in todo)
    return _by_helpers(drawn, [(drawing, folder) for drawing in todo])


def _by_helpers(work: Callable[..., Made], calls: Sequence[tuple[Any, ...]]) -> Iterator[Made]:
    """What it returns, call by call; begun at once. The processes stay for the next calls."""
    from joblib import Parallel, delayed

    found: Iterator[Made] = Parallel(n_jobs=_HELPERS, return_as="generator")(delayed(work)(*one) for one in calls)
    return found


def _warm_helpers() -> Iterator[None]:
    """Each process imports what draws, once: while tables are gathered, not when the first figure waits for it."""
    return _by_helpers(imported_to_draw, [()] * _HELPERS)


def imported_to_draw() -> None:
    for name in ("matplotlib.pyplot", "pandas", "sklearn.manifold"):
        importlib.import_module(name)


def drawn(drawing: Drawing, folder: Path) -> str:
    """Draw; return what went wrong, or nothing."""
    try:
        draw_figure(drawing, folder)
    except OSError:
        raise  # the disk is full or closed: no figure of ours is to blame, and none could be written
    except Exception as error:
        return clean(f"{type(error).__name__}: {error}", LONGEST_REASON)
    return ""
