"""The report: from results alone to tables (csv, md, tex), figures (pdf, png, csv) and one page, index.html.

Importing this costs nothing: pandas and matplotlib are loaded when something has changed and must be rendered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

__all__ = ["render"]
MANIFEST = "manifest.json"


def render(
    store: Any, out: Path, *, force: bool = False, stale: Collection[str] = (), datasets: Collection[Any] = ()
) -> Path:
    """Write the report of all records of `store` into the folder `out`; return the path of its index.html.

    `stale` names keys of records that the present code or data would not make again; they are shown as missing.
    `datasets` are those whose images may be shown; miniatures need not be among them.
    Nothing is done when records, report code and `stale` are those of last time; of the figures only the changed
    ones are redrawn.
    """
    shown, out = Path(out) / "index.html", Path(out).resolve()  # helpers that draw may stand in another folder
    records = list(store.records())
    at_hand = {dataset.revision: dataset for dataset in datasets if not dataset.miniature}
    digest = _digest(records, [*sorted(stale), *sorted(at_hand)])
    manifest = _read_manifest(out)
    if not force and manifest.get("digest") == digest and all((out / name).is_file() for name in manifest["files"]):
        return shown
    from benchmark.report.build import build

    known = {} if force else manifest.get("figures", {})
    files, figures = build(store, records, out, stale=stale, known=known, at_hand=at_hand)
    for name in set(manifest.get("files", [])) - set(files):
        (out / name).unlink(missing_ok=True)  # made by an earlier report, part of none now
    manifest = {"digest": digest, "files": sorted(files), "figures": figures}
    (out / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return shown


def _digest(records: list[Any], others: list[str]) -> str:
    """Changes with any record, with what is stale or at hand, and with the code of the report."""
    here, plain = Path(__file__).parent, [record.as_dict() for record in records]
    sources = [*sorted(here.iterdir()), here.parent / "evaluation" / "statistics.py"]
    digest = hashlib.sha256(json.dumps([plain, others], sort_keys=True, default=str).encode())
    for path in sources:
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _read_manifest(out: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) and isinstance(manifest.get("files"), list) else {}
