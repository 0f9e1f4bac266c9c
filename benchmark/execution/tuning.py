"""`tune`: hyper-parameters by cross-validation on training data alone, as the paper selects them.

Every method gets the same budget of trials, drawn from its declared `search_space`; its defaults are the first.
Deep methods search the learning rate as well. A trial is a cell like any other, but for its data: it is fitted
on two thirds of the training split and ranks them for the queries of the third. It is stored (in results/tune),
resumed, and run locally or on a cluster like any other, too. The query split is never looked at.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.contracts import MethodInfo
from benchmark.data.cache import replacing
from benchmark.errors import UsageError
from benchmark.execution.fingerprint import digest
from benchmark.execution.grid import Cell, DatasetChoice, Grid, Tuned, changed_parameters, sets_training
from benchmark.execution.plan import PlannedCell, plan_cells
from benchmark.execution.store import Store
from benchmark.registry import get_method
from benchmark.seeds import derive_seed

MANY_FOLDS = 10  # beyond it, data sets are loaded to see whether they have so many rows
RATE = "learning_rate"  # a field of Training, not of the method: searched for every method that trains a network
RATES = [1e-5, 10**-4.5, 1e-4, 10**-3.5, 1e-3]  # the paper's: 1e-5 to 1e-3 by a factor of sqrt(10)


@dataclass(frozen=True)
class Trial:
    """One setting of one method on one data set, and the cells that try it."""

    method: str
    choice: DatasetChoice
    settings: Mapping[str, Any]  # those that differ from the defaults; empty: the defaults themselves
    cells: Sequence[PlannedCell]

    @property
    def revision(self) -> str:
        return str(self.choice.parts["dataset"]["revision"])

    def score(self, store: Store) -> float | None:
        """Mean MAP over folds, lengths and seeds; None unless all of them were scored."""
        records = [store.read(planned.key) for planned in self.cells]
        if any(record is None or not record.ok for record in records):
            return None
        return statistics.fmean(record.metrics["map"] for record in records if record is not None)


# Which trials


def search_space(info: MethodInfo, fixed: Iterable[str] = ()) -> dict[str, list[Any]]:
    """What a method declares, the learning rate where it trains a network, less what the user has set."""
    declared: dict[str, Any] = {name: one.search for name, one in info.declared.items() if one.search}
    declared.update(getattr(get_method(info.name), "search_space", {}))
    if sets_training(info, RATE):
        declared.setdefault(RATE, RATES)
    for name in declared:
        if name not in info.parameters and not sets_training(info, name):
            raise UsageError(f"method '{info.name}': search_space names '{name}', which is none of its parameters")
    return {name: list(values) for name, values in sorted(declared.items()) if name not in fixed}


def settings(info: MethodInfo, dataset: str, budget: int, fixed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings to try: the defaults, then draws from the search space without repetition."""
    from sklearn.model_selection import ParameterSampler

    space = search_space(info, fixed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a space smaller than the budget is tried whole
        drawn = list(ParameterSampler(space, budget, random_state=derive_seed("tune", info.name, dataset)))
    found: list[dict[str, Any]] = [{}]
    for one in drawn:
        chosen = {k: v for k, v in one.items() if k not in info.parameters or info.parameters[k] != v}
        if chosen not in found:
            found.append(chosen)
    return found[:budget]


def trials(grid: Grid, store: Store, budget: int, folds: int) -> list[Trial]:
    """Every trial of every method on every data set, with the state of its cells."""
    if folds > MANY_FOLDS:
        _check_folds(grid.choices, folds)
    wanted: list[tuple[str, DatasetChoice, dict[str, Any], list[Cell]]] = []
    for choice in grid.choices:
        for name in grid.methods:
            info: MethodInfo = get_method(name).info
            for one in settings(info, choice.dataset.name, budget, grid.params.get(name, {})):
                wanted.append((name, choice, one, _cells(grid, info, choice, one, folds)))
    planned = {one.key: one for one in plan_cells([cell for *_, cells in wanted for cell in cells], store)}
    return [
        Trial(name, choice, one, [planned[digest(cell.parts)] for cell in cells]) for name, choice, one, cells in wanted
    ]


def _check_folds(choices: Iterable[DatasetChoice], folds: int) -> None:
    for choice in choices:
        rows = len(choice.dataset.load().train)
        if folds > rows:
            raise UsageError(
                f"--folds {folds}: '{choice.dataset.name}' has {rows} training rows, expected one per fold"
            )


def _cells(grid: Grid, info: MethodInfo, choice: DatasetChoice, one: Mapping[str, Any], folds: int) -> list[Cell]:
    params = changed_parameters(info, grid.params.get(info.name, {}))
    return [
        Cell(info, params, choice, bits, seed, grid.profile, one, fold=(fold, folds))
        for bits in grid.bits
        for seed in grid.seeds
        for fold in range(folds)
    ]


# Which won


def winners(tried: Sequence[Trial], store: Store) -> list[dict[str, Any]]:
    """For each method and data set the best trial; among equals the first, and the defaults are the first of all."""
    found = []
    for method, revision in dict.fromkeys((trial.method, trial.revision) for trial in tried):
        own = [trial for trial in tried if (trial.method, trial.revision) == (method, revision)]
        dataset = own[0].choice.dataset.name
        scores = [trial.score(store) for trial in own]
        scored = [(score, trial) for score, trial in zip(scores, own, strict=True) if score is not None]
        best, chosen = max(scored, key=lambda pair: pair[0], default=(None, None))
        if chosen is None:
            print(f"tune: {method} on {dataset}: no trial succeeded, so there is no winner", file=sys.stderr)
            continue
        found.append(
            {
                "method": method,
                "dataset": dataset,
                "revision": revision,
                "params": dict(chosen.settings),
                "map": best,
                "map_of_defaults": scores[0],
                "trials": [
                    {"params": dict(trial.settings), "map": score} for trial, score in zip(own, scores, strict=True)
                ],
            }
        )
    return found


def winner_line(winner: Mapping[str, Any]) -> str:
    """A winner in one line."""
    chosen = ", ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                       for name, value in winner["params"].items()) or "the defaults"  # fmt: skip
    default = winner["map_of_defaults"]
    shown = "failed" if default is None else f"{default:.4f}"
    score = f"MAP {winner['map']:.4f}, defaults {shown} ({len(winner['trials'])} tried)"
    return f"  {winner['method']} on {winner['dataset']}: {chosen}; {score}"


def write_winners(path: Path, found: Sequence[Mapping[str, Any]], grid: Grid, folds: int, budget: int) -> None:
    how = {"profile": grid.profile.name, "bits": list(grid.bits), "seeds": list(grid.seeds)}
    content = {"folds": folds, "trials": budget, **how, "winners": list(found)}
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n")


def read_winners(path: Path) -> Tuned:
    """What `tune` wrote."""
    if not os.path.isfile(path):  # a pipe would be waited for
        raise UsageError(f"--tuned {path}: no such file; make it with the command tune and --out {path}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = {(one["method"], one["revision"]): dict(one["params"]) for one in content["winners"]}
        return Tuned(os.path.realpath(path), found)
    except OSError as error:
        raise UsageError(f"--tuned {path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"--tuned {path}: not a file that 'tune' wrote ({type(error).__name__})") from None
