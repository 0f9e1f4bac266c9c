"""`tune`: settings by cross-validation on training rows alone, as the paper selects them; queries are never looked at.

For each method, data set and length the same number of settings is tried: the defaults, draws from what may be
searched, and in the end neighbours of the best so far. All are scored on the first fold, the better half on the second
as well, half of those on the third, and so on; the defaults always. What is compared has been scored on the same
folds, and the defaults stay unless the best is surely better (`chosen`). The score is the mean over classes of their
MAP, since queries are balanced over classes and training rows are not. A trial is a cell like any other: stored (in
results/tune), resumed, and run locally or on a cluster. What a fold is, and what its rows are looked for in, is in
`worker.held_out` and `worker.score_fold`.

Only the shortest and the longest length are searched; lengths between take whichever neighbour's setting
cross-validates better.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmark.contracts import MethodInfo
from benchmark.errors import UsageError
from benchmark.execution.backbone_check import check_backbones
from benchmark.execution.fingerprint import digest
from benchmark.execution.grid import Cell, DatasetChoice, Grid, changed_parameters, training_id
from benchmark.execution.options import Options
from benchmark.execution.plan import PlannedCell, plan_cells
from benchmark.execution.progress import Progress, progress
from benchmark.execution.runner import run_cells
from benchmark.execution.search_space import Setting, Space, at_edge, draws, neighbours, search_space, size
from benchmark.execution.store import Store
from benchmark.execution.tuned_settings import TunedSettings, Winner
from benchmark.registry import get_method
from benchmark.wording import counted

SCORE = "map_macro"  # of a record's metrics: the mean over classes of their MAP
Carry = Callable[[Sequence[PlannedCell]], bool]  # runs these cells; whether to go on


@dataclass(frozen=True)
class Budget:
    """What every method gets."""

    trials: int = 24
    folds: int = 3

    @property
    def refined(self) -> int:
        """Trials that are kept back for the neighbours of the best."""
        return self.trials // 4

    def survivors(self, fold: int) -> int:
        """How many settings are scored on this fold."""
        return max(1, -(-self.trials // 2**fold))

    @property
    def fits(self) -> int:
        """Trainings of one search, at most."""
        return self.trials + sum(self.survivors(fold) + 1 for fold in range(1, self.folds))


@dataclass
class Trial:
    """A setting and its scores, fold by fold; None where training diverged or codes collapsed."""

    setting: Setting
    scores: list[float | None] = field(default_factory=list)

    @property
    def lost(self) -> bool:
        return None in self.scores

    @property
    def mean(self) -> float:
        """Over the folds so far; below any score where one was lost."""
        known = [score for score in self.scores if score is not None]
        return -1.0 if self.lost or not known else statistics.fmean(known)


def chosen(trials: Sequence[Trial], folds: int) -> Trial | None:
    """The best of those that were scored on every fold; the defaults, unless it is surely better than they are.

    Surely: by more than one standard error of its lead, fold by fold. Dozens of settings are compared on a few folds of
    perhaps few rows, and the highest score is partly luck: on folds dealt anew it may be below the defaults.
    """
    whole = [trial for trial in trials if len(trial.scores) == folds and not trial.lost]
    best = max(whole, key=lambda trial: trial.mean, default=None)
    defaults = next((trial for trial in whole if not trial.setting), None)
    if best is None or defaults is None or folds < 2:
        return best
    lead = [a - b for a, b in zip(best.scores, defaults.scores, strict=True) if a is not None and b is not None]
    return best if statistics.fmean(lead) > statistics.stdev(lead) / folds**0.5 else defaults


@dataclass
class Search:
    """One method on one data set at one length: what was tried, and how far each came."""

    grid: Grid
    info: MethodInfo
    choice: DatasetChoice
    bits: int
    trials: list[Trial] = field(default_factory=list)
    between: tuple[int, ...] = ()  # the lengths whose winners were tried, where nothing else was

    @property
    def space(self) -> Space:
        return search_space(self.info, self.grid.profile.training, self.grid.params.get(self.info.name, {}))

    @property
    def title(self) -> str:
        return f"{self.info.name} on {self.choice.label} at {self.bits} bits"

    def try_also(self, settings: Sequence[Setting], most: int) -> None:
        """Add settings that were not tried yet, up to so many trials in all."""
        for one in settings:
            if len(self.trials) < most and one not in [trial.setting for trial in self.trials]:
                self.trials.append(Trial(one))

    def running(self, fold: int, survivors: int) -> list[Trial]:
        """The trials to be scored on this fold: the best on all folds before it, and the defaults."""
        ready = [trial for trial in self.trials if len(trial.scores) == fold and not trial.lost]
        best = sorted(ready, key=lambda trial: -trial.mean)[:survivors]
        return [trial for trial in ready if trial in best or not trial.setting]

    def cells(self, setting: Setting, fold: tuple[int, int]) -> list[Cell]:
        params = changed_parameters(self.info, self.grid.params.get(self.info.name, {}))
        return [
            Cell(self.info, params, self.choice, self.bits, seed, self.grid.profile, setting, fold=fold)
            for seed in self.grid.seeds
        ]

    def winner(self, folds: int) -> Winner | None:
        """What is written down, with every trial's score."""
        best = chosen(self.trials, folds)
        if best is None:
            return None
        training, defaults = self.grid.profile.training, self.trials[0]
        tried = [one.setting for one in self.trials]
        return {
            "method": self.info.name,
            "dataset": self.choice.label,
            "revision": str(self.choice.parts["dataset"]["revision"]),
            "bits": self.bits,
            "profile": self.grid.profile.name,
            "training": training_id(self.grid.profile),
            "seeds": list(self.grid.seeds),
            "folds": folds,
            "params": best.setting,
            "score": _rounded(best.mean),
            "score_of_defaults": _rounded(defaults.mean) if len(defaults.scores) == folds else None,
            "edge": [] if self.between else at_edge(self.info, training, self.space, tried, best.setting),
            "between": list(self.between),
            "trials": [
                {"params": one.setting, "scores": [_rounded(score) for score in one.scores]} for one in self.trials
            ],
        }


