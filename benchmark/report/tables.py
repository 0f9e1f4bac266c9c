"""What each table of a report says: sheet -> Table. How a table is written is the business of table.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from benchmark.evaluation.statistics import (
    cliques,
    critical_difference,
    friedman,
    holm,
    paired_difference,
    permutation_test,
    permutation_tests,
    ranks,
)
from benchmark.report.frame import (
    VARIANTS,
    Dataset,
    Sheet,
    chance_level,
    curve_bits,
    methods,
    mixtures,
    scored,
    well_filled,
)
from benchmark.report.payloads import Payloads
from benchmark.report.published import find, why_not_comparable
from benchmark.report.table import DASH, Column, Entry, Table, number, text

if TYPE_CHECKING:
    import pandas as pd

SURE = 0.05
MARK = (
    f"* the best differs from the runner-up, p < {SURE}: paired permutation test on per-query AP, "
    "Holm-corrected over the table."
)
BOLD = "Best bold, second underlined, ties at the printed precision included."
GROUPS = {"head": "Head", "middle": "Middle", "tail": "Tail"}


# --- captions ----------------------------------------------------------------------------------------------


def caption(sheet: Sheet) -> str:
    """How the numbers were made: data sets with split and k, conventions, seeds, backbone, profile."""
    cells = scored(sheet.cells)
    seeds = ", ".join(str(seed) for seed in sorted(cells["seed"].unique())) or DASH
    return (
        f"{'; '.join(described(sheet, dataset) for dataset in sheet.datasets())}. "
        f"Ties: {_words(cells, 'ties')}; AP divided by: {_words(cells, 'denominator')}; "
        f"query without a hit: {_words(cells, 'empty')}; seeds: {seeds}; "
        f"backbone: {sheet.backbone or 'none (given features)'}; profile: {sheet.profile or DASH}."
    )


def described(sheet: Sheet, dataset: Dataset) -> str:
    """A data set with what its scores depend on."""
    k = cutoff(sheet.of(dataset))
    protocol = "" if dataset.protocol == "miniature" else f"protocol {dataset.protocol}, "
    chance = chance_level(sheet.of(dataset))
    known = "" if chance is None else f", chance {chance:.4f}"
    return f"{dataset.label} ({protocol}split {dataset.revision[:8]}, k = {k}{known})"


def at_bits(sheet: Sheet) -> str:
    """At which code length a table that shows only one was made."""
    lengths = sorted({curve_bits(sheet.of(dataset)) for dataset in sheet.datasets()})
    return f"at {' or '.join(str(bits) for bits in lengths)} bits"


def cutoff(cells: pd.DataFrame) -> str:
    """k of MAP@k."""
    known = cells["k"].dropna().unique() if "k" in cells else []
    return ", ".join(str(int(k)) for k in sorted(known)) or DASH


def _words(cells: pd.DataFrame, column: str) -> str:
    known = cells[column].dropna().unique() if column in cells else []
    return ", ".join(str(value) for value in known) or DASH


# --- entries -----------------------------------------------------------------------------------------------


def score_entry(cells: pd.DataFrame, column: str = "map", digits: int = 4, scale: float = 1.0) -> Entry:
    """Mean over seeds, its spread where there are several, or a dash and why."""
    good = scored(cells)
    values = good[column].dropna().to_numpy(float) * scale if column in good else np.array([])
    if not len(values):
        reasons = [reason for reason in cells["reason"] if reason]
        return Entry(DASH, None, note=reasons[0] if reasons else "not run")
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return number(float(values.mean()), digits, spread=spread, note=_doubt(cells, good))


def _doubt(cells: pd.DataFrame, good: pd.DataFrame) -> str:
    """A remark on a score that must not be read alone."""
    if "health_collapsed" in good and good["health_collapsed"].eq(True).any():
        return "codes collapsed: (nearly) all items share one code"
    missing = cells[cells["status"] != "ok"]
    return f"{len(good)} of {len(cells)} seeds; {missing['reason'].iloc[0]}" if len(missing) else ""


def _digits(sheet: Sheet) -> int:
    """The paper's four decimals; three where a spread stands behind each, or the table would not fit a page."""
    return 3 if scored(sheet.cells)["seed"].nunique() > 1 else 4


