"""hashbench from Python: `benchmark.run(...)`, for scripts and notebooks. The names are those of the flags.

The command line does the same with words; what a run is lives in `execution`, what its results look like in `report`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.errors import UsageError
from benchmark.execution.grid import Tuned, choose_datasets, make_grid
from benchmark.execution.options import Options, usable_cores, visible_gpus
from benchmark.execution.plan import Again, plan, to_run, without_rows
from benchmark.execution.store import Store
from benchmark.registry import load_plugin
from benchmark.report.results import Results

Names = str | Iterable[Any]


def run(
    datasets: Names = ("imagenet", "nus", "coco"),
    methods: Names = "paper",
    bits: int | Iterable[int] = (16, 32, 48, 64),
    seeds: int | Iterable[int] = 0,
    *,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    sweep: tuple[str, str, Sequence[Any]] | None = None,
    tuned: str | Path | None = None,
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
    again: Again = "",
    quiet: bool = False,
) -> Results:
    """Run a grid and return its results: `run("coco", ["itq", "dph"], bits=64).table("map")`.

    Every name is the flag of that name on the command line, where `--help` explains it. `methods` may hold classes
    that `@register_method` decorates, typed into a notebook or not; `params` is {"dph": {"gamma": 0.5}}, `option`
    the same for data sets, `sweep` ("dph", "inv_epsilon", [0.01, 0.1, 1]); `again` is "force", "only_failed" or
    "keep_failed". Cells that are done are not run again. A cell that fails does not raise: `results.frame()` tells
    its status and reason. Bad input raises UsageError before any work. No `if __name__ == "__main__"` is needed.
    """
    for file in _listed(plugin):
        load_plugin(file)
    choices = choose_datasets(
        [str(one) for one in _listed(datasets)],
        data_root=None if data_root is None else Path(data_root),
        option=option,
        backbone=backbone,
        weights=None if weights is None else str(weights),
        partial_weights=partial_weights,
        skip_broken=skip_broken,
    )
    cores = usable_cores() if jobs is None else jobs
    options = Options(cores, threads, timeout, memory, visible_gpus(), allow_overlap, dask)
    names = [_name(one) for one in _listed(methods)]
    grid = make_grid(choices, names, _listed(bits), _listed(seeds), profile, params, sweep, _tuned(tuned))
    store = Store(results)
    planned = plan(grid, store)
    todo, lost = to_run(planned, again), without_rows(planned, store)
    if todo or lost:
        from benchmark.execution.backbone_check import check_backbones
        from benchmark.execution.runner import run_cells

        check_backbones(one.cell for one in todo)
        summary = run_cells(store, options, todo, lost, quiet)
        if summary.interrupted:
            raise KeyboardInterrupt
        if summary.problems:
            raise OSError("; ".join(summary.problems))
    return Results(store, planned=planned)


def _listed(names: Any) -> list[Any]:
    """One thing or several."""
    return [names] if isinstance(names, (str, int, Path, type)) else list(names)


def _name(method: Any) -> str:
    if isinstance(method, str):
        return method
    info = getattr(method, "info", None)
    if info is None:
        raise UsageError(f"{method!r} is no registered method: put @register_method(...) above the class")
    return str(info.name)


def _tuned(path: str | Path | None) -> Tuned | None:
    if path is None:
        return None
    from benchmark.execution.tuning import read_winners

    return read_winners(Path(path))
