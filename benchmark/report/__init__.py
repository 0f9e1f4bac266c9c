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


def render(store: Any, out: Path, *, force: bool = False, stale: Collection[str] = ()) -> Path:
    """Write the report of all records of `store` into the folder `out`; return the path of its index.html.

    `stale` names keys of records that the present code or data would not make again; they are shown as missing.
    Nothing is done when records, report code and `stale` are those of last time; of the figures only the changed
    ones are redrawn.
    """
    out = Path(out)
    records = list(store.records())
    digest = _digest(records, stale)
    manifest = _read_manifest(out)
    index = out / "index.html"
    if not force and manifest.get("digest") == digest and all((out / name).is_file() for name in manifest["files"]):
        return index
    from benchmark.report.build import build

    known = {} if force else manifest.get("figures", {})
    files, figures = build(store, records, out, stale=stale, known=known)
    for name in set(manifest.get("files", [])) - set(files):
        (out / name).unlink(missing_ok=True)  # made by an earlier report, part of none now
    manifest = {"digest": digest, "files": sorted(files), "figures": figures}
    (out / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return index


def _digest(records: list[Any], stale: Collection[str]) -> str:
    """Changes with any record, with what is stale, and with the code of the report."""
    here = Path(__file__).parent
    sources = [*sorted(here.iterdir()), here.parent / "statistics.py", here.parent / "compare.py"]
    digest = hashlib.sha256(json.dumps([records, sorted(stale)], sort_keys=True, default=str).encode())
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