def rank_places(entries: Sequence[Entry]) -> list[Entry]:
    """Mark the best and the second, with all ties at the printed precision."""
    printed = [float(entry.text) if entry.value is not None else -math.inf for entry in entries]
    order = sorted({value for value in printed if value > -math.inf}, reverse=True)
    rivals = sum(value > -math.inf for value in printed) > 1  # alone is not best
    places = {value: place for place, value in enumerate(order[:2], start=1)} if rivals else {}
    return [replace(entry, place=places.get(value, 0)) for entry, value in zip(entries, printed, strict=True)]


def _lead(groups: list[pd.DataFrame], entries: list[Entry], payloads: Payloads) -> float | None:
    """p of the best against the runner-up by per-query AP; None where there is no single best or no AP."""
    best = [i for i, entry in enumerate(entries) if entry.place == 1]
    second = [i for i, entry in enumerate(entries) if entry.place == 2]
    if len(best) != 1 or not second:
        return None
    a, b = (payloads.mean(scored(groups[i]), "ap") for i in (best[0], second[0]))
    if a is None or b is None or a.shape != b.shape:
        return None
    return permutation_test(a, b)


def _mark_winners(blocks: list[list[Entry]], tests: list[float | None]) -> list[list[Entry]]:
    adjusted = iter(holm([p for p in tests if p is not None]))
    marked = []
    for block, p in zip(blocks, tests, strict=True):
        mark = "*" if p is not None and next(adjusted) < SURE else ""
        marked.append([replace(entry, mark=mark if entry.place == 1 else "") for entry in block])
    return marked


# --- MAP ---------------------------------------------------------------------------------------------------


def map_table(sheet: Sheet, payloads: Payloads, *, name: str, title: str) -> Table:
    """MAP@k per method x bits x data set: best bold, second underlined, sure winners marked, chance below."""
    rows, digits = methods(sheet.cells), _digits(sheet)
    columns, blocks, tests = [Column("Method", numeric=False)], [], []
    chance = [text("Chance")]
    for dataset in sheet.datasets():
        cells = sheet.of(dataset)
        for bits in sorted(cells["bits"].unique()):
            of_bits = cells[cells["bits"] == bits]
            groups = [of_bits[of_bits["method"] == method] for method, _ in rows]
            columns.append(Column(f"{bits} bits", dataset.label))
            blocks.append(rank_places([score_entry(group, digits=digits) for group in groups]))
            tests.append(_lead(groups, blocks[-1], payloads))
            chance.append(number(chance_level(cells), digits))
    blocks = _mark_winners(blocks, tests)
    body = [[text(label), *(block[i] for block in blocks)] for i, (_, label) in enumerate(rows)]
    remarks = [MARK] if any(entry.mark for row in body for entry in row) else []
    remarks += mixtures(sheet)
    return Table(name, title, f"{caption(sheet)} {BOLD}", columns, [*body, chance], foot=1, remarks=remarks)


def main_sheet(sheet: Sheet) -> Sheet:
    """Without the ablation's variants and the balanced sets, which have tables of their own."""
    cells = sheet.cells
    return sheet.only(~cells["method"].isin(VARIANTS) & ~cells["dataset"].str.contains("balanced"))


