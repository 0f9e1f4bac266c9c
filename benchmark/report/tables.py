"""What each table of a report says: sheet -> Table. How a table is written is the business of table.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmark.report.frame import VARIANTS, Dataset, Sheet
from benchmark.report.payloads import Payloads
from benchmark.report.table import DASH, Column, Entry, Table, number, text
from benchmark.statistics import holm, permutation_test

if TYPE_CHECKING:
    import pandas as pd

SURE, VERY_SURE = 0.05, 0.01
MARKS = f"* best differs from the runner-up, p < {SURE} (** p < {VERY_SURE}): paired permutation test on per-query AP, Holm-corrected over the table"


def caption(sheet: Sheet, datasets: Sequence[Dataset]) -> str:
    """How the numbers were made: data sets with split and k, conventions, seeds, backbone, profile."""
    cells = sheet.cells[sheet.cells["status"] == "ok"]
    parts = []
    for dataset in datasets:
        k = cutoffs(sheet.of(dataset))
        kind = "miniature, " if dataset.miniature else ""
        split = f"protocol {dataset.protocol}, split {dataset.revision[:8]}"
        parts.append(f"{dataset.label} ({kind}{split}, k = {k})")
    seeds = sorted(cells["seed"].unique().tolist())
    return (
        f"{'; '.join(parts)}. Ties: {_words(cells, 'ties')}; denominator: {_words(cells, 'denominator')}; "
        f"queries without a hit: {_words(cells, 'empty')}; seeds: {', '.join(map(str, seeds)) or DASH}; "
        f"backbone: {sheet.backbone or 'none (given features)'}; profile: {sheet.profile}."
    )


def cutoffs(cells: pd.DataFrame) -> str:
    if "k" not in cells:
        return DASH
    return ", ".join(str(int(k)) for k in sorted(cells["k"].dropna().unique())) or DASH


def _words(cells: pd.DataFrame, column: str) -> str:
    if column not in cells:
        return DASH
    return ", ".join(str(value) for value in cells[column].dropna().unique()) or DASH


def methods(cells: pd.DataFrame) -> list[tuple[str, str]]:
    """(name, title) of the methods, in the order of the frame."""
    pairs = cells[["method", "title"]].drop_duplicates("method")
    from benchmark.report.style import method_order

    family = dict(zip(cells["method"], cells["family"], strict=True))
    rows = list(pairs.itertuples(index=False, name=None))
    return sorted(rows, key=lambda row: method_order(row[0], family[row[0]]))


def score_entry(cells: pd.DataFrame, column: str = "map") -> Entry:
    """Mean over seeds, its spread where there are several, or a dash and why."""
    scored = cells[cells["status"] == "ok"]
    values = scored[column].dropna().astype(float).to_numpy() if column in scored else np.array([])
    if not len(values):
        reasons = [reason for reason in cells["reason"] if reason]
        return Entry(DASH, None, note=reasons[0] if reasons else "not run")
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return number(float(values.mean()), 4, spread=spread, note=_doubt(cells, scored))


def _doubt(cells: pd.DataFrame, scored: pd.DataFrame) -> str:
    """A remark on a score that must not be read alone."""
    if "health_collapsed" in scored and (scored["health_collapsed"] == True).any():  # noqa: E712 (may hold nan)
        return "codes collapsed: (nearly) all items share one code"
    missing = cells[cells["status"] != "ok"]
    return f"{len(scored)} of {len(cells)} seeds; {missing['reason'].iloc[0]}" if len(missing) else ""


def rank_places(entries: Sequence[Entry]) -> list[Entry]:
    """Mark the best and the second, with all ties at the printed precision."""
    printed = [float(entry.text) if entry.value is not None else -math.inf for entry in entries]
    order = sorted({value for value in printed if value > -math.inf}, reverse=True)
    from dataclasses import replace

    places = {value: place for place, value in enumerate(order[:2], start=1)} if len(printed) > 1 else {}
    return [replace(entry, place=places.get(value, 0)) for entry, value in zip(entries, printed, strict=True)]


def map_table(
    sheet: Sheet, payloads: Payloads, *, name: str, title: str, chance: bool = True
) -> Table | None:
    """MAP@k per method x bits x data set: best bold, second underlined, sure winners marked."""
    datasets = sheet.datasets()
    rows = methods(sheet.cells)
    columns, blocks, tests = [Column("Method", numeric=False)], [], []
    for dataset in datasets:
        cells = sheet.of(dataset)
        for bits in sorted(cells["bits"].unique()):
            of_bits = cells[cells["bits"] == bits]
            groups = [of_bits[of_bits["method"] == method] for method, _ in rows]
            columns.append(Column(f"{bits} bits", dataset.label))
            blocks.append(rank_places([score_entry(group) for group in groups]))
            tests.append(_lead(groups, blocks[-1], payloads))
    blocks = _mark_winners(blocks, tests)
    body = [[text(title_), *(block[i] for block in blocks)] for i, (_, title_) in enumerate(rows)]
    rules = [len(body)] if chance else []
    body += [_chance_row(sheet, datasets)] if chance else []
    remarks = [MARKS] if any(entry.mark for row in body for entry in row) else []
    return Table(name, title, "MAP@k. " + caption(sheet, datasets), columns, body, rules, remarks)


def _lead(groups: list[pd.DataFrame], entries: list[Entry], payloads: Payloads) -> float | None:
    """p of the best against the runner-up by per-query AP; None where there is no single best or no AP."""
    best = [i for i, entry in enumerate(entries) if entry.place == 1]
    second = [i for i, entry in enumerate(entries) if entry.place == 2]
    if len(best) != 1 or not second:
        return None
    ok = [groups[i][groups[i]["status"] == "ok"] for i in (best[0], second[0])]
    a, b = (payloads.mean(cells, "ap") for cells in ok)
    if a is None or b is None or a.shape != b.shape:
        return None
    return permutation_test(a, b)


def _mark_winners(blocks: list[list[Entry]], tests: list[float | None]) -> list[list[Entry]]:
    from dataclasses import replace

    made = [p for p in tests if p is not None]
    adjusted = iter(holm(made)) if made else iter(())
    marked = []
    for block, p in zip(blocks, tests, strict=True):
        q = next(adjusted) if p is not None else 1.0
        mark = "**" if q < VERY_SURE else "*" if q < SURE else ""
        marked.append([replace(entry, mark=mark if entry.place == 1 else "") for entry in block])
    return marked


def _chance_row(sheet: Sheet, datasets: Sequence[Dataset]) -> list[Entry]:
    entries = [text("Chance")]
    for dataset in datasets:
        cells = sheet.of(dataset)
        for bits in sorted(cells["bits"].unique()):
            of_bits = cells[cells["bits"] == bits]
            known = of_bits["chance_map"].dropna() if "chance_map" in of_bits else []
            entries.append(number(float(known.iloc[0]) if len(known) else None))
    return entries


def main_sheet(sheet: Sheet) -> Sheet:
    """Without the ablation's variants and the balanced sets, which have tables of their own."""
    cells = sheet.cells
    return sheet.only(~cells["method"].isin(VARIANTS) & ~cells["dataset"].str.contains("balanced"))
