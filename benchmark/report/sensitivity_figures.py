"""What goes into the figures of swept parameters: MAP against the values of one parameter, of a method or of a data
set, and of a data set how far one method is ahead of another at each value. Not drawn here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmark.evaluation.statistics import seeded_difference
from benchmark.report.curve_figures import seeds_note
from benchmark.report.dataset_sweeps import DatasetSweep, dataset_sweeps
from benchmark.report.display_names import clean, slug
from benchmark.report.drawing import Drawing
from benchmark.report.looks import highlight
from benchmark.report.score_tables import settings_words
from benchmark.report.sheets import DatasetColumn, Sheet, at_curve_bits, leading, map_at, methods, scored
from benchmark.report.stored_arrays import StoredArrays
from benchmark.wording import listed

if TYPE_CHECKING:
    import pandas as pd

HUGE = 1e100  # no axis can show it
CIRCLED = "Circled: the value of a run that sets none, by its tuned settings or the default."


def sensitivity_figures(sheet: Sheet) -> list[Drawing]:
    """One figure per swept parameter: MAP against its values on every data set."""
    import pandas as pd

    swept: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for dataset in sheet.datasets():
        for method, parameter, rows in _sweeps(sheet, dataset):
            swept.setdefault((method, parameter), []).extend(rows)
    drawings = []
    for (method, parameter), rows in swept.items():
        data = pd.DataFrame(rows, columns=["dataset", "title", "bits", "x", "y", "std", "in_use"])
        label = highlight().symbols.get(parameter) or clean(parameter.replace("_", " "), 40)
        lengths = " or ".join(str(bits) for bits in sorted(data["bits"].unique()))
        title = sheet.titled(f"{data['title'].iloc[0]}: sensitivity to {label} @ {lengths} bits")
        log = bool(data["x"].min() > 0 and data["x"].max() >= 10 * data["x"].min())
        shown = sheet.cells[sheet.cells["dataset_label"].isin(data["dataset"])]
        options = {"xlabel": label, "ylabel": map_at(shown), "log": log}
        name = f"sensitivity-{slug(method)}-{slug(parameter)}-{sheet.slug}"
        alt, circled = f"{title}. One line per data set.", CIRCLED if data["in_use"].any() else ""
        told = f"{circled} {seeds_note(shown[shown['method'] == method], data)}".strip()
        drawings.append(Drawing(name, "sensitivity", title, alt, data, options, told))
    return drawings


def _sweeps(sheet: Sheet, dataset: DatasetColumn) -> Iterator[tuple[str, str, list[tuple[Any, ...]]]]:
    """(method, parameter, rows of the figure) for each parameter with at least two numeric values."""
    cells, bits = at_curve_bits(sheet, dataset) if len(scored(sheet.of(dataset))) else (sheet.cells.iloc[:0], 0)
    single = [(index, json.loads(params)) for index, params in cells["params"].items() if params]
    found: dict[tuple[str, str], dict[float, list[Any]]] = {}
    for index, params in single:
        (parameter, value), *others = params.items()
        number = _plain_number(value)
        if not others and number is not None and abs(number) < HUGE:
            found.setdefault((cells.at[index, "method"], parameter), {}).setdefault(number, []).append(index)
    for (method, parameter), values in found.items():
        usual = cells[(cells["method"] == method) & (cells["params"] == "")]
        in_use = value_in_use(usual, method, parameter)
        if in_use is not None:
            values.setdefault(in_use, list(usual.index))  # of equals the swept: both are one training
        rows = []
        for value, indices in sorted(values.items()):
            scores = cells.loc[indices, "map"].astype(float)
            spread = float(scores.std()) if len(scores) > 1 else None
            title = cells.at[indices[0], "title"]
            rows.append((dataset.label, title, bits, value, float(scores.mean()), spread, value == in_use))
        if len(rows) > 1:
            yield method, parameter, rows


def value_in_use(usual: pd.DataFrame, method: str, parameter: str) -> float | None:
    """What cells without the parameter were run with, tuned or by default; None where there are none, they differ, or
    the method is not at hand."""
    known = [json.loads(tuned or "{}").get(parameter, default_value(method, parameter)) for tuned in usual["tuned"]]
    return _plain_number(known[0]) if known and all(one == known[0] for one in known) else None


def default_value(method: str, parameter: str) -> object:
    from benchmark.errors import UsageError
    from benchmark.registry import get_method

    try:
        return get_method(method).info.parameters.get(parameter)
    except UsageError:
        return None


def _plain_number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


# --- of data sets ------------------------------------------------------------------------------------------

SIZES = ["largest_class", "smallest_class", "train_rows"]


def dataset_figures(sheet: Sheet, stored: StoredArrays) -> list[Drawing]:
    """Per swept parameter of a data set: MAP against its values, a line per method, a panel per length; and what the
    first of the methods shown side by side is ahead of the second."""
    drawings = []
    for one in dataset_sweeps(sheet.cells):
        swept = replace(one, cells=scored(one.cells))
        if len(swept.values) > 1:
            drawings += [_dataset_figure(sheet, swept), *_gain_figure(sheet, swept, stored)]
    return drawings


def _dataset_figure(sheet: Sheet, swept: DatasetSweep) -> Drawing:
    data, label = _along_values(swept), _label(swept)
    lengths = listed([str(bits) for bits in sorted(data["bits"].unique())])
    score = map_at(swept.cells)
    title = sheet.titled(f"{score} against {label} of {swept.base} @ {lengths} bits")
    options = {**_axis(swept, data), "ylabel": score, "wide": data["bits"].nunique() > 1}
    name = f"sweep-{slug(swept.dataset)}-{slug(swept.parameter)}-{sheet.slug}"
    note = f"{_note(swept)} {seeds_note(swept.cells, data)}".strip()
    return Drawing(name, "swept_data", title, f"{title}. One line per method.", data, options, note)


def _label(swept: DatasetSweep) -> str:
    return clean(highlight().symbols.get(swept.parameter) or swept.parameter.replace("_", " "), 40)


def _axis(swept: DatasetSweep, data: pd.DataFrame) -> dict[str, Any]:
    log = swept.numeric and bool(data["x"].min() > 0 and data["x"].max() >= 10 * data["x"].min())
    return {"xlabel": _label(swept), "log": log, "ticks": [] if swept.numeric else list(swept.values)}


def _places(swept: DatasetSweep) -> dict[str, Any]:
    """What each value is called -> where it stands on the axis."""
    return {name: value if swept.numeric else place for place, (name, value) in enumerate(swept.values.items())}


def _along_values(swept: DatasetSweep) -> pd.DataFrame:
    """Means over seeds, length by length and method by method, along the values."""
    import pandas as pd

    cells, rows, places = swept.by_value, [], _places(swept)
    for bits in sorted(cells["bits"].unique()):
        for method, title in methods(cells):
            own = cells[(cells["bits"] == bits) & (cells["method"] == method)]
            for name, at in own.groupby("dataset_label", sort=False):
                spread = float(at["map"].std()) if len(at) > 1 else None
                told = [at[column].iloc[0] for column in (*SIZES, "settings")]
                rows.append((bits, method, title, name, places[str(name)], float(at["map"].mean()), spread, *told))
    return pd.DataFrame(rows, columns=["bits", "method", "title", "value", "x", "y", "std", *SIZES, "settings"])


def _gain_figure(sheet: Sheet, swept: DatasetSweep, stored: StoredArrays) -> list[Drawing]:
    """How far the first is ahead of the second of the two shown side by side; nothing where they share too little."""
    pair = leading(swept.cells, sheet.highlight)[:2]
    data = _gains(swept, pair, stored) if len(pair) == 2 else None
    if data is None or data["value"].nunique() < 2:
        return []
    first, second = (dict(methods(swept.cells))[name] for name in pair)
    score = map_at(swept.cells)
    title = sheet.titled(f"{first} above {second}: {score} against {_label(swept)} of {swept.base}")
    options = {**_axis(swept, data), "ylabel": f"{score} of {first} − {second}"}
    name = f"gain-{slug(swept.dataset)}-{slug(swept.parameter)}-{sheet.slug}"
    over = "queries and seeds" if data["seeds"].min() > 1 else "queries"
    told = f"Means over seeds; whiskers: 95 % intervals of the difference, over {over}. {_note(swept)}"
    return [Drawing(name, "gain", title, f"{title}. One line per code length.", data, options, told)]


def _gains(swept: DatasetSweep, pair: list[str], stored: StoredArrays) -> pd.DataFrame:
    """Differences with their intervals, length by length along the values, where all cells of both have their APs."""
    import pandas as pd

    cells, rows, places = swept.by_value, [], _places(swept)
    for (bits, name), own in cells.groupby(["bits", "dataset_label"], sort=False):
        both = [own[own["method"] == method] for method in pair]
        a, b = (stored.by_seed(one, "ap") if len(one) else None for one in both)
        if a is not None and b is not None and a.shape[1] == b.shape[1]:
            found = seeded_difference(a, b)
            seeds = min(len(a), len(b))
            rows.append((bits, name, places[str(name)], found.mean, *found.interval(), seeds))
    data = pd.DataFrame(rows, columns=["bits", "value", "x", "y", "low", "high", "seeds"])
    return data.sort_values(["bits", "x"], ignore_index=True)


def _note(swept: DatasetSweep) -> str:
    """What the values come to in rows, what is the same for all, and how settings were chosen at each."""
    sizes = []
    for name, cells in swept.by_value.groupby("dataset_label", sort=False):
        largest, smallest, rows = cells[SIZES].iloc[0]
        if largest == largest and rows == rows:  # known
            sizes.append(f"{name} {largest:.0f}:{smallest:.0f} of {rows:,.0f}")
    told = f"Largest to smallest class of the training rows: {'; '.join(sizes)}. " if sizes else ""
    return f"{told}Settings: {settings_words(swept.by_value)}."
