"""hashbench from Python, for scripts and notebooks: run a grid, and look at results as pandas frames.

    results = benchmark.run("coco", ["itq", "dph"], bits=[16, 64])   the names are those of the flags
    results = benchmark.results("results")                           what lies in a folder already
    results.frame()          one row per cell
    results.table("map")     methods x (data set, bits), means over seeds
    results.report()         tables, figures and a page; returns its path

    codes = benchmark.load_model("dph coco 64").encode("photos")     by a model that a run kept (keep_models=True)

The command line does the same with words. pandas and torch are loaded when they are needed.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import UsageError
from benchmark.execution.grid import Grid, Sweep, choose_datasets, make_grid
from benchmark.execution.options import Options, usable_cores, visible_gpus
from benchmark.execution.plan import (
    Again,
    PlannedCell,
    chosen_again,
    plan,
    stale_keys,
    to_run,
    wanting_models,
    without_rows,
)
from benchmark.execution.progress import Silence
from benchmark.execution.store import Store, tune_store
from benchmark.execution.tuned_settings import TunedSettings, read_tuned, shipped
from benchmark.registry import load_plugin
from benchmark.registry import methods as registered_methods
from benchmark.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from benchmark.execution.model import Model

Names = str | Iterable[Any]
DIGITS = 4


def run(
    datasets: Names = ("imagenet", "nus", "coco"),
    methods: Names = "paper",
    bits: int | Iterable[int] = (16, 32, 48, 64),
    seeds: int | Iterable[int] = 0,
    *,
    set: Mapping[str, Mapping[str, Any]] | None = None,
    sweep: Sweep | None = None,
    tune: bool = False,
    trials: int = 24,
    folds: int = 3,
    tuned: str | Path | None = None,
    untuned: bool = False,
    profile: str | Path | None = None,
    data_root: str | Path | None = None,
    option: Mapping[str, Mapping[str, Any]] | None = None,
    backbone: str | None = None,
    weights: str | Path | None = None,
    partial_weights: bool = False,
    skip_broken: bool = False,
    allow_overlap: bool = False,
    plugin: Names = (),
    results: str | Path = "results",
    jobs: int | None = None,
    threads: int = 1,
    timeout: float | None = None,
    memory: int | None = None,
    dask: str | None = None,
    log: str | None = None,
    force: bool = False,
    only_failed: bool = False,
    keep_failed: bool = False,
    keep_models: bool = False,
    quiet: bool = False,
) -> Results:
    """Run a grid and return its results: `run("coco", ["itq", "dph"], bits=64).table("map")`.

    Every name is the flag of that name on the command line, where `--help` explains it. `methods` may hold classes
    that `@register_method` decorates, typed into a notebook or not; `set` is {"dph": {"gamma": 0.5}}, `option` the
    same for data sets, `sweep` ("dph", "inv_epsilon", [0.01, 0.1, 1]) or, of a data set, ("imagenet", "imbalance",
    ["balanced", "paper"]). Cells that are done are not run again. A cell that fails does not raise: `results.frame()`
    tells its status and reason. Bad input raises UsageError before any work. No `if __name__ == "__main__"` is needed.
    """
    _load_all([plugin] if isinstance(plugin, (str, Path)) else plugin)
    choices = choose_datasets(
        [str(one) for one in _listed("datasets", datasets)],
        data_root=None if data_root is None else Path(data_root),
        option=option,
        backbone=backbone,
        weights=None if weights is None else str(weights),
        partial_weights=partial_weights,
        skip_broken=skip_broken,
    )
    cores = usable_cores() if jobs is None else jobs
    options = Options(cores, threads, timeout, memory, visible_gpus(), allow_overlap, dask, keep_models, log)
    cells = [_name(one) for one in _listed("methods", methods)], _listed("bits", bits), _listed("seeds", seeds), profile
    grid = make_grid(choices, *cells, _by_method(set), _swept(sweep), _known(tune, tuned, untuned, results), untuned)
    grid = _tuned_first(grid, tune_store(results), options, trials, folds, quiet) if tune else grid
    again = chosen_again(force=force, only_failed=only_failed, keep_failed=keep_failed)
    return _run_grid(grid, Store(results), options, again, quiet)


def _load_all(plugins: Iterable[str | Path]) -> None:
    for file in plugins:
        load_plugin(file)


def _run_grid(grid: Grid, store: Store, options: Options, again: Again, quiet: bool) -> Results:
    planned = plan(grid, store)
    if options.keep_models and again != "force":
        planned = wanting_models(planned, store)
    todo, lost = to_run(planned, again), without_rows(planned, store)
    if todo or lost:
        _run_todo(store, options, todo, lost, quiet)
    return Results(store, planned=planned)


def _run_todo(
    store: Store, options: Options, todo: Sequence[PlannedCell], lost: Sequence[PlannedCell], quiet: bool
) -> None:
    from benchmark.execution.backbone_check import check_backbones
    from benchmark.execution.runner import run_cells

    check_backbones(one.cell for one in todo)
    summary = run_cells(store, options, todo, lost, Silence() if quiet else None)
    if summary.interrupted:
        raise KeyboardInterrupt
    if summary.problems:
        raise OSError("; ".join(summary.problems))


def _listed(what: str, given: Any) -> list[Any]:
    """One thing or several. None at all would be a grid without cells, whose results would be everybody's."""
    several = [given] if isinstance(given, (str, int, Path, type)) else list(given)
    if not several:
        raise UsageError(f"{what}: nothing was given, expected at least one")
    return several


