"""What goes into the figures of swept parameters: MAP against the values of one parameter. Not drawn here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmark.report.display_names import clean, slug
from benchmark.report.drawing import Drawing
from benchmark.report.looks import highlight
from benchmark.report.sheets import DatasetColumn, Sheet, at_curve_bits, map_at, scored

HUGE = 1e100  # no axis can show it


def sensitivity_figures(sheet: Sheet) -> list[Drawing]:
    """One figure per swept parameter: MAP against its values on every data set."""
    import pandas as pd

    swept: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for dataset in sheet.datasets():
        for method, parameter, rows in _sweeps(sheet, dataset):
            swept.setdefault((method, parameter), []).extend(rows)
    drawings = []
    for (method, parameter), rows in swept.items():
        data = pd.DataFrame(rows, columns=["dataset", "title", "bits", "x", "y", "std", "default"])
        label = highlight().symbols.get(parameter) or clean(parameter.replace("_", " "), 40)
        lengths = " or ".join(str(bits) for bits in sorted(data["bits"].unique()))
        title = sheet.titled(f"{data['title'].iloc[0]}: sensitivity to {label} @ {lengths} bits")
        log = bool(data["x"].min() > 0 and data["x"].max() >= 10 * data["x"].min())
        shown = sheet.cells[sheet.cells["dataset_label"].isin(data["dataset"])]
        options = {"xlabel": label, "ylabel": map_at(shown), "log": log}
        name = f"sensitivity-{slug(method)}-{slug(parameter)}-{sheet.slug}"
        drawings.append(Drawing(name, "sensitivity", title, f"{title}. One line per data set.", data, options))
    return drawings


def _sweeps(sheet: Sheet, dataset: DatasetColumn) -> Iterator[tuple[str, str, list[tuple[Any, ...]]]]:
    """(method, parameter, rows of the figure) for each parameter with at least two numeric values."""
    cells, bits = at_curve_bits(sheet, dataset) if len(scored(sheet.of(dataset))) else (sheet.cells.iloc[:0], 0)
    single = [(index, json.loads(params)) for index, params in cells["params"].items() if params]
    found: dict[tuple[str, str], dict[float, list[Any]]] = {}
    for index, params in single:
        (parameter, value), *others = params.items()
        if not others and isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < HUGE:
            found.setdefault((cells.at[index, "method"], parameter), {}).setdefault(float(value), []).append(index)
    for (method, parameter), values in found.items():
        usual = cells[(cells["method"] == method) & (cells["params"] == "")]
        default = default_value(method, parameter)
        if default is not None and len(usual):
            values[default] = list(usual.index)
        rows = []
        for value, indices in sorted(values.items()):
            scores = cells.loc[indices, "map"].astype(float)
            spread = float(scores.std()) if len(scores) > 1 else None
            title = cells.at[indices[0], "title"]
            rows.append((dataset.label, title, bits, value, float(scores.mean()), spread, value == default))
        if len(rows) > 1:
            yield method, parameter, rows


def default_value(method: str, parameter: str) -> float | None:
    """What a cell without the parameter was run with; None where the method is not at hand."""
    from benchmark.errors import UsageError
    from benchmark.registry import get_method

    try:
        value = get_method(method).info.parameters.get(parameter)
    except UsageError:
        return None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
