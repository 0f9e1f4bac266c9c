"""The report in one sentence, with its uncertainty: which method leads a sheet, by how much, and are we sure."""

from __future__ import annotations

import numpy as np

from benchmark.evaluation.statistics import bootstrap_means, interval
from benchmark.report.frame import Dataset, Sheet, methods, well_filled
from benchmark.report.payloads import Payloads


def headline(sheet: Sheet, payloads: Payloads) -> str:
    """Best and runner-up by MAP averaged over data sets and bits, the lead with its bootstrap interval."""
    sheet = well_filled(sheet)
    datasets = sheet.datasets()
    titles = dict(methods(sheet.cells))
    means = {m: value for m in titles if (value := _mean_map(sheet, datasets, m)) is not None}
    where = _where(sheet, datasets)
    order = sorted(means, key=lambda method: -means[method])
    if not order:
        return f"No method has a score on every data set and code length of {where} yet."
    best = order[0]
    if len(order) == 1:
        return (
            f"{titles[best]} reaches a mean MAP of {means[best]:.3f} on {where}; there is nothing to compare it with."
        )
    second = order[1]
    lead = means[best] - means[second]
    low, high = lead_interval(sheet, datasets, best, second, payloads)
    text = f"On {where}, {titles[best]} retrieves best: mean MAP {means[best]:.3f}, {lead:.3f} above {titles[second]}"
    if np.isnan(low):
        return f"{text} (no per-query scores, so no interval)."
    doubt = "" if low > 0 else "; the interval holds zero, so the two cannot be told apart"
    return f"{text} (95 % interval of the lead over queries: {low:.3f} to {high:.3f}{doubt})."


def _where(sheet: Sheet, datasets: list[Dataset]) -> str:
    names = [dataset.label for dataset in datasets]
    listed = ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else "no data set"
    return f"{listed} (profile {sheet.profile}, backbone {sheet.backbone or 'none'})"


def _mean_map(sheet: Sheet, datasets: list[Dataset], method: str) -> float | None:
    """Mean over data sets of the mean over bits; None unless the method has every cell the others have."""
    parts = []
    for dataset in datasets:
        cells = sheet.of(dataset)
        own = cells[cells["method"] == method]
        if set(own["bits"]) != set(cells["bits"]):
            return None
        parts.append(own.groupby("bits")["map"].mean().mean())
    return float(np.mean(parts)) if parts else None


def lead_interval(
    sheet: Sheet, datasets: list[Dataset], best: str, second: str, payloads: Payloads
) -> tuple[float, float]:
    """Bootstrap over queries within each data set, averaged over data sets."""
    draws = []
    for number, dataset in enumerate(datasets):
        cells = sheet.of(dataset)
        a, b = (payloads.mean(cells[cells["method"] == method], "ap") for method in (best, second))
        if a is None or b is None or a.shape != b.shape:
            return float("nan"), float("nan")
        draws.append(bootstrap_means(a - b, seed=number))
    return interval(np.mean(draws, axis=0))
