"""Results against results, and results against published numbers: what `compare` prints.

A difference is given only between numbers measured alike; where they were not, the reason stands in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmark.report.published import MINIATURE, measured_alike, printed_for, published, why_not_comparable
from benchmark.wording import counted

if TYPE_CHECKING:
    import pandas as pd

CONVENTIONS = ("revision", "k", "ties", "denominator", "empty")
SURE = 0.05


@dataclass(frozen=True)
class Comparison:
    """One cell in two places. `difference` is b - a, and `p` (Holm-corrected) tests it where queries can be paired."""

    method: str
    params: str
    dataset: str
    bits: int
    seed: int | None
    a: float
    b: float
    difference: float | None
    p: float | None
    reason: str  # why there is no difference
    note: str = ""  # where a published number is from, and what is doubtful about it


def compare_results(a: Any, b: Any, stale_a: Collection[str] = (), stale_b: Collection[str] = ()) -> list[Comparison]:
    """Cells that two stores share, whatever code made them; a stale result only where there is no other of its cell."""
    from benchmark.evaluation.statistics import holm
    from benchmark.report.record_frame import CELL

    left, right = _scored(a, stale_a), _scored(b, stale_b)
    if left.empty or right.empty:
        return []
    rows = _paired([dict(row) for row in left.merge(right, on=CELL, suffixes=("", "_b")).to_dict("records")])
    reasons = [_differing(row) for row in rows]
    tests = [None if reason else _test(row, a, b) for row, reason in zip(rows, reasons, strict=True)]
    adjusted = iter(holm([p for p in tests if p is not None]))
    found = []
    for row, reason, p in zip(rows, reasons, tests, strict=True):
        q = None if p is None else float(next(adjusted))
        found.append(_comparison(row, float(row["map_b"]), reason, q, int(row["seed"])))
    return found


def _scored(store: Any, stale: Collection[str]) -> pd.DataFrame:
    """Cells with a score. Those of which several results exist, none more meant than another, have status unclear."""
    from benchmark.report.record_frame import SLOT, frame_of, readable_rows
    from benchmark.report.selection import read_records

    rows, _ = readable_rows(read_records(store)[0])
    old = set(stale)
    kept = {tuple(row[name] for name in SLOT) for row in rows if row["key"] not in old}
    rows = [row for row in rows if row["key"] not in old or tuple(row[name] for name in SLOT) not in kept]
    table = frame_of(rows)
    return table if table.empty else table[table["status"].isin(["ok", "unclear"]) & table["map"].notna()]


def _paired(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of data sets of one name, or one profile with two contents, each result beside its own likeness if it has one."""
    for differing in (_differing, _other_setup):
        alike = [row for row in rows if not differing(row)]
        left, right = {row["key"] for row in alike}, {row["key_b"] for row in alike}
        rows = [row for row in rows if not differing(row) or (row["key"] not in left and row["key_b"] not in right)]
    return rows


def _other_setup(row: Mapping[str, Any]) -> bool:
    from benchmark.report.record_frame import SETUP

    return any(row[name] != row[f"{name}_b"] for name in SETUP)


def _differing(row: Mapping[str, Any]) -> str:
    unclear = [row[reason] for reason in ("reason", "reason_b") if row[reason]]
    differing = [
        f"{name} {row.get(name)} and {row.get(f'{name}_b')}"
        for name in CONVENTIONS
        if row.get(name) != row.get(f"{name}_b")
    ]
    return "; ".join([*unclear, *differing])


def _test(row: Mapping[str, Any], a: Any, b: Any) -> float | None:
    """p of the paired difference of per-query AP; None where payloads lack it."""
    from benchmark.evaluation.statistics import permutation_test

    try:
        first, second = a.payload(a.read(row["key"])), b.payload(b.read(row["key_b"]))
    except (OSError, ValueError, KeyError):
        return None
    if "ap" not in first or "ap" not in second or first["ap"].shape != second["ap"].shape:
        return None
    return permutation_test(first["ap"], second["ap"])