def _by_method(given: Any) -> Mapping[str, Mapping[str, Any]] | None:
    if given is None or (isinstance(given, Mapping) and all(isinstance(one, Mapping) for one in given.values())):
        return given
    raise UsageError(f'set: {given!r}, expected method -> parameters, as in {{"itq": {{"iterations": 20}}}}')


def _swept(given: Any) -> Sweep | None:
    if given is None:
        return None
    if len(given) != 3 or isinstance(given[2], str) or not list(given[2]):
        raise UsageError(
            f'sweep: {given!r}, expected (method or data set, parameter, values), as in ("itq", "iterations", [5, 50])'
        )
    return given[0], given[1], list(given[2])


def _name(method: Any) -> str:
    if isinstance(method, str):
        return method
    info = getattr(method, "info", None)
    if info is None:
        raise UsageError(f"{method!r} is no registered method: put @register_method(...) above the class")
    known = registered_methods.get(info.name)
    if known is not method and not _same_in_another_import(known, method):
        raise UsageError(
            f"{method!r} is not the class that is registered as '{info.name}', but derives from it or was replaced by "
            "it: put @register_method(...) with a name of its own above the class"
        )
    return str(info.name)


def _same_in_another_import(known: Any, method: Any) -> bool:
    """One file may be imported by its name here, and by its path as a plugin."""
    places = [(one.__qualname__, one.info.source, one.__module__ == "__main__") for one in (known, method)]
    return places[0] == places[1] and places[0][1] is not None and not places[0][2]


def _known(tune: bool, tuned: str | Path | None, untuned: bool, results: str | Path) -> list[TunedSettings]:
    """What cross-validation chose: in the file that was named, or else in this results folder; then as shipped."""
    if tune + untuned + (tuned is not None) > 1:
        raise UsageError("tune, tuned and untuned contradict each other; give one of them")
    return [tune_store(results).tuned() if tuned is None else read_tuned(Path(tuned)), shipped()]


def _tuned_first(grid: Grid, store: Store, options: Options, trials: int, folds: int, quiet: bool) -> Grid:
    """The grid with what cross-validation finds for it, now that it has run."""
    from benchmark.execution.tuning import Budget, Tuning, carry_out

    tuning = Tuning(grid.by_one_seed(), store, Budget(trials, folds), grid.known)
    if not carry_out(tuning, options, Silence() if quiet else None):
        raise KeyboardInterrupt
    store.save_tuned(tuning.winners())
    return replace(grid, known=[store.tuned(), shipped()])


