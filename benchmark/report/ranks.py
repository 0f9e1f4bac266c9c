"""Ranks over the cells that methods share: the table, each pair's test, and the critical-difference diagram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.evaluation.statistics import (
    cliques,
    critical_difference,
    friedman,
    holm,
    paired_tests,
    ranks,
)
from benchmark.report.common_field import CommonField, common_field, left_out_words, uneven_seeds
from benchmark.report.drawing import Drawing
from benchmark.report.score_tables import SURE, TESTED, caption
from benchmark.report.sheets import DatasetColumn, Sheet, map_at
from benchmark.report.stored_arrays import StoredArrays
from benchmark.report.table import DASH, Column, Entry, Table, number, text
from benchmark.wording import listed

TESTS_KIND = "Ranks and tests"
FEWEST = 3  # methods: two have no ranks worth a table


def mean_ranks(field: CommonField) -> np.ndarray:
    """Ranks averaged over bits (data sets x methods), 1 the best."""
    names = [name for name, _ in field.methods]
    by_set = []
    for dataset in field.datasets:
        scores = field.sheet.of(dataset).pivot_table(index="bits", columns="method", values="map", aggfunc="mean")
        by_set.append(ranks(scores[names].to_numpy()).mean(axis=0))
    return np.array(by_set).reshape(len(field.datasets), len(names))


@dataclass(frozen=True)
class PairTest:
    """Two compared methods (their places in the field) on one data set: p, Holm-corrected over all, and a - b."""

    dataset: str
    a: int
    b: int
    p: float
    difference: float


def rank_tables(sheet: Sheet, stored: StoredArrays) -> list[Table]:
    """Ranks, and for each data set the test of every pair."""
    field = common_field(sheet)
    if len(field.methods) < 2:
        return []
    tests = pair_tests(field, stored)
    made = [rank_table(field, tests, name=f"ranks-{sheet.slug}")] if len(field.methods) >= FEWEST else []
    return made + [pair_table(field, dataset, tests) for dataset in field.datasets]


def rank_table(field: CommonField, tests: Sequence[PairTest], *, name: str) -> Table:
    """Mean rank per data set and over them, groups no test tells apart, and sure wins by per-query AP."""
    by_set, datasets = mean_ranks(field), field.datasets
    mean, several = by_set.mean(axis=0), len(datasets) > 1
    letters = _group_letters(mean, len(datasets))
    wins = _sure_wins(len(field.methods), tests)
    columns = [Column("Method", numeric=False), Column("mean rank")]
    columns += [Column(dataset.label, "rank, mean over bits") for dataset in datasets] if several else []
    columns += [Column("group", numeric=False)] if several else []
    columns += [Column("wins", "sure pairwise"), Column("losses", "sure pairwise")]
    body = []
    for i in np.argsort(mean, kind="stable"):
        entries = [text(field.methods[i][1]), number(mean[i], 2)]
        entries += [*(number(value, 2) for value in by_set[:, i]), text(letters[i])] if several else []
        body.append([*entries, _whole_entry(wins[i].sum()), _whole_entry(wins[:, i].sum())])
    remarks = [line for line in (left_out_words(field),) if line]
    title, shared = (
        field.sheet.titled("Ranks over data sets" if several else "Ranks"),
        caption(field.sheet, spreads=False),
    )
    told = _note(field, by_set)
    return Table(name, title, told, columns, body, remarks=remarks, shared=shared, kind=TESTS_KIND)


def _note(field: CommonField, by_set: np.ndarray) -> str:
    """What is ranked over what, and how sure it is; only what is true of this field."""
    sets = len(field.datasets)
    said = f"{_ranked(field)}."
    if sets > 1:
        p, gap = friedman(-by_set), critical_difference(len(field.methods), sets)
        tested = "" if math.isnan(p) else f"; Friedman p = {p:.3g}"
        said += (
            f" Methods that share a group letter lie within Nemenyi's critical difference {gap:.2f} "
            f"(95 %, {sets} data sets{tested})."
        )
    return f"{said} Sure: p < {SURE}, {_corrected(field)}."


def _ranked(field: CommonField) -> str:
    """Whose ranks, on what, and what is averaged, in this order."""
    whom = f"the {len(field.methods)} methods{'' if field.complete else ' that have every one of these cells'}"
    means = " (mean over seeds)" if field.sheet.cells["seed"].nunique() > 1 else ""
    averaged = ["code lengths"] * _several_lengths(field) + ["data sets"] * (len(field.datasets) > 1)
    over = f", averaged over {' and then over '.join(averaged)}" if averaged else ""
    return f"Ranks by {map_at(field.sheet.cells)}{means}, 1 the best{over}, of {whom} on {field.where()}"


def _several_lengths(field: CommonField) -> bool:
    return len(field.columns) > len(field.datasets)


def _corrected(field: CommonField) -> str:
    over = "all pairs and data sets" if len(field.datasets) > 1 else "all pairs"
    lengths = "; AP is averaged over code lengths" if _several_lengths(field) else ""
    uneven = listed(uneven_seeds(field))
    as_one = f"; of {uneven}, whose seeds are not the same at all lengths, their mean counts as one seed"
    return f"Holm-corrected over {over}: {TESTED}{lengths}{as_one if uneven else ''}"


def pair_table(field: CommonField, dataset: DatasetColumn, tests: Sequence[PairTest]) -> Table:
    """p of every pair of methods on one data set, in the order of ranks there; + where the row is surely better."""
    ranked = mean_ranks(field)[[one.label for one in field.datasets].index(dataset.label)]
    order = [int(i) for i in np.argsort(ranked, kind="stable")]
    found = {(one.a, one.b): one for one in tests if one.dataset == dataset.label}
    found |= {(b, a): replace(one, a=b, b=a, difference=-one.difference) for (a, b), one in list(found.items())}
    columns = [Column("Method", numeric=False), *(Column(field.methods[i][1]) for i in order)]
    body = [[text(field.methods[i][1]), *(_pair_entry(found.get((i, j)), i == j) for j in order)] for i in order]
    note = (
        f"p of the difference between the method of the row and that of the column; + where the row is better, - where "
        f"it is worse and p < {SURE}, {_corrected(field)}. {field.where_on(dataset)}; the best rank first."
    )
    remarks = [line for line in (left_out_words(field),) if line]
    title = field.sheet.titled(f"Pairwise tests on {dataset.label}")
    name, shared = f"pairwise-{dataset.slug}-{field.sheet.slug}", caption(field.sheet, spreads=False)
    return Table(name, title, note, columns, body, remarks=remarks, shared=shared, kind=TESTS_KIND)


def _pair_entry(test: PairTest | None, same: bool) -> Entry:
    if same:
        return Entry()
    if test is None:
        return Entry(DASH, None, note="per-query scores are missing")
    mark = "" if test.p >= SURE else "+" if test.difference > 0 else "-"
    return Entry("<0.001" if test.p < 0.001 else f"{test.p:.3f}", test.p, mark=mark)


def _whole_entry(value: float) -> Entry:
    return number(float(value), 0)


def _group_letters(mean: np.ndarray, datasets: int) -> list[str]:
    groups = cliques(mean, critical_difference(len(mean), datasets))
    return ["".join(chr(97 + g) for g, group in enumerate(groups) if i in group) or DASH for i in range(len(mean))]


def _sure_wins(count: int, tests: Sequence[PairTest]) -> np.ndarray:
    """wins[i, j]: data sets on which method i is surely better than method j."""
    wins = np.zeros((count, count), int)
    for test in tests:
        if test.p < SURE:
            winner, loser = (test.a, test.b) if test.difference > 0 else (test.b, test.a)
            wins[winner, loser] += 1
    return wins


def pair_tests(field: CommonField, stored: StoredArrays) -> list[PairTest]:
    """Every pair of compared methods on every data set."""
    found = [(one.label, *pair) for one in field.datasets for pair in _tested_pairs(field, one, stored)]
    adjusted = holm([p for _, _, _, p, _ in found])
    return [PairTest(label, i, j, float(q), d) for (label, i, j, _, d), q in zip(found, adjusted, strict=True)]


def _tested_pairs(
    field: CommonField, dataset: DatasetColumn, stored: StoredArrays
) -> Sequence[tuple[int, int, float, float]]:
    """(method, method, p, mean difference) of each pair of methods whose per-query scores were kept."""
    cells = field.sheet.of(dataset)
    found = [stored.by_seed(cells[cells["method"] == name], "ap") for name, _ in field.methods]
    kept = [(i, scores) for i, scores in enumerate(found) if scores is not None]
    pairs = [(n, m) for n in range(len(kept)) for m in range(n + 1, len(kept))]
    if not pairs or len({scores.shape[1] for _, scores in kept}) != 1:
        return []
    tested, means = paired_tests([scores for _, scores in kept], pairs)
    return [(kept[n][0], kept[m][0], float(p), float(d)) for (n, m), p, d in zip(pairs, tested, means, strict=True)]


def rank_figure(sheet: Sheet) -> list[Drawing]:
    """The critical-difference diagram of a sheet with at least three methods and two data sets."""
    import pandas as pd

    field = common_field(sheet)
    count, sets = len(field.methods), len(field.datasets)
    if count < FEWEST or sets < 2:
        return []
    mean = mean_ranks(field).mean(axis=0)
    gap = critical_difference(count, sets)
    groups = [[float(mean[g].min()), float(mean[g].max())] for g in cliques(mean, gap)]
    rows = [(name, title, rank) for (name, title), rank in zip(field.methods, mean, strict=True)]
    data = pd.DataFrame(rows, columns=["method", "title", "rank"])
    absent = f" ({len(field.absent)} left out)" if field.absent else ""
    kind = " (miniatures)" if sheet.miniature else ""
    title = sheet.titled(f"Mean ranks of {count} methods{absent} over {sets} data sets{kind}")
    bars = (
        f"bars join methods within Nemenyi's critical difference {gap:.2f} (95 %)"
        if groups
        else (f"no two methods lie within Nemenyi's critical difference {gap:.2f} (95 %)")
    )
    note = f"{_ranked(field)}; {bars}. {left_out_words(field)}".strip()
    options = {"groups": groups, "gap": gap}
    return [Drawing(f"cd-{sheet.slug}", "critical", title, f"{title}. {note}", data, options, note)]