def _rounded(score: float | None) -> float | None:
    return None if score is None or score < 0 else round(score, 5)


class Tuning:
    """Searches, round by round, all of them in step so that every round is one batch of cells."""

    def __init__(self, grid: Grid, store: Store, budget: Budget, known: Sequence[TunedSettings] = ()) -> None:
        """`known` needs no search."""
        self.grid, self.store, self.budget, self.known = grid, store, budget, known
        self.kinds: set[str] = set()  # of failures that are no matter of settings
        self.searches = [self._search(*names) for names in self._ends()]
        if self.searches:
            _check_folds(grid.choices, budget.folds)
        self.between = [self._search(*names) for names in self._middle()]

    def _unknown(self, lengths: Sequence[int]) -> Iterator[tuple[str, DatasetChoice, int]]:
        for choice, name, bits in itertools.product(self.grid.choices, self.grid.methods, lengths):
            revision = str(choice.parts["dataset"]["revision"])
            if not any(bits in one.lengths(name, revision, training_id(self.grid.profile)) for one in self.known):
                yield name, choice, bits

    def _ends(self) -> list[tuple[str, DatasetChoice, int]]:
        return list(self._unknown(sorted({min(self.grid.bits), max(self.grid.bits)})))

    def _middle(self) -> list[tuple[str, DatasetChoice, int]]:
        return list(self._unknown(sorted(self.grid.bits)[1:-1]))

    def _search(self, name: str, choice: DatasetChoice, bits: int) -> Search:
        return Search(self.grid, get_method(name).info, choice, bits)

    @property
    def cells(self) -> int:
        """How many trainings it takes at most, done ones included."""
        each = [min(self.budget.fits, size(one.space) * self.budget.folds) for one in self.searches]
        return len(self.grid.seeds) * (sum(each) + 3 * self.budget.folds * len(self.between))

    def run(self, carry: Carry) -> bool:
        """Carry out every round; False where that was broken off."""
        budget, training = self.budget, self.grid.profile.training
        for one in self.searches:
            drawn = draws(one.info, training, one.space, budget.trials)
            one.try_also(drawn[: budget.trials - budget.refined], budget.trials)
        if not self.round(self.searches, 0, budget.trials, carry):
            return False
        for one in self.searches:
            best = max(one.trials, key=lambda trial: trial.mean)
            one.try_also(neighbours(one.info, training, one.space, best.setting), budget.trials)
            one.try_also(draws(one.info, training, one.space, 4 * budget.trials), budget.trials)  # where few are near
        rounds = ((fold, budget.survivors(fold)) for fold in range(budget.folds))
        return all(self.round(self.searches, fold, number, carry) for fold, number in rounds) and self._between(carry)

    def _between(self, carry: Carry) -> bool:
        """Lengths between the searched ones: the winners of both, and the defaults, on all folds."""
        for one in self.between:
            near = self._winners_near(one)
            one.between = tuple(near)
            one.try_also([{}, *near.values()], 3)
        return all(self.round(self.between, fold, 3, carry) for fold in range(self.budget.folds))

    def _winners_near(self, search: Search) -> dict[int, Setting]:
        """The settings of the searched lengths, of this tuning or known before."""
        name, revision = search.info.name, str(search.choice.parts["dataset"]["revision"])
        found: dict[int, Setting] = {}
        for known in self.known:
            lengths = known.lengths(name, revision, training_id(self.grid.profile))
            found |= {bits: dict(one["params"]) for bits, one in lengths.items()}
        for one in self.searches:
            best = chosen(one.trials, self.budget.folds)
            if (one.info.name, one.choice) == (name, search.choice) and best is not None:
                found[one.bits] = best.setting
        return dict(sorted(found.items()))

    def round(self, searches: Sequence[Search], fold: int, survivors: int, carry: Carry) -> bool:
        """Score what is still in the running on one more fold."""
        running = [(one, trial) for one in searches for trial in one.running(fold, survivors)]
        wanted = [one.cells(trial.setting, (fold, self.budget.folds)) for one, trial in running]
        planned = plan_cells([cell for cells in wanted for cell in cells], self.store)
        if not carry(planned):
            return False
        for (_, trial), cells in zip(running, wanted, strict=True):
            scores = [self._score(digest(cell.parts)) for cell in cells]
            lost = any(score is None for score in scores)
            trial.scores.append(None if lost else statistics.fmean(score for score in scores if score is not None))
        return True

    def _score(self, key: str) -> float | None:
        record = self.store.read(key)
        if record is not None and record.ok and not record.health.get("collapsed"):
            return float(record.metrics[SCORE])
        if record is not None and record.error and record.error.get("kind") not in ("training", "skipped"):
            self.kinds.add(f"{record.cell['method']}: {record.reason}")
        return None

    def winners(self) -> list[Winner]:
        found = [one.winner(self.budget.folds) for one in (*self.searches, *self.between)]
        return [one for one in found if one is not None]

    def remarks(self) -> list[str]:
        """What a user should know: searches without a winner, and spaces smaller than the budget."""
        lost = [one.title for one in (*self.searches, *self.between) if chosen(one.trials, self.budget.folds) is None]
        small = {one.info.name: size(one.space) for one in self.searches if size(one.space) < self.budget.trials}
        told = [f"{title}: no trial succeeded, so there is no winner" for title in lost]
        told += [f"{name} has {counted(number, 'setting')} to try, fewer than {self.budget.trials}: all of them were"
                 for name, number in small.items()]  # fmt: skip
        return told + [f"trials lost to an error, not to their settings: {kind}" for kind in sorted(self.kinds)]


