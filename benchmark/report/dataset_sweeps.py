"""Which data sets of a report are one data set at several values of a parameter: what `--sweep DATASET.NAME` makes.

They are recognised by the words they were asked for in, so a report needs nothing but records. Of such a sweep the data
set without the parameter, the base, stands in the ordinary tables; its variations have a table and a figure of their
own, for they must not weigh in a mean over data sets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmark.report.display_names import clean

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = "default"  # a value that no record and no data set at hand can tell
LONGEST_VALUE = 30


@dataclass(frozen=True, eq=False)
class DatasetSweep:
    """One data set at several values of one parameter."""

    dataset: str
    parameter: str
    base: str  # label of the data set without the parameter
    cells: pd.DataFrame  # of all of them, value by value, with the column `value`

    @property
    def values(self) -> dict[str, Any]:
        """What each value is called -> the value, in the order of an axis."""
        return {value_words(value): value for value in self.cells["value"]}

    @property
    def by_value(self) -> pd.DataFrame:
        """The cells with data sets called by their values."""
        return self.cells.assign(dataset_label=self.cells["value"].map(value_words))

    @property
    def numeric(self) -> bool:
        return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in self.values.values())


def dataset_sweeps(cells: pd.DataFrame) -> list[DatasetSweep]:
    """All of them among these rows of the frame."""
    if cells.empty:
        return []
    paths = cells["spec"].str.partition(":")[2].rename("path")
    found = []
    for (dataset, _), own in cells.groupby([cells["dataset"], paths], sort=False):
        options = [json.loads(text) if text else {} for text in own["options"]]
        for parameter in sorted({name for one in options for name in one}):
            found += list(_sweeps_of(str(dataset), parameter, own, options))
    return found


def variations(cells: pd.DataFrame) -> set[str]:
    """Labels of data sets that are another one with a parameter changed."""
    return {label for one in dataset_sweeps(cells) for label in one.cells["dataset_label"] if label != one.base}


def _sweeps_of(
    dataset: str, parameter: str, cells: pd.DataFrame, options: list[dict[str, Any]]
) -> Iterator[DatasetSweep]:
    """Of one data set those that agree in all but this parameter, where the base is there too."""
    import pandas as pd

    usual = default_option(dataset, str(cells["spec"].iloc[0]), parameter)
    values = [one.get(parameter, usual) for one in options]
    others = [json.dumps(one | {parameter: None}, sort_keys=True) for one in options]
    as_given = pd.Series(values, cells.index, dtype=object)  # a None among numbers stays one
    told = cells.assign(value=as_given, words=[value_words(value) for value in values], others=others)
    for _, alike in told.groupby("others", sort=False):
        base = alike.loc[alike["words"] == value_words(usual), "dataset_label"].unique()
        alone = alike.groupby("words")["dataset_label"].nunique().max() == 1  # a value of two contents tells nothing
        if len(base) and alone and alike["words"].nunique() > 1:
            ordered = alike.iloc[_order(alike)].drop(columns=["words", "others"])
            yield DatasetSweep(dataset, parameter, str(base[0]), ordered)


def _order(cells: pd.DataFrame) -> list[int]:
    """Rows by value: numbers by size, others by the skew that they make, or else in the order they were run in."""
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in cells["value"])
    skew = cells["largest_class"] / cells["smallest_class"].clip(lower=1)
    by_skew = skew.groupby(cells["words"]).transform("max")
    if numbers:
        places = cells["value"].astype(float)
    elif by_skew.notna().all() and by_skew.nunique() > 1:
        places = by_skew
    else:
        places = cells["ended"].groupby(cells["words"]).transform("min")
    return sorted(range(len(cells)), key=lambda row: (places.iloc[row], cells["words"].iloc[row]))


def value_words(value: Any) -> str:
    """A value as an axis shows it."""
    if value is None:
        return DEFAULT
    return clean(value if isinstance(value, str) else json.dumps(value), LONGEST_VALUE)


def default_option(dataset: str, spec: str, parameter: str) -> Any:
    """What a data set was asked for with where nothing was said; None where it is not at hand."""
    from benchmark.registry import datasets

    known = datasets.names_unloaded()
    name = dataset if dataset in known else spec.partition(":")[0]
    return datasets.get(name).info.parameters.get(parameter) if name in known else None
