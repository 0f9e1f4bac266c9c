"""What goes into the curves of a sheet: frames of (method, x, y) from cells and stored arrays; not drawn here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmark.report.drawing import Drawing
from benchmark.report.sheets import (
    DatasetColumn,
    Sheet,
    chance_level,
    competitors,
    controls,
    curve_bits,
    map_at,
    methods,
    scored,
)
from benchmark.report.stored_arrays import StoredArrays
from benchmark.wording import sentence

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["method", "title", "x", "y", "std", "family"]


def against_bits(cells: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean (and spread over seeds) of a score against the number of bits."""
    import pandas as pd

    good = scored(cells).dropna(subset=[column]) if column in cells else cells.iloc[:0]
    rows: list[tuple[Any, ...]] = []
    for method, title in methods(good):
        for bits, group in good[good["method"] == method].groupby("bits"):
            values = group[column].astype(float)
            spread = values.std() if len(values) > 1 else None
            rows.append((method, title, bits, values.mean(), spread, group["family"].iloc[0]))
    return pd.DataFrame(rows, columns=COLUMNS)


def along(cells: pd.DataFrame, stored: StoredArrays, x: str, y: str) -> pd.DataFrame:
    """A stored curve of each method, averaged over seeds."""
    import pandas as pd

    parts = []
    good = scored(cells)
    for method, title in methods(good):
        group = good[good["method"] == method]
        xs, ys = stored.mean(group, x), stored.mean(group, y)
        if xs is not None and ys is not None and xs.shape == ys.shape:
            told = {"method": method, "title": title, "x": xs, "y": ys, "std": None, "family": group["family"].iloc[0]}
            parts.append(pd.DataFrame(told))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)


def three_panels(
    sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays
) -> dict[str, tuple[pd.DataFrame, dict[str, Any]]]:
    """P@H<=2 against bits, PR and P@N: name -> (data, panel options)."""
    cells = sheet.of(dataset)
    bits = curve_bits(cells)
    at = cells[cells["bits"] == bits]
    ticks = [int(b) for b in sorted(scored(cells)["bits"].unique())]
    radius = {
        "xlabel": "Number of bits",
        "ylabel": "Precision",
        "title": "Precision within radius 2",
        "xticks": ticks,
    }
    recall = {
        "xlabel": "Recall",
        "ylabel": "Precision",
        "title": f"Precision-recall @ {bits} bits",
        "unit": True,
    }
    top_n = {
        "xlabel": "Number of top returned images N",
        "ylabel": "Precision",
        "title": f"P@N @ {bits} bits",
    }
    return {
        "radius": (_with_empty_balls(against_bits(cells, "precision_at_radius_2"), cells), radius),
        "recall": (along(at, stored, "recall", "precision"), recall),
        "top-n": (along(at, stored, "n", "precision_at_n"), top_n),
    }