def carry_out(tuning: Tuning, options: Options, shown: Progress | None = None) -> bool:
    """Run what is missing of every round, under one bar; False where that was broken off."""
    with contextlib.nullcontext(shown) if shown else progress(tuning.cells) as telling:

        def carry(planned: Sequence[PlannedCell]) -> bool:
            todo = [one for one in planned if not _tried(one)]
            telling.already(len(planned) - len(todo))
            if not todo:
                return True
            check_backbones(one.cell for one in todo)
            summary = run_cells(tuning.store, options, todo, shown=telling)
            if summary.gave_up or summary.problems:
                raise UsageError(summary.gave_up or summary.problems[0])
            return not summary.interrupted

        return tuning.run(carry)


def _tried(planned: PlannedCell) -> bool:
    """Whether a trial has had its chance; one that diverged has."""
    error = planned.record.error if planned.record and planned.state == "failed" else None
    return planned.state in ("done", "skipped") or bool(error and error.get("kind") == "training")


def _check_folds(choices: Sequence[DatasetChoice], folds: int) -> None:
    for choice in choices:
        name, train = choice.dataset.name, choice.dataset.load().train
        if train.labels is None:
            told = f"'{name}' has no labels of training rows, so those held out cannot be scored"
            raise UsageError(f"{told}; run it untuned, or give settings by --set or --tuned FILE")
        if folds > len(train):
            rows = counted(len(train), "training row")
            raise UsageError(f"--folds {folds}: '{name}' has {rows}, expected one per fold")


def winner_line(winner: Winner) -> str:
    """A winner in one line."""
    chosen = ", ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                       for name, value in winner["params"].items()) or "the defaults"  # fmt: skip
    default = winner["score_of_defaults"]
    shown = "lost" if default is None else f"{default:.4f}"
    score = f"MAP over classes {winner['score']:.4f}, defaults {shown} ({len(winner['trials'])} tried)"
    edge = f"; at the edge of what was tried: {', '.join(winner['edge'])}" if winner["edge"] else ""
    return f"  {winner['method']} on {winner['dataset']} at {winner['bits']} bits: {chosen}; {score}{edge}"