def group_table(sheet: Sheet, payloads: Payloads, *, name: str) -> Table | None:
    """MAP of head, middle and tail classes: what the paper argues about and does not show."""
    cells = scored(sheet.cells)
    if not any(f"map_{group}" in cells and cells[f"map_{group}"].notna().any() for group in GROUPS):
        return None
    rows, digits = methods(cells), _digits(sheet)
    columns, blocks, chance = [Column("Method", numeric=False)], [], [text("Chance")]
    for dataset in sheet.datasets():
        of_set = sheet.of(dataset)
        at = of_set[of_set["bits"] == curve_bits(of_set)]
        by_chance = payloads.chance_by_group(at)
        for group, label in GROUPS.items():
            columns.append(Column(label, dataset.label))
            entries = [score_entry(at[at["method"] == method], f"map_{group}", digits) for method, _ in rows]
            blocks.append(rank_places(entries))
            chance.append(number(by_chance.get(group), digits))
    body = [[text(label), *(block[i] for block in blocks)] for i, (_, label) in enumerate(rows)]
    note = f"Mean over the classes of each group, by frequency among training images; {at_bits(sheet)}."
    title = "MAP of head, middle and tail classes"
    return Table(name, title, f"{note} {caption(sheet)} {BOLD}", columns, [*body, chance], foot=1)


# --- against published numbers -----------------------------------------------------------------------------


def published_table(sheet: Sheet, *, name: str) -> Table | None:
    """Reproduced beside published; a difference only where protocol, backbone, k and conventions agree."""
    wanted = sorted({int(b) for b in sheet.cells["bits"].unique()} & {16, 32, 48, 64})
    columns = [Column("Data set", numeric=False), Column("Method", numeric=False)]
    for bits in wanted:
        columns += [Column(label, f"{bits} bits") for label in ("here", "published", "Δ")]
    rows: list[list[Entry]] = []
    rules = []
    for dataset in sheet.datasets():
        of_set = sheet.of(dataset)
        known = [(m, t) for m, t in methods(of_set) if any(find(dataset.name, m, b, sheet.backbone) for b in wanted)]
        rules += [len(rows)] if rows and known else []
        for method, label in known:
            of_method = of_set[of_set["method"] == method]
            entries = [_against(of_method[of_method["bits"] == bits], sheet, dataset, method, bits) for bits in wanted]
            first = Entry(dataset.label if (method, label) == known[0] else "", dataset.label)
            rows.append([first, text(label), *(entry for three in entries for entry in three)])
    if not rows:
        return None
    title = "MAP reproduced here against published"
    note = "Δ = here − published. Published numbers: Cao et al., ACM MM 2018, whose tie rule is not stated."
    return Table(name, title, f"{caption(sheet)} {note}", columns, rows, rules)


def _against(cells: pd.DataFrame, sheet: Sheet, dataset: Dataset, method: str, bits: int) -> list[Entry]:
    here, other = score_entry(cells), find(dataset.name, method, bits, sheet.backbone)
    if other is None:
        return [here, Entry(DASH, None, note="not in the paper"), Entry(DASH)]
    there = number(other.map, note=other.doubt)
    if here.value is None:
        return [here, there, Entry(DASH)]
    reason = why_not_comparable(scored(cells).iloc[0].to_dict(), other)
    if reason:
        return [here, there, Entry(DASH, None, note=f"no difference: {reason}")]
    difference = float(here.value) - other.map
    return [here, there, Entry(f"{difference:+.4f}".replace("-", "−"), difference)]


# --- costs and health --------------------------------------------------------------------------------------


Measure = tuple[str, str, int, float]  # column of the frame, label, decimals, factor
COSTS: tuple[Measure, ...] = (
    ("seconds_fit", "fit", 2, 1.0),
    ("seconds_encode", "encode", 2, 1.0),
    ("seconds_score", "score", 2, 1.0),
    ("peak_memory", "MB", 0, 1e-6),
    ("bits", "bits", 0, 1.0),
)
HEALTH: tuple[Measure, ...] = (
    ("precision_at_radius_2", "P@H≤2", 4, 1.0),
    ("empty_ball_share", "empty", 1, 100.0),
    ("health_bit_balance", "bias", 3, 1.0),
    ("health_constant_bits", "const.", 1, 100.0),
    ("health_distinct_share", "dist.", 1, 100.0),
)


