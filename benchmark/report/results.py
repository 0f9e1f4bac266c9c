"""Results for notebooks and scripts: a results folder as pandas frames, tables and a report.

    results = benchmark.results("results")
    results.frame()          one row per cell
    results.table("map")     methods x (data set, bits), means over seeds
    results.report()         tables, figures and a page; returns its path

Only results that today's code and data would make again count, as in every report. pandas is loaded when asked.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import UsageError
from benchmark.execution.store import Store

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 4


class Results:
    """What lies in a results folder. Reads the folder anew whenever it is asked."""

    def __init__(self, source: Store | str | Path) -> None:
        self.store = source if isinstance(source, Store) else Store(source)

    def stale(self) -> set[str]:
        """Keys of records that a run today would not make; they do not count."""
        from benchmark.execution.plan import stale_keys

        return set(stale_keys(self.store))

    def frame(self, **filters: Any) -> pd.DataFrame:
        """One row per record, in the order of tables; the columns are described in `benchmark.report.record_frame`.

        `current` says whether a row counts. Filters as in `report`.
        """
        from benchmark.report.record_frame import record_frame
        from benchmark.report.selection import read_records, selected

        records, _ = read_records(self.store)
        return record_frame(selected(records, _collections(filters)), self.stale())

    def table(self, score: str = "map", **filters: Any) -> pd.DataFrame:
        """Means over seeds of one score: methods x (data set, bits). Swept parameters are left out.

        Rows begin with the setting (profile, backbone, weights) where results of several lie in the folder.
        """
        import pandas as pd

        from benchmark.report.sheets import defaults, methods, scored, sheets

        frame = self.frame(**filters)
        parts = {}
        for sheet in (defaults(one) for one in sheets(frame)):
            good = scored(sheet.cells)
            if score not in good or not pd.api.types.is_numeric_dtype(good[score]):
                known = ", ".join(str(name) for name in good.select_dtypes("number").columns)
                raise UsageError(f"results: there is no score '{score}'; there are: {known}")
            wide = good.pivot_table(index="method", columns=["dataset_label", "bits"], values=score, sort=False)
            names = methods(good)
            wide = wide.reindex([name for name, _ in names]).set_axis([title for _, title in names])
            columns = [(one.label, int(b)) for one in sheet.datasets() for b in sorted(sheet.of(one)["bits"].unique())]
            parts[sheet.words] = wide.reindex(columns=pd.MultiIndex.from_tuples(columns))
        return _stacked(parts)

    def report(self, out: str | Path = "reports/default", *, force: bool = False, **filters: Any) -> Path:
        """Write the report into the folder `out` and return the path of its page.

        Filters keep some records only, each a value or several: `methods`, `datasets`, `bits`, `seeds`, `profiles`,
        `backbones`, `revisions`, as in `report(methods=["itq", "lsh"], bits=64)`.
        """
        from benchmark.report import render

        return render(self.store, Path(out), force=force, stale=self.stale(), only=_collections(filters))

    def __len__(self) -> int:
        """Number of records that count."""
        return len(set(self.store.keys()) - self.stale())

    def __repr__(self) -> str:
        return f"Results({str(self.store.root)!r}: {len(self)} cells)"

    def _repr_html_(self) -> str:
        """The table of MAP, for notebooks."""
        heading = f"<p>{html.escape(str(self.store.root))}: {len(self)} cells</p>"
        if not len(self):
            return heading
        return heading + str(self.table("map").to_html(float_format=f"%.{DIGITS}f", na_rep="–"))


def results(folder: str | Path = "results") -> Results:
    """The results in a folder."""
    if not Path(folder).is_dir():
        raise UsageError(f"results folder '{folder}' does not exist; give the folder that a run wrote")
    return Results(folder)


def _collections(filters: dict[str, Any]) -> dict[str, Collection[Any]]:
    """`bits=64` means `bits=[64]`."""
    return {
        name: [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
        for name, value in filters.items()
    }


def _stacked(parts: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One frame; under the names of their settings where there are several."""
    import pandas as pd

    if not parts:
        return pd.DataFrame(columns=pd.MultiIndex.from_tuples([], names=["dataset", "bits"]))
    several = len(parts) > 1
    stacked = pd.concat(parts) if several else next(iter(parts.values()))
    stacked.index.names = ["setting", "method"] if several else ["method"]
    stacked.columns.names = ["dataset", "bits"]
    return stacked
