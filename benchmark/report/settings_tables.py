"""Tables of settings: what every cell was run with beside its method's defaults, and the scores of parameters that
were set by hand, which stand in no other table where the method was run without them, too."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmark.execution.record import CODES_ONLY
from benchmark.report.display_names import slug
from benchmark.report.score_tables import caption, map_table, seed_words
from benchmark.report.sheets import Sheet, defaults, methods, scored, setting_words
from benchmark.report.stored_arrays import StoredArrays
from benchmark.report.table import DASH, Column, Entry, Table, text

if TYPE_CHECKING:
    import pandas as pd

KIND, DEFAULTS = "Settings", "defaults"
IN_FORCE = (
    "What each cell was run with beside the defaults of its method ('list METHOD' prints those){profile}. A method "
    "without a row for a data set has no score there, or ran by its defaults."
)
OF_PROFILE = " and the values of the profile, which the experimental setup has"  # as it does where networks are trained
PLAIN_ROWS = "The rows without brackets are those of the other tables."
COMPARED = "Settings are compared by queries here: the best row is no setting to report, for which there is 'tune'."


def settings_tables(sheet: Sheet, stored: StoredArrays) -> list[Table]:
    """`sheet` with all its cells, changed parameters included."""
    found = [_in_force(defaults(sheet)), *(_by_hand(sheet, name, stored) for name, _ in methods(sheet.cells))]
    return [table for table in found if table is not None]


def _in_force(sheet: Sheet) -> Table | None:
    """A row per method and data set, a column per length; nothing where all run by their defaults."""
    cells = scored(sheet.cells)
    if not (cells["tuned"].astype(bool) | cells["params"].astype(bool)).any():
        return None
    lengths = sorted(cells["bits"].unique())
    columns = [Column("Method", numeric=False), Column("Data set", numeric=False)]
    columns += [Column(f"{bits} bits", numeric=False) for bits in lengths]
    rows: list[list[Entry]] = []
    for name, title in methods(cells):
        for dataset in sheet.datasets():
            own = cells[(cells["method"] == name) & (cells["dataset_label"] == dataset.label)]
            told = [_words_of(own[own["bits"] == bits]) for bits in lengths]
            if not set(told) <= {DASH, DEFAULTS}:
                rows.append([text(title), text(dataset.label), *map(text, told)])
    shared = caption(sheet, spreads=False)
    title, name = sheet.titled("Settings in force"), f"settings-{sheet.slug}"
    note = IN_FORCE.format(profile=OF_PROFILE if "deep" in set(cells["family"]) else "")
    return Table(name, title, note, columns, rows, shared=shared, kind=KIND, screen=True)


def _words_of(cells: pd.DataFrame) -> str:
    """`gamma 0.5, learning_rate 0.01`; of seeds that were run with different ones, all of them."""
    if cells.empty:
        return DASH
    if (cells["settings"] == CODES_ONLY).all():
        return "not known"
    every = [
        json.loads(tuned or "{}") | json.loads(given or "{}") for tuned, given in zip(*_settings(cells), strict=True)
    ]
    told = [", ".join(f"{name} {value}" for name, value in sorted(one.items())) or DEFAULTS for one in every]
    return "; ".join(dict.fromkeys(told))


def _settings(cells: pd.DataFrame) -> tuple[list[str], list[str]]:
    return cells["tuned"].tolist(), cells["params"].tolist()


def _by_hand(sheet: Sheet, method: str, stored: StoredArrays) -> Table | None:
    """MAP of one method with each setting that was given, beside that without, where it was run in several ways."""
    own = sheet.cells[sheet.cells["method"] == method]
    if own["params"].nunique() < 2:
        return None
    given = (own["params"] != "").groupby([own["dataset_label"], own["bits"]]).transform("any")
    own = own[given]
    names = [f"{method} {params}".rstrip() for params in own["params"]]
    titles = [title + setting_words(params) for title, params in zip(own["title"], own["params"], strict=True)]
    part = replace(sheet, cells=own.assign(method=names, title=titles))
    title = sheet.titled(f"Parameters of {own['title'].iloc[0]} given by hand")
    here, shared = seed_words(scored(part.cells)), seed_words(scored(defaults(sheet).cells))
    told = [f"Here: {here}."] if here != shared else []  # what a page says once is of the sheet
    told += [PLAIN_ROWS] if (own["params"] == "").any() else []
    told += [COMPARED] if own["params"].nunique() > 1 else []
    name = f"given-{slug(method)}-{sheet.slug}"
    return replace(map_table(part, stored, name=name, title=title, note=" ".join(told)), kind=KIND)