def _comparison(row: Mapping[str, Any], other: float, reason: str, p: float | None, seed: int | None) -> Comparison:
    here = float(row["map"])
    return Comparison(
        method=row["method"],
        params=row["params"],
        dataset=row["dataset_label"],
        bits=int(row["bits"]),
        seed=seed,
        a=here,
        b=other,
        difference=None if reason else other - here,
        p=p,
        reason=reason,
    )


def compare_published(a: Any, stale: Collection[str] = ()) -> tuple[list[Comparison], list[str]]:
    """Results with default parameters, averaged over seeds, against printed numbers that were measured alike; and for
    all others a line that says why there is nothing to compare."""
    from benchmark.report.record_frame import SETUP

    table = _scored(a, stale)
    if table.empty:
        return [], []
    found, apart = [], dict[tuple[str, str], list[str]]()
    plain = table[table["params"] == ""]
    for _, cells in plain.groupby(["dataset_label", "profile", "backbone", *SETUP, "method", "bits"], sort=False):
        row = cells.iloc[0].to_dict() | {"map": cells["map"].mean()}
        other = measured_alike(row)
        if other is not None:
            made = _comparison(row, other.map, row["reason"], None, None)
            found.append(
                replace(made, note="; ".join(part for part in (other.source, other.table, other.doubt) if part))
            )
        for why in _why_apart(row):
            apart.setdefault((row["dataset_label"], why), []).append(row["method"])
    return found, [f"{label}, {', '.join(dict.fromkeys(who))}: {why}" for (label, why), who in apart.items()]


def _why_apart(row: Mapping[str, Any]) -> list[str]:
    """Why a cell is not set against each number that was printed for its method, or that there is none."""
    if row["miniature"]:
        return [MINIATURE]
    others = printed_for(row)
    if not others:
        return [_nothing_printed(row)]
    reasons = [(one, why_not_comparable(row, one)) for one in others]
    return list(dict.fromkeys(f"{reason} ({one.source}, {one.table})" for one, reason in reasons if reason))


def _nothing_printed(row: Mapping[str, Any]) -> str:
    """What there is no number of: the data set, the method on it, or the length."""
    methods = {one.method for one in published() if one.dataset == row["dataset"]}
    if not methods:
        return "nothing is published on this data set"
    if row["method"] not in methods:
        return "nothing is published of this method on this data set"
    return f"no number is published at {row['bits']} bits"


def as_lines(comparisons: Sequence[Comparison]) -> list[str]:
    """Aligned text, one line per cell, and a summary."""
    lines = [f"{'method':<16} {'data set':<18} {'bits':>4} {'seed':>4} {'A':>8} {'B':>8} {'B - A':>9}  p"]
    for one in comparisons:
        name = f"{one.method} {one.params}".strip()
        seed = "" if one.seed is None else str(one.seed)
        start = f"{name:<16} {one.dataset:<18} {one.bits:>4} {seed:>4} {one.a:>8.4f} {one.b:>8.4f}"
        if one.difference is None:
            lines.append(f"{start} {'-':>9}  not comparable: {one.reason}")
        else:
            sure = "" if one.p is None else f"{one.p:.4f}{' *' if one.p < SURE else ''}"
            lines.append(f"{start} {one.difference:>+9.4f}  {sure}{one.note}".rstrip())
    return [*lines, summary(comparisons)]


def summary(comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return "no cell is in both"
    differing = [one for one in comparisons if one.difference]
    sure = [one for one in comparisons if one.p is not None and one.p < SURE]
    apart = [one for one in comparisons if one.reason]
    return (
        f"{counted(len(comparisons), 'cell')} in both: {len(differing)} differ, {len(sure)} surely so (p < {SURE}, "
        f"paired permutation test on per-query AP, Holm-corrected), {len(apart)} not comparable"
    )
