"""The report: from results alone to tables (csv, md, tex), figures (pdf, png, csv) and one page, index.html.

Importing this costs nothing: pandas and matplotlib are loaded when something has changed and must be rendered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.program import program

__all__ = ["render"]


def render(
    store: Any,
    out: Path,
    *,
    force: bool = False,
    stale: Collection[str] = (),
    datasets: Collection[Any] = (),
    only: Mapping[str, Collection[Any]] | None = None,
    highlight: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Write the report of the records of `store` into the folder `out`; return the path of its index.html.

    `stale` names keys of records that the present code, data or settings would not make again: they do not count.
    `datasets` are those whose images may be shown; miniatures need not be among them.
    `only` keeps the records of some methods, data sets, ...: names as in `selection.FILTERS`.
    `highlight` names the methods that strips, t-SNE and retrieved images show.
    `notes` stand at the head of the page.
    Nothing is done when records, report code and arguments are those of last time and every file is as it was
    written; of the figures only the changed ones are redrawn.
    """
    from benchmark.report.report_files import Manifest, code_digest, make_way, remove_old
    from benchmark.report.selection import check_highlight, read_records, selected

    shown, out = Path(out) / "index.html", Path(out).resolve()  # helpers that draw may stand in another folder
    everything, faults = read_records(store)
    records = selected(everything, only or {})
    check_highlight(highlight, records)
    families = {str(record.cell["method"]): record.family for record in everything}  # a look is the folder's, not ours
    at_hand = {dataset.revision: dataset for dataset in datasets if not dataset.miniature}
    filters = {name: sorted(map(str, values)) for name, values in (only or {}).items()}
    asked = [sorted(stale), sorted(at_hand), faults, filters, list(highlight), list(notes), sorted(families), program()]
    content = json.dumps([[record.as_dict() for record in records], asked], sort_keys=True, default=str)
    digest = hashlib.sha256(f"{code_digest()}{content}".encode()).hexdigest()
    before = Manifest.read(out)
    if not force and before.digest == digest and before.whole(out):
        return shown
    from benchmark.report.composition import compose_report
    from benchmark.report.looks import assigned_looks

    make_way(out)
    known, looks = Manifest() if force else before, assigned_looks(families)
    files, figures = compose_report(
        store,
        records,
        out,
        stale=stale,
        known=known,
        at_hand=at_hand,
        faults=faults,
        only=only,
        highlighted=highlight,
        notes=notes,
        looks=looks,
    )
    remove_old(out, set(before.files) - set(files))
    Manifest.of(out, digest, files, figures).write(out)
    return shown