def measure_table(sheet: Sheet, measures: Sequence[Measure], *, name: str, title: str, note: str) -> Table | None:
    """One column per measure and data set, at the bits of the curves."""
    cells = scored(sheet.cells)
    shown = [measure for measure in measures if measure[0] in cells and cells[measure[0]].notna().any()]
    if not shown:
        return None
    columns = [Column("Method", numeric=False)]
    body: list[list[Entry]] = [[text(label)] for _, label in methods(cells)]
    for dataset in sheet.datasets():
        of_set = sheet.of(dataset)
        at = of_set[of_set["bits"] == curve_bits(of_set)]
        for column, label, digits, factor in shown:
            columns.append(Column(label, dataset.label))
            for row, (method, _) in zip(body, methods(cells), strict=True):
                entry = score_entry(at[at["method"] == method], column, digits, factor)
                row.append(replace(entry, spread=None))
    return Table(name, title, f"{note} {at_bits(sheet).capitalize()}. {caption(sheet)}", columns, body)


# --- ranks -------------------------------------------------------------------------------------------------


def rank_scores(sheet: Sheet) -> tuple[list[tuple[str, str]], list[Dataset], np.ndarray]:
    """Methods that have every well-filled column, data sets, and mean ranks over bits (data sets x methods)."""
    sheet = well_filled(sheet)
    datasets, tables = sheet.datasets(), []
    for dataset in datasets:
        cells = sheet.of(dataset)
        tables.append(cells.pivot_table(index="bits", columns="method", values="map", aggfunc="mean"))
    complete = [
        (method, label)
        for method, label in methods(sheet.cells)
        if all(method in table and table[method].notna().all() for table in tables)
    ]
    names = [method for method, _ in complete]
    if not names:
        return [], datasets, np.empty((len(datasets), 0))
    return complete, datasets, np.array([ranks(table[names].to_numpy()).mean(axis=0) for table in tables])


def rank_table(sheet: Sheet, payloads: Payloads, *, name: str) -> Table | None:
    """Mean rank per data set and over them, groups no test tells apart, and sure wins by per-query AP."""
    rows, datasets, by_set = rank_scores(sheet)
    if len(rows) < 3:
        return None
    mean = by_set.mean(axis=0)
    gap = critical_difference(len(rows), len(datasets))
    letters = _group_letters(mean, gap)
    wins = _sure_wins(well_filled(sheet), datasets, [method for method, _ in rows], payloads)
    columns = [Column("Method", numeric=False), Column("mean rank")]
    columns += [Column(dataset.label, "rank, mean over bits") for dataset in datasets]
    columns += [Column("group", numeric=False), Column("wins", "sure pairwise"), Column("losses", "sure pairwise")]
    body = []
    for i in np.argsort(mean, kind="stable"):
        entries = [text(rows[i][1]), number(mean[i], 2), *(number(value, 2) for value in by_set[:, i])]
        body.append([*entries, text(letters[i]), _whole(wins[i].sum()), _whole(wins[:, i].sum())])
    p = friedman(-by_set)
    note = (
        f"Ranks of MAP@k, 1 the best. Methods that share a group letter lie within Nemenyi's critical difference "
        f"{gap:.2f} (95 %, {len(datasets)} data sets{'' if math.isnan(p) else f'; Friedman p = {p:.3g}'}). "
        f"Sure: p < {SURE}, paired permutation test on per-query AP averaged over bits, Holm-corrected over all "
        f"pairs and data sets."
    )
    return Table(name, "Ranks over data sets", f"{note} {caption(sheet)}", columns, body)


def _whole(value: float) -> Entry:
    return number(float(value), 0)


def _group_letters(mean: np.ndarray, gap: float) -> list[str]:
    groups = cliques(mean, gap)
    return ["".join(chr(97 + g) for g, group in enumerate(groups) if i in group) or DASH for i in range(len(mean))]