class Results:
    """What lies in a results folder, or the cells of one run in it. Reads the folder anew whenever it is asked."""

    def __init__(self, source: Store | str | Path, planned: Sequence[PlannedCell] = ()) -> None:
        self.store = source if isinstance(source, Store) else Store(source)
        self.planned = planned

    def stale(self) -> set[str]:
        """Keys of records that a run today would not make; they do not count."""
        return stale_keys(self.store, self.planned)

    def _only(self, filters: Mapping[str, Any]) -> dict[str, Collection[Any]]:
        """The filters, and of a run only what it asked for."""
        keys = {"keys": {one.key for one in self.planned}} if self.planned else {}
        return _collections(filters) | keys

    def frame(self, **filters: Any) -> pd.DataFrame:
        """One row per record, in the order of tables; the columns are described in `benchmark.report.record_frame`.

        `current` says whether a row counts. Filters as in `report`.
        """
        from benchmark.report.record_frame import record_frame
        from benchmark.report.selection import read_records, selected

        records, _ = read_records(self.store)
        return record_frame(selected(records, self._only(filters)), self.stale())

    def table(self, score: str = "map", **filters: Any) -> pd.DataFrame:
        """Means over seeds of one score: methods x (data set, bits). Swept parameters are left out.

        A method that was run with parameters other than its defaults only has them behind its title.
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

    def report(
        self, out: str | Path = "reports/default", *, force: bool = False, highlight: Names = (), **filters: Any
    ) -> Path:
        """Write the report into the folder `out` and return the path of its page.

        Filters keep some records only, each a value or several: `methods`, `datasets`, `bits`, `seeds`, `profiles`,
        `backbones`, `revisions`, as in `report(methods=["itq", "lsh"], bits=64)`. `highlight` names the methods that
        strips, t-SNE and retrieved images show.
        """
        from benchmark.report import render

        front = [highlight] if isinstance(highlight, str) else list(highlight)
        only = self._only(filters)
        return render(self.store, Path(out), force=force, stale=self.stale(), only=only, highlight=front)

    def __len__(self) -> int:
        """Number of records that count."""
        keys = {one.key for one in self.planned} or set(self.store.keys())
        return len(keys & set(self.store.keys()) - self.stale())

    def __repr__(self) -> str:
        return f"Results({str(self.store.root)!r}: {counted(len(self), 'cell')})"

    def _repr_html_(self) -> str:
        """The table of MAP, for notebooks."""
        heading = f"<p>{html.escape(str(self.store.root))}: {counted(len(self), 'cell')}</p>"
        if not len(self):
            return heading
        return heading + str(self.table("map").to_html(float_format=f"%.{DIGITS}f", na_rep="–"))


def load_model(cell: str, results: str | Path = "results", *, plugin: Names = (), stale: bool = False) -> Model:
    """The fitted method of a cell that was run with `keep_models`: `load_model("dph coco 64").encode("photos")`.

    `cell` is a part of the cell's key, or words of `dph coco-mini 64 bits seed 0` in their order. `encode` takes
    features as the cell had them, a Split, images in memory, paths of images, or a folder of them, and gives int8 codes
    over {-1, +1}. `plugin` names the files of methods that are not built in. A model whose code has changed since is
    refused, unless `stale` says otherwise.
    """
    from benchmark.execution.model import find_model

    _load_all([plugin] if isinstance(plugin, (str, Path)) else plugin)
    if not Path(results).is_dir():
        raise UsageError(f"results folder '{results}' does not exist; give the folder that a run wrote")
    return find_model(cell, Store(results), stale=stale)


def results(folder: str | Path = "results") -> Results:
    """The results in a folder."""
    if not Path(folder).is_dir():
        raise UsageError(f"results folder '{folder}' does not exist; give the folder that a run wrote")
    return Results(folder)


def _collections(filters: Mapping[str, Any]) -> dict[str, Collection[Any]]:
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
