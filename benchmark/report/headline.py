"""The report in a few sentences: which method leads a sheet, over whom, by how much, and are we sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmark.evaluation.statistics import bootstrap_means, interval, mean_difference, seeded_difference
from benchmark.report.common_field import CommonField, common_field, left_out_words, uneven_seeds
from benchmark.report.sheets import Sheet, controls, map_at, methods, scored
from benchmark.report.stored_arrays import StoredArrays
from benchmark.wording import counted, listed

if TYPE_CHECKING:
    import pandas as pd


def _printed(mean: float) -> float:
    """As the sentences print it: what prints the same is not told apart."""
    return float(f"{mean:.3f}")


def headline_words(sheet: Sheet, stored: StoredArrays) -> str:
    """Best and runner-up by MAP averaged over data sets and bits, the lead with its interval, and who is left out."""
    field = common_field(sheet)
    if not field.methods:
        only = ", only controls do" if controls(scored(sheet.cells)) else ""
        return f"No method has a score yet{only} ({sheet.words})."
    means = {name: mean_map(field, name) for name, _ in field.methods}
    order = sorted(means, key=lambda method: -means[method])
    said = _lead_sentence(field, means, order, stored) if len(order) > 1 else _alone(field, means[order[0]])
    rest = (left_out_words(field), _variants_ahead(field, order[0], means[order[0]]), _unknown(sheet, field, order[0]))
    return " ".join(part for part in (said, *rest) if part)


def mean_map(field: CommonField, method: str) -> float:
    """Mean over data sets of the mean over bits of the mean over seeds."""
    cells = field.sheet.cells
    return _mean_over(cells[cells["method"] == method])


def _mean_over(cells: pd.DataFrame) -> float:
    by_bits = cells.groupby(["dataset_label", "bits"])["map"].mean()
    return float(by_bits.groupby("dataset_label").mean().mean())


def _variants_ahead(field: CommonField, leader: str, best: float) -> str:
    """Variants that score above the method of highest mean, where they have all cells that were compared."""
    cells = scored(field.sheet.variants) if field.sheet.variants is not None else field.sheet.cells.iloc[:0]
    ahead = []
    for name, title in methods(cells):
        own = cells[cells["method"] == name]
        places = set(zip(own["dataset_label"], own["bits"].tolist(), strict=True))
        inside = own[[place in field.columns for place in zip(own["dataset_label"], own["bits"].tolist(), strict=True)]]
        if places >= set(field.columns) and _printed(_mean_over(inside)) > _printed(best):
            ahead.append(f"{title} ({_mean_over(inside):.3f})")
    verb = "scores" if len(ahead) == 1 else "score"
    return f"Of the variants, {listed(ahead)} {verb} above {dict(field.methods)[leader]} there." if ahead else ""


def _alone(field: CommonField, mean: float) -> str:
    title, score = field.methods[0][1], map_at(field.sheet.cells)
    said = f"{title} reaches a mean {score} of {mean:.3f} on {field.where()} ({_made_by(field)})"
    return f"{said}; there is nothing to compare it with."


def _lead_sentence(field: CommonField, means: dict[str, float], order: list[str], stored: StoredArrays) -> str:
    titles, (best, second) = dict(field.methods), order[:2]
    lead, score = means[best] - means[second], map_at(field.sheet.cells)
    # Only a field without gaps has a winner; otherwise the sentence speaks of those compared.
    whom = f"the {len(order)} methods" if field.complete else f"the {len(order)} methods compared"
    where = f"On {field.where()} ({_made_by(field)})"
    first = [titles[name] for name in order if _printed(means[name]) == _printed(means[best])]
    if len(first) > 1:
        return f"{where}, {listed(first)} share the highest mean {score} of {whom}, to three digits: {means[best]:.3f}."
    low, high, over = lead_interval(field, best, second, stored)
    text = (
        f"{where}, {titles[best]} has the highest mean {score} of {whom}: {means[best]:.3f}, {lead:.3f} above "
        f"{titles[second]}"
    )
    if np.isnan(low):
        return f"{text} (per-query scores are missing, so no interval)."
    doubt = "" if low > 0 else "; the interval holds zero, so the two cannot be told apart"
    alone = f", of this pair alone, chosen among {len(order)}" if len(order) > 2 else ""
    return f"{text} (95 % interval of the lead over {over}{alone}: {low:.3f} to {high:.3f}{doubt})."


def _made_by(field: CommonField) -> str:
    """Profile, backbone and seeds of what is averaged."""
    seeds = sorted(field.sheet.cells["seed"].unique())
    return f"{field.sheet.words}, {'seeds' if len(seeds) > 1 else 'seed'} {listed(seeds)}"


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
                ahead.append(f"{one.title} ({counted(len(both), 'cell')})")
    said = f"Whether a method left out would lead is not known{';' if ahead else '.'}"
    verb = "scores" if len(ahead) == 1 else "score"
    return f"{said} where they share cells, {listed(ahead)} {verb} above {titles[best]}." if ahead else said


def lead_interval(field: CommonField, best: str, second: str, stored: StoredArrays) -> tuple[float, float, str]:
    """Of the lead averaged over data sets, and what it is an interval over: with one seed each, only queries vary."""
    found = []
    for dataset in field.datasets:
        cells = field.sheet.of(dataset)
        a, b = (stored.by_seed(cells[cells["method"] == method], "ap") for method in (best, second))
        if a is None or b is None or a.shape[1] != b.shape[1]:
            return float("nan"), float("nan"), ""
        found.append((a, b))
    if all(len(a) == len(b) == 1 for a, b in found):
        draws = [bootstrap_means(a[0] - b[0], seed=number) for number, (a, b) in enumerate(found)]
        several = field.sheet.cells.loc[field.sheet.cells["method"].isin([best, second]), "seed"].nunique() > 1
        over = "queries, not over seeds, which are not the same in all cells" if several else "queries"
        return (*interval(np.mean(draws, axis=0)), over)
    single = any(len(scores) == 1 for pair in found for scores in pair)
    uneven = set(uneven_seeds(field)) & {dict(field.methods)[best], dict(field.methods)[second]}
    why = "whose seeds are not the same in all cells" if uneven else "with a single seed"
    over = f"queries and seeds{f' (one {why} is taken to vary as the other)' * single}"
    return (*mean_difference([seeded_difference(a, b) for a, b in found]).interval(), over)