def _sure_wins(sheet: Sheet, datasets: Sequence[Dataset], names: list[str], payloads: Payloads) -> np.ndarray:
    """wins[i, j]: data sets on which method i is surely better than method j."""
    wins = np.zeros((len(names), len(names)), int)
    found: list[tuple[int, int, float, float]] = []
    for dataset in datasets:
        cells = scored(sheet.of(dataset))
        ap = [payloads.mean(cells[cells["method"] == name], "ap") for name in names]
        sizes = {array.shape for array in ap if array is not None}
        if len(sizes) != 1:
            continue
        have = [i for i, array in enumerate(ap) if array is not None]
        pairs = [(i, j) for n, i in enumerate(have) for j in have[n + 1 :]]
        if pairs:
            differences = np.stack([paired_difference(ap[i], ap[j]) for i, j in pairs], axis=1)  # type: ignore[arg-type]
            tested = permutation_tests(differences)
            found += [(i, j, p, d) for (i, j), p, d in zip(pairs, tested, differences.sum(axis=0), strict=True)]
    for (i, j, _, difference), q in zip(found, holm([p for _, _, p, _ in found]), strict=True):
        if q < SURE:
            winner, loser = (i, j) if difference > 0 else (j, i)
            wins[winner, loser] += 1
    return wins


# --- all of them -------------------------------------------------------------------------------------------


COST_NOTE = (
    "Seconds to fit, to encode queries and database, and to score (mean over seeds, machine as in the provenance; "
    "the shared extraction of features is not counted); peak memory of the process in MB; bits stored per item."
)
HEALTH_NOTE = (
    "P@H≤2 counts a query whose ball of radius 2 is empty as 0; empty: share of such queries (%); bias: mean over "
    "bits of |mean of the bit|, 0 balanced, 1 constant; const.: constant bits (%); dist.: distinct codes per item (%)."
)


def sheet_tables(sheet: Sheet, payloads: Payloads) -> list[Table]:
    """Every table one sheet can fill; `sheet` holds default parameters only."""
    end, cells = sheet.slug, sheet.cells
    main = main_sheet(sheet)
    made: list[Table | None] = []
    with_backbone = f"MAP@k, {sheet.backbone} features" if sheet.backbone else "MAP@k"
    parts: Mapping[str, tuple[Sheet, str]] = {
        "map": (main, f"Mean average precision ({with_backbone})"),
        "balanced": (
            sheet.only(cells["dataset"].str.contains("balanced") & ~cells["method"].isin(VARIANTS)),
            f"Mean average precision on balanced training data ({with_backbone})",
        ),
        "ablation": (_ablation(sheet), f"Ablation of DPH ({with_backbone})"),
    }
    for name, (part, title) in parts.items():
        if len(part.cells):
            made.append(map_table(part, payloads, name=f"{name}-{end}", title=title))
    if len(scored(main.cells)):
        made.append(group_table(main, payloads, name=f"groups-{end}"))
        made.append(published_table(sheet, name=f"published-{end}"))
        made.append(measure_table(main, COSTS, name=f"costs-{end}", title="Costs", note=COST_NOTE))
        made.append(measure_table(main, HEALTH, name=f"health-{end}", title="Health of the codes", note=HEALTH_NOTE))
        made.append(rank_table(main, payloads, name=f"ranks-{end}"))
    return [table for table in made if table is not None]


def _ablation(sheet: Sheet) -> Sheet:
    """DPH and its variants, in the columns where any variant was run."""
    column = ["dataset", "protocol", "revision", "bits"]
    is_variant = sheet.cells["method"].isin(VARIANTS)
    any_variant = is_variant.groupby([sheet.cells[name] for name in column]).transform("any")
    return sheet.only(any_variant & (is_variant | (sheet.cells["method"] == "dph")))
