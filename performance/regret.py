"""What default settings cost, and what tuning leaves: `python performance/regret.py`, on the data of ../shared/data.

For every trained method on Tiny-100 (skewed and balanced), COCO and CIFAR-10 at 16 and 64 bits, `tune` tries settings
on three folds of the training rows. Those that reached the last fold, the defaults among them, are scored again on
folds dealt anew, twice, with other random numbers: a score that also chose the setting flatters it. Regret is
1 - score / best score of these, in per cent, of the mean of both deals; since the highest of a few noisy scores is
partly luck, which nobody can regret, it is printed also with the best of one deal scored on the other, both ways
averaged (below 0: what was best on one deal is worse on the other). Queries are never looked at. Trials are kept in
--results: a second call only prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from real_data import WRITTEN, write

from benchmark.execution.grid import choose_datasets, make_grid
from benchmark.execution.options import Options
from benchmark.execution.store import tune_store
from benchmark.execution.tuning import Budget, Carry, Search, Trial, Tuning, carry_out, chosen

DEEP = ("cnnh", "dnnh", "dpsh", "dsh", "dhn", "hashnet", "dph")
LIMITS = {"defaults": (15, 5), "tuned": (5, 2)}  # worst and mean, per cent


DEALT_ANEW = (1, 2)  # seeds of folds that chose nothing


class Again(Tuning):
    """The finalists of a tuning, on folds of another seed."""

    def __init__(self, first: Tuning, seed: int) -> None:
        super().__init__(replace(first.grid, seeds=[seed]), first.store, first.budget)
        for one, before in zip(self.searches, first.searches, strict=True):
            whole = [trial for trial in before.trials if len(trial.scores) == first.budget.folds]
            one.trials = [Trial(trial.setting) for trial in whole]

    @property
    def cells(self) -> int:
        return sum(len(one.trials) for one in self.searches) * self.budget.folds

    def run(self, carry: Carry) -> bool:
        return all(self.round(self.searches, fold, self.budget.trials, carry) for fold in range(self.budget.folds))


def regrets(first: Search, again: Sequence[Search], folds: int) -> dict[str, float]:
    """Of the defaults and of what tune chose: against the best of both deals, and of the other deal alone."""
    choice = chosen(first.trials, folds)
    assert choice is not None
    settings = [trial.setting for trial in again[0].trials]
    scores = np.array([[max(trial.mean, 0.0) for trial in one.trials] for one in again])  # deals x settings
    found = {}
    for kind, setting in (("defaults", {}), ("tuned", choice.setting)):
        own = scores[:, settings.index(setting)] if setting in settings else np.zeros(len(scores))
        found[kind] = 100 * (1 - own.mean() / scores.mean(axis=0).max())
        others = [other[scores[deal].argmax()] for deal, other in enumerate(scores[::-1])]
        found[f"{kind}, luck apart"] = float(np.mean(100 * (1 - own[::-1] / others)))
    return found


def show(names: Sequence[str], rows: dict[str, list[dict[str, float]]]) -> None:
    for kind, (worst, mean) in LIMITS.items():
        for words in (kind, f"{kind}, luck apart"):
            print(f"\nRegret of the {words}, per cent (at most {worst} in the worst, {mean} in the mean)\n")
            print("| method | " + " | ".join(names) + " |\n" + "|---" * (1 + len(names)) + "|")
            for method, cells in rows.items():
                print(f"| {method} | " + " | ".join(f"{cell[words]:.1f}" for cell in cells) + " |")
            every = np.array([cell[words] for cells in rows.values() for cell in cells])
            print(f"\nworst {every.max():.1f}, mean {every.mean():.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(DEEP))
    parser.add_argument("--datasets", nargs="+", default=list(WRITTEN), choices=WRITTEN)
    parser.add_argument("--bits", nargs=2, type=int, default=[16, 64])
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path("results/regret"))
    parser.add_argument("--sets", type=Path, default=Path("results/sets"), help="where the data sets are written")
    given = parser.parse_args()
    choices = choose_datasets([f"features:{write(name, given.sets)}" for name in given.datasets])
    grid = make_grid(choices, given.methods, given.bits, [0], "quick")
    tuning = Tuning(grid, tune_store(given.results), Budget(given.trials, 3))
    assert carry_out(tuning, Options(given.jobs))
    tuning.store.save_tuned(tuning.winners())
    anew = [Again(tuning, seed) for seed in DEALT_ANEW]
    assert all(carry_out(one, Options(given.jobs)) for one in anew)
    rows: dict[str, list[dict[str, float]]] = {}
    for first, *again in zip(tuning.searches, *(one.searches for one in anew), strict=True):
        rows.setdefault(first.info.name, []).append(regrets(first, again, 3))
    show([f"{name} {bits}" for name in given.datasets for bits in given.bits], rows)


if __name__ == "__main__":
    main()
