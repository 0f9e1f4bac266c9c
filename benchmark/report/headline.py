"""The report in a few sentences: which method leads a sheet, over whom, by how much, and are we sure."""

from __future__ import annotations

import numpy as np

from benchmark.evaluation.statistics import bootstrap_means, interval
from benchmark.report.common_field import CommonField, common_field, left_out_words, listed
from benchmark.report.sheets import DatasetColumn, Sheet, controls, map_at, methods, scored
from benchmark.report.stored_arrays import StoredArrays


def headline_words(sheet: Sheet, stored: StoredArrays) -> str:
    """Best and runner-up by MAP averaged over data sets and bits, the lead with its interval, and who is left out."""
    field = common_field(sheet)
    if not field.methods:
        only = ", only controls do" if controls(scored(sheet.cells)) else ""
        return f"No method has a score yet{only} ({sheet.words})."
    means = {name: mean_map(field, name) for name, _ in field.methods}
    order = sorted(means, key=lambda method: -means[method])
    said = _lead_sentence(field, means, order, stored) if len(order) > 1 else _alone(field, means[order[0]])
    rest = " ".join(part for part in (left_out_words(field), _unknown(sheet, field, order[0])) if part)
    return f"{said} {rest}".strip()


def mean_map(field: CommonField, method: str) -> float:
    """Mean over data sets of the mean over bits of the mean over seeds."""
    parts = []
    for dataset in field.datasets:
        cells = field.sheet.of(dataset)
        parts.append(cells[cells["method"] == method].groupby("bits")["map"].mean().mean())
    return float(np.mean(parts))


def _alone(field: CommonField, mean: float) -> str:
    (_, title), words = field.methods[0], field.sheet.words
    said = f"{title} reaches a mean {map_at(field.sheet.cells)} of {mean:.3f} on {field.where()} ({words})"
    return f"{said}; there is nothing to compare it with."


def _lead_sentence(field: CommonField, means: dict[str, float], order: list[str], stored: StoredArrays) -> str:
    titles, (best, second) = dict(field.methods), order[:2]
    lead = means[best] - means[second]
    low, high = lead_interval(field.sheet, field.datasets, best, second, stored)
    # Only a field without gaps has a winner; otherwise the sentence speaks of those compared.
    whom = f"the {len(order)} methods" if field.complete else f"the {len(order)} methods compared"
    text = (
        f"On {field.where()} ({field.sheet.words}), {titles[best]} has the highest mean "
        f"{map_at(field.sheet.cells)} of {whom}: {means[best]:.3f}, {lead:.3f} above {titles[second]}"
    )
    if np.isnan(low):
        return f"{text} (per-query scores are missing, so no interval)."
    doubt = "" if low > 0 else "; the interval holds zero, so the two cannot be told apart"
    return f"{text} (95 % interval of the lead over queries: {low:.3f} to {high:.3f}{doubt})."


def _unknown(sheet: Sheet, field: CommonField, best: str) -> str:
    """What cannot be said about those left out, and which of them lead where they have scores."""
    if not field.absent:
        return ""
    titles, ahead = dict(methods(sheet.cells)), []
    good = scored(sheet.cells)
    scores = good.groupby(["dataset_label", "bits", "method"])["map"].mean().unstack("method")
    for one in field.absent:
        if one.method in scores and best in scores:
            both = scores[[one.method, best]].dropna()
            if len(both) and both[one.method].mean() > both[best].mean():
                ahead.append(f"{one.title} ({len(both)} cells)")
    said = f"Whether a method left out would lead is not known{';' if ahead else '.'}"
    return f"{said} where they share cells, {listed(ahead)} scores above {titles[best]}." if ahead else said


def lead_interval(
    sheet: Sheet, datasets: list[DatasetColumn], best: str, second: str, stored: StoredArrays
) -> tuple[float, float]:
    """Bootstrap over queries within each data set, averaged over data sets."""
    draws = []
    for number, dataset in enumerate(datasets):
        cells = sheet.of(dataset)
        a, b = (stored.mean(cells[cells["method"] == method], "ap", of_all=True) for method in (best, second))
        if a is None or b is None or a.shape != b.shape:
            return float("nan"), float("nan")
        draws.append(bootstrap_means(a - b, seed=number))
    return interval(np.mean(draws, axis=0))
