"""The report: from results alone to tables (csv, md, tex), figures (pdf, png, csv) and one page, index.html.

Importing this costs nothing: pandas and matplotlib are loaded when something has changed and must be rendered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

__all__ = ["render"]


def render(
    store: Any,
    out: Path,
    *,
    force: bool = False,
    stale: Collection[str] = (),
    datasets: Collection[Any] = (),
    only: Mapping[str, Collection[Any]] | None = None,
) -> Path:
    """Write the report of the records of `store` into the folder `out`; return the path of its index.html.

    `stale` names keys of records that the present code, data or settings would not make again: they do not count.
    `datasets` are those whose images may be shown; miniatures need not be among them.
    `only` keeps the records of some methods, data sets, ...: names as in `selection.FILTERS`.
    Nothing is done when records, report code and arguments are those of last time and every file is as it was
    written; of the figures only the changed ones are redrawn.
    """
    from benchmark.report.report_files import Manifest, code_digest, make_way, remove_old
    from benchmark.report.selection import read_records, selected

    shown, out = Path(out) / "index.html", Path(out).resolve()  # helpers that draw may stand in another folder
    records, faults = read_records(store)
    records = selected(records, only or {})
    at_hand = {dataset.revision: dataset for dataset in datasets if not dataset.miniature}
    asked = [sorted(stale), sorted(at_hand), faults, {name: sorted(map(str, v)) for name, v in (only or {}).items()}]
    content = json.dumps([[record.as_dict() for record in records], asked], sort_keys=True, default=str)
    digest = hashlib.sha256(f"{code_digest()}{content}".encode()).hexdigest()
    before = Manifest.read(out)
    if not force and before.digest == digest and before.whole(out):
        return shown
    from benchmark.report.composition import compose_report

    make_way(out)
    known = Manifest() if force else before
    files, figures = compose_report(
        store, records, out, stale=stale, known=known, at_hand=at_hand, faults=faults, only=only
    )
    remove_old(out, set(before.files) - set(files))
    Manifest.of(out, digest, files, figures).write(out)
    return shown