def _with_empty_balls(data: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """P@H<=2 never stands without the share of queries whose ball is empty."""
    share = against_bits(cells, "empty_ball_share")[["method", "x", "y"]].rename(columns={"y": "empty_ball_share"})
    return data.merge(share, on=["method", "x"], how="left")


def dataset_curves(sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays) -> list[Drawing]:
    """The paper's three panels of a data set, alone and as one strip, and MAP against bits."""
    import pandas as pd

    panels = three_panels(sheet, dataset, stored)
    stem = f"{dataset.slug}-{sheet.slug}"
    drawings = []
    for name, (data, panel) in panels.items():
        if len(data):
            title = sheet.titled(f"{dataset.label}: {panel['title']}")
            kind = "radius" if name == "radius" else "panel"
            note = seeds_note(sheet.of(dataset), data)
            drawings.append(Drawing(f"{name}-{stem}", kind, title, _alt(title, data), data, panel, note))
    if all(len(data) for data, _ in panels.values()):
        data = pd.concat([data.assign(panel=name) for name, (data, _) in panels.items()], ignore_index=True)
        options = {"panels": {name: panel for name, (_, panel) in panels.items()}}
        title = sheet.titled(dataset.label)
        note = seeds_note(sheet.of(dataset), data)
        drawings.append(Drawing(f"strip-{stem}", "strip", title, _alt(title, data), data, options, note))
    data = against_bits(sheet.of(dataset), "map")
    if len(data):
        drawings.append(_map_against_bits(sheet, dataset, data, stem))
    return drawings


def _map_against_bits(sheet: Sheet, dataset: DatasetColumn, data: pd.DataFrame, stem: str) -> Drawing:
    cells = sheet.of(dataset)
    title = sheet.titled(f"{dataset.label}: {map_at(cells)}")
    return Drawing(f"map-{stem}", "panel", title, _alt(title, data), data, _map_panel(cells), seeds_note(cells, data))


def seeds_note(cells: pd.DataFrame, data: pd.DataFrame) -> str:
    """What a figure does with several seeds: a mean, and whiskers where it has them; nothing where there is one."""
    if scored(cells)["seed"].nunique() < 2:
        return ""
    whiskers = "; whiskers: one standard deviation (n − 1)" if "std" in data and data["std"].notna().any() else ""
    return f"Means over seeds{whiskers}."


def _map_panel(cells: pd.DataFrame) -> dict[str, Any]:
    return {
        "xlabel": "Number of bits",
        "ylabel": map_at(cells),
        "xticks": [int(b) for b in sorted(scored(cells)["bits"].unique())],
        "chance": chance_level(cells),
    }


def overview_figure(sheet: Sheet) -> list[Drawing]:
    """What a page opens with: MAP against bits, one panel per data set; without the controls, which are in the tables.

    The axes begin just below chance, as those of the single figures do.
    """
    import pandas as pd

    own = replace(sheet, cells=competitors(sheet.cells))
    parts = {one.label: against_bits(own.of(one), "map") for one in own.datasets() if len(scored(own.of(one)))}
    if not parts:
        return []
    data = pd.concat([part.assign(dataset=label) for label, part in parts.items()], ignore_index=True)
    panels = {one.label: _map_panel(own.of(one)) for one in own.datasets() if one.label in parts}
    title = sheet.titled(f"{map_at(own.cells)} against the number of bits")
    chance = (
        "dotted: chance, just above the end of the axis"
        if any(one["chance"] is not None for one in panels.values())
        else ""
    )
    alt = f"{_alt(title, data)} One panel per data set: {', '.join(panels)}."
    without = "Without the controls." if controls(scored(sheet.cells)) else ""
    told = (f"{sentence(chance)}." if chance else "", seeds_note(own.cells, data), without)
    said = " ".join(part for part in told if part)
    return [Drawing(f"overview-{sheet.slug}", "overview", title, alt, data, {"panels": panels, "wide": True}, said)]


def _alt(title: str, data: pd.DataFrame) -> str:
    names = ", ".join(dict.fromkeys(data["title"]))
    return f"{title}. One line per method: {names}."


def explorer_charts(sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays) -> list[dict[str, Any]]:
    """The same curves at every code length, as plain values for the page."""
    cells = sheet.of(dataset)
    lengths = [int(bits) for bits in sorted(scored(cells)["bits"].unique())]
    where = f"{dataset.label} ({sheet.words})"
    common: dict[str, Any] = {"dataset": where, "bits": "all", "xlabel": "bits", "ticks": lengths}
    charts: list[dict[str, Any]] = [
        common | {"kind": kind, "ylabel": label, "series": _series(against_bits(cells, column))}
        for kind, label, column in (
            ("MAP", map_at(cells), "map"),
            ("Precision within radius 2", "P@H≤2", "precision_at_radius_2"),
            ("Empty balls of radius 2", "share of queries", "empty_ball_share"),
        )
    ]
    for bits in lengths:
        at = cells[cells["bits"] == bits]
        shared = {"dataset": where, "bits": bits, "ylabel": "precision"}
        recall = _series(along(at, stored, "recall", "precision"))
        top_n = _series(along(at, stored, "n", "precision_at_n"))
        charts.append(shared | {"kind": "Precision-recall", "xlabel": "recall", "series": recall})
        charts.append(shared | {"kind": "P@N", "xlabel": "N", "series": top_n})
    return [chart for chart in charts if chart["series"]]


def _series(data: pd.DataFrame) -> list[dict[str, Any]]:
    known = data.dropna(subset=["x", "y"])
    return [
        {
            "method": method,
            "title": title,
            "x": [round(float(x), 4) for x in rows["x"]],
            "y": [round(float(y), 4) for y in rows["y"]],
        }
        for (method, title), rows in known.groupby(["method", "title"], sort=False)
    ]
