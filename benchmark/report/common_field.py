"""Who is compared with whom: the methods, no controls, and columns of a sheet of which every cell has a score.

A mean or a rank over cells that only some methods have names a winner of nothing. What is shared is compared; who is
not among the compared, and why, stands beside every such number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.report.sheets import DatasetColumn, Sheet, competitors, controls, methods, scored
from benchmark.wording import counted, listed, some_listed

if TYPE_CHECKING:
    import pandas as pd

NOT_RUN = "not run"


@dataclass(frozen=True)
class Absent:
    """A method that is not compared: how many of the compared columns it lacks, and why."""

    method: str
    title: str
    lacking: dict[str, int]  # status -> columns
    of: int

    @property
    def why(self) -> str:
        reasons = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in self.lacking.items())
        return f"no score in {sum(self.lacking.values())} of {counted(self.of, 'cell')}: {reasons}"


@dataclass(frozen=True)
class LeftOut:
    """A column that is not compared, and the compared methods that have no score in it."""

    label: str
    bits: int
    lacking: list[str]

    @property
    def place(self) -> str:
        return f"{self.label} at {self.bits} bits"

    @property
    def why(self) -> str:
        return f"no score of {some_listed(self.lacking)}"


@dataclass(frozen=True, eq=False)
class CommonField:
    """A full block: every one of `methods` has a score in every one of `columns` (label of the data set, bits)."""

    sheet: Sheet  # the scored cells of the block
    methods: list[tuple[str, str]]  # name and title
    datasets: list[DatasetColumn]
    columns: list[tuple[str, int]]
    absent: list[Absent]
    left_out: list[LeftOut]
    fewer_seeds: list[str]  # titles of compared methods that lack seeds which others have
    controls: list[str]  # titles of those that have scores, and are never compared

    @property
    def complete(self) -> bool:
        """Whether every method of the sheet is compared on every column of it."""
        return not self.absent and not self.left_out

    def where_on(self, dataset: DatasetColumn) -> str:
        """Code lengths on one data set: `At 16 and 32 bits`."""
        return f"At {listed([bits for label, bits in self.columns if label == dataset.label])} bits"

    def where(self) -> str:
        """Data sets and code lengths: `A and B at 16 and 32 bits`."""
        lengths = {one.label: [bits for label, bits in self.columns if label == one.label] for one in self.datasets}
        if len({tuple(bits) for bits in lengths.values()}) == 1:
            return f"{listed(list(lengths))} at {listed(next(iter(lengths.values())))} bits"
        return listed([f"{label} at {listed(bits)} bits" for label, bits in lengths.items()])


def common_field(sheet: Sheet) -> CommonField:
    """The largest shared block, found by dropping the emptiest method or column until none has a gap."""
    yardsticks = [title for _, title in controls(scored(sheet.cells))]
    sheet = replace(sheet, cells=competitors(sheet.cells))
    good = scored(sheet.cells)
    names = methods(sheet.cells)
    columns = list(dict.fromkeys(zip(sheet.cells["dataset_label"], sheet.cells["bits"].tolist(), strict=True)))
    columns.sort(key=lambda column: ([one.label for one in sheet.datasets()].index(column[0]), column[1]))
    have = set(zip(good["method"], good["dataset_label"], good["bits"].tolist(), strict=True))
    filled = np.array([[(name, *column) in have for column in columns] for name, _ in names], bool)
    rows, kept = full_block(filled.reshape(len(names), len(columns)))
    chosen = [columns[i] for i in kept] if rows else []
    compared = [names[i] for i in rows]
    places = zip(good["dataset_label"], good["bits"].tolist(), strict=True)
    inside = good["method"].isin([name for name, _ in compared]) & np.array([place in chosen for place in places], bool)
    block = sheet.only(sheet.cells.index.isin(good.index[inside]))
    absent = [_absent(sheet, name, chosen or columns) for name in names if name not in compared]
    left_out = [_left_out(column, compared, have) for column in columns if column not in chosen]
    fewer = fewer_seeds(block.cells)
    return CommonField(block, compared, block.datasets(), chosen, absent, left_out, fewer, yardsticks)


def _left_out(column: tuple[str, int], compared: Sequence[tuple[str, str]], have: Collection[Any]) -> LeftOut:
    return LeftOut(*column, [title for name, title in compared if (name, *column) not in have])


def full_block(filled: np.ndarray) -> tuple[list[int], list[int]]:
    """Rows and columns of a block without a gap: the emptiest row or column goes first, of equals a column.

    Two rows that share a column stay: one method alone is compared with nothing.
    """
    rows, columns = list(range(filled.shape[0])), list(range(filled.shape[1]))
    while rows and columns and not filled[np.ix_(rows, columns)].all():
        block = filled[np.ix_(rows, columns)]
        by_row, by_column = block.mean(axis=1), block.mean(axis=0)
        last_two = len(rows) == 2 and bool(block.all(axis=0).any())
        if last_two or by_column.min() <= by_row.min():
            columns.pop(len(columns) - 1 - int(by_column[::-1].argmin()))
        else:
            rows.pop(len(rows) - 1 - int(by_row[::-1].argmin()))
    if not rows or not columns:
        return [], []
    # One that went early may have no gap in what is left.
    rows = [i for i in range(filled.shape[0]) if filled[i, columns].all()]
    return rows, [j for j in range(filled.shape[1]) if filled[rows, j].all()]


def _absent(sheet: Sheet, method: tuple[str, str], columns: Sequence[tuple[str, int]]) -> Absent:
    name, title = method
    own = sheet.cells[sheet.cells["method"] == name]
    lacking: Counter[str] = Counter()
    for label, bits in columns:
        statuses = own.loc[(own["dataset_label"] == label) & (own["bits"] == bits), "status"].tolist()
        if "ok" not in statuses:
            lacking[statuses[0] if statuses else NOT_RUN] += 1
    return Absent(name, title, dict(lacking), len(columns))


def fewer_seeds(cells: pd.DataFrame) -> list[str]:
    """Titles of methods whose means are over fewer seeds than others' in some column."""
    if cells.empty:
        return []
    seeds = cells.groupby(["dataset_label", "bits", "method"])["seed"].nunique()
    most = seeds.groupby(level=["dataset_label", "bits"]).transform("max")
    lacking = set(seeds[seeds < most].index.get_level_values("method"))
    return [title for name, title in methods(cells) if name in lacking]


