"""index.html: one self-contained page."""

from __future__ import annotations

import base64
import html
from pathlib import Path

from benchmark.report.figures import Drawing
from benchmark.report.table import Table, to_markdown


def write_page(path: Path, tables: list[Table], drawings: list[Drawing]) -> None:
    parts = ["<!doctype html><html lang='en'><meta charset='utf-8'><title>hashbench report</title>"]
    parts += [] if tables else ["<p>No results yet.</p>"]
    parts += [f"<pre>{html.escape(to_markdown(table))}</pre>" for table in tables]
    for drawing in drawings:
        png = base64.b64encode((path.parent / "figures" / f"{drawing.name}.png").read_bytes()).decode()
        parts.append(f"<img alt='{html.escape(drawing.alt)}' src='data:image/png;base64,{png}'>")
    path.write_text("\n".join(parts), encoding="utf-8")
