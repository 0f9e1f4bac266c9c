"""Ranks over the cells that methods share: the table, and the critical-difference diagram."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmark.evaluation.statistics import (
    cliques,
    critical_difference,
    friedman,
    holm,
    paired_difference,
    permutation_tests,
    ranks,
)
from benchmark.report.common_field import CommonField, common_field, left_out_words
from benchmark.report.drawing import Drawing
from benchmark.report.score_tables import SURE, caption
from benchmark.report.sheets import DatasetColumn, Sheet, map_at
from benchmark.report.stored_arrays import StoredArrays
from benchmark.report.table import DASH, Column, Entry, Table, number, text

FEWEST = 3  # methods: two have no ranks worth a table


def mean_ranks(field: CommonField) -> np.ndarray:
    """Ranks averaged over bits (data sets x methods), 1 the best."""
    names = [name for name, _ in field.methods]
    by_set = []
    for dataset in field.datasets:
        scores = field.sheet.of(dataset).pivot_table(index="bits", columns="method", values="map", aggfunc="mean")
        by_set.append(ranks(scores[names].to_numpy()).mean(axis=0))
    return np.array(by_set).reshape(len(field.datasets), len(names))


def rank_table(sheet: Sheet, stored: StoredArrays, *, name: str) -> Table | None:
    """Mean rank per data set and over them, groups no test tells apart, and sure wins by per-query AP."""
    field = common_field(sheet)
    if len(field.methods) < FEWEST:
        return None
    by_set, datasets = mean_ranks(field), field.datasets
    mean, several = by_set.mean(axis=0), len(datasets) > 1
    letters = _group_letters(mean, len(datasets))
    wins = _sure_wins(field, stored)
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
    title = sheet.titled("Ranks over data sets" if several else "Ranks")
    return Table(
        name, title, f"{_note(field, by_set)} {caption(field.sheet, spreads=False)}", columns, body, remarks=remarks
    )


def _note(field: CommonField, by_set: np.ndarray) -> str:
    """What is ranked over what, and how sure it is; only what is true of this field."""
    sets = len(field.datasets)
    whom = f"the {len(field.methods)} methods{'' if field.complete else ' that have every one of these cells'}"
    said = f"Ranks by {map_at(field.sheet.cells)}, 1 the best, of {whom} on {field.where()}."
    if sets > 1:
        p, gap = friedman(-by_set), critical_difference(len(field.methods), sets)
        tested = "" if math.isnan(p) else f"; Friedman p = {p:.3g}"
        said += (
            f" Methods that share a group letter lie within Nemenyi's critical difference {gap:.2f} "
            f"(95 %, {sets} data sets{tested})."
        )
    return (
        f"{said} Sure: p < {SURE}, paired permutation test on per-query AP, averaged over code lengths and seeds, "
        f"Holm-corrected over all pairs{' and data sets' if sets > 1 else ''}."
    )


def _whole_entry(value: float) -> Entry:
    return number(float(value), 0)


def _group_letters(mean: np.ndarray, datasets: int) -> list[str]:
    groups = cliques(mean, critical_difference(len(mean), datasets))
    return ["".join(chr(97 + g) for g, group in enumerate(groups) if i in group) or DASH for i in range(len(mean))]


def _sure_wins(field: CommonField, stored: StoredArrays) -> np.ndarray:
    """wins[i, j]: data sets on which method i is surely better than method j."""
    wins = np.zeros((len(field.methods), len(field.methods)), int)
    found = [pair for dataset in field.datasets for pair in _tested_pairs(field, dataset, stored)]
    for (i, j, _, difference), q in zip(found, holm([p for _, _, p, _ in found]), strict=True):
        if q < SURE:
            winner, loser = (i, j) if difference > 0 else (j, i)
            wins[winner, loser] += 1
    return wins


def _tested_pairs(
    field: CommonField, dataset: DatasetColumn, stored: StoredArrays
) -> Sequence[tuple[int, int, float, float]]:
    """(method, method, p, summed difference) of each pair of methods whose per-query scores were kept."""
    cells = field.sheet.of(dataset)
    ap = [stored.mean(cells[cells["method"] == name], "ap", of_all=True) for name, _ in field.methods]
    have = [i for i, array in enumerate(ap) if array is not None]
    pairs = [(i, j) for n, i in enumerate(have) for j in have[n + 1 :]]
    if not pairs or len({array.shape for array in ap if array is not None}) != 1:
        return []
    differences = np.stack([paired_difference(ap[i], ap[j]) for i, j in pairs], axis=1)  # type: ignore[arg-type]
    tested = permutation_tests(differences)
    return [(i, j, float(p), d) for (i, j), p, d in zip(pairs, tested, differences.sum(axis=0), strict=True)]


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
    alt = f"{title}; bars join methods within the critical difference {gap:.2f}. {left_out_words(field)}".strip()
    return [Drawing(f"cd-{sheet.slug}", "critical", title, alt, data, {"groups": groups, "gap": gap})]