def uneven_seeds(field: CommonField) -> list[str]:
    """Titles of methods that on some data set have other seeds at one length than at another: no spread over seeds can
    be had of their means over lengths."""
    seeds = field.sheet.cells.groupby(["method", "dataset_label", "bits"])["seed"].agg(frozenset)
    kinds = seeds.groupby(level=["method", "dataset_label"]).nunique()
    uneven = set(kinds[kinds > 1].index.get_level_values("method"))
    return [title for name, title in field.methods if name in uneven]


def left_out_words(field: CommonField) -> str:
    """Who and what is not compared, all by name, in sentences; empty where all is compared."""
    said = []
    if field.absent:
        named = _by_reason([(one.title, one.why) for one in field.absent])
        said.append(f"Not compared, for want of scores: {named}.")
    if field.left_out:
        total, named = len(field.left_out) + len(field.columns), _by_reason([(o.place, o.why) for o in field.left_out])
        said.append(f"Of {total} columns (data set and code length) {len(field.left_out)} left out: {named}.")
    if field.fewer_seeds:
        said.append(f"Over fewer seeds than others in some cells: {listed(field.fewer_seeds)}.")
    said += [field.sheet.elsewhere_words] if field.sheet.elsewhere_words else []
    return " ".join([*said, *([f"Controls, never compared: {listed(field.controls)}."] if field.controls else [])])


def _by_reason(left: Sequence[tuple[str, str]]) -> str:
    """Names with why they are left out, those of one reason together: of thirty, each is named."""
    groups: dict[str, list[str]] = {}
    for name, why in left:
        groups.setdefault(why, []).append(name)
    return "; ".join(f"{listed(names)} ({'each with ' * (len(names) > 1)}{why})" for why, names in groups.items())
