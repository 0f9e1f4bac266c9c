"""tune: the same budget for all, on training rows only, halved over folds, resumed like any run, used by runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.commands.main import main
from benchmark.deep.profile import load_profile
from benchmark.execution.grid import DatasetChoice, Grid, training_id
from benchmark.execution.options import Options
from benchmark.execution.plan import PlannedCell, plan
from benchmark.execution.record import Record
from benchmark.execution.runner import request_for
from benchmark.execution.store import Store, tune_store
from benchmark.execution.tuned_settings import TunedSettings
from benchmark.execution.tuning import Budget, Trial, Tuning, chosen, winner_line
from benchmark.execution.worker import build_method
from benchmark.registry import get_dataset

# A data set whose queries and database blow up when looked at, and a method whose best parameter is known: the
# number of columns of the features that its code copies; only the first two say anything.
EXPLOSIVE = """
from pathlib import Path
import numpy as np
from benchmark import Split, Splits, TrainingFailed, register_dataset, register_method


class Explosive:
    def __getattribute__(self, name):
        raise AssertionError(f"the {name} of a split that tune must not touch")

    def __len__(self):
        raise AssertionError("the length of a split that tune must not touch")


@register_dataset("explosive", title="Explosive")
class Mine:
    name, title, map_cutoff, protocol, revision = "explosive", "Explosive", 20, "made up", "1"
    miniature, backbone = False, None

    def __init__(self, argument=None, *, data_root=None):
        pass

    def check(self):
        pass

    def load(self):
        rng = np.random.default_rng(0)
        labels = np.arange(90) % 4
        features = rng.normal(size=(90, 6))
        features[:, 0] = labels % 2 - 0.5
        features[:, 1] = labels // 2 - 0.5
        train = Split(features=features.astype(np.float32), labels=labels, ids=[str(i) for i in range(90)])
        return Splits(train, Explosive(), Explosive())


@register_method("copycat", title="Copycat", family="control")
class Copycat:
    search_space = {"columns": [1, 2, 6], "spoilt": [False, True]}

    def __init__(self, bits, seed=0, *, columns=6, spoilt=False):
        self.bits, self.columns, self.spoilt = bits, columns, spoilt

    def fit(self, train):
        if self.spoilt:
            raise TrainingFailed("spoilt")
        return self

    def encode(self, split):
        columns = np.arange(self.bits) % self.columns
        return np.where(split.features[:, columns] > 0, 1, -1).astype(np.int8)
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plugin") / "explosive.py"
    path.write_text(EXPLOSIVE)
    return path


@pytest.fixture
def words(tmp_path: Path, plugin: Path) -> list[str]:
    tuned = ["tune", "--datasets", "explosive", "--methods", "copycat", "--bits", "6", "--profile", "quick"]
    return [*tuned, "--results", str(tmp_path), "--plugin", str(plugin), "--out", str(tmp_path / "tuned.json")]


# What is tried, without running anything: a store whose trials score as a function says


Score = Callable[[dict[str, Any], int, int], float | None]


@pytest.fixture
def tuning(tiny: Path, tmp_path: Path) -> Callable[..., Tuning]:
    choice = DatasetChoice(f"features:{tiny}", get_dataset(f"features:{tiny}"))

    def made(methods: Sequence[str], bits: Sequence[int], budget: Budget, known: Sequence[Any] = ()) -> Tuning:
        grid = Grid(list(methods), [choice], list(bits), [0], load_profile("quick"))
        return Tuning(grid, Store(tmp_path / "tune"), budget, known)

    return made


def scored_by(store: Store, score: Score, seen: list[PlannedCell]) -> Callable[[Sequence[PlannedCell]], bool]:
    def carry(planned: Sequence[PlannedCell]) -> bool:
        for one in planned:
            seen.append(one)
            assert one.cell.fold is not None
            value = score(dict(one.cell.tuned), one.cell.bits, one.cell.fold[0])
            record = Record(one.key, one.cell.identity, one.cell.parts, "failed" if value is None else "ok")
            record.error = {"kind": "training", "message": "diverged"} if value is None else None
            record.metrics = {} if value is None else {"map": value, "map_macro": value}
            store.commit(record)
        return True

    return carry


def by_rate(params: dict[str, Any], bits: int, fold: int) -> float:
    """Best at a rate beyond the grid, whatever else."""
    return 0.5 - abs(0.03 - params.get("learning_rate", 0.001))


def test_every_method_gets_the_same_number_of_trials_and_folds_halve_them(tuning: Callable[..., Tuning]) -> None:
    made, seen = tuning(["dph", "dhn", "dsh"], [16, 64], Budget(12, 3)), []
    assert made.run(scored_by(made.store, by_rate, seen))
    runs = Counter((one.cell.method.name, one.cell.bits, one.cell.fold[0]) for one in seen if one.cell.fold)
    for method in ("dph", "dhn", "dsh"):
        for bits in (16, 64):
            assert [runs[method, bits, fold] for fold in range(3)] == [12, 7, 4]  # half and a quarter, and the defaults
    assert len({one.key for one in seen}) == len(seen) <= made.cells
    assert all(len(one["trials"]) == 12 for one in made.winners())


def test_the_search_goes_beyond_the_edge_and_tells_when_that_was_not_enough(tuning: Callable[..., Tuning]) -> None:
    made = tuning(["dph"], [16], Budget(12, 3))
    assert made.run(scored_by(made.store, by_rate, []))
    (winner,) = made.winners()
    assert winner["params"]["learning_rate"] == 0.03  # the grid ends at 0.01
    assert winner["edge"] == ["learning_rate"]
    assert "at the edge of what was tried: learning_rate" in winner_line(winner)
    assert winner["score"] > winner["score_of_defaults"]


def test_what_is_compared_was_scored_on_the_same_folds(tuning: Callable[..., Tuning]) -> None:
    """The second fold is easy for all: who was scored on it must not win by that alone."""
    made = tuning(["dph"], [16], Budget(8, 2))
    assert made.run(scored_by(made.store, lambda params, bits, fold: fold + by_rate(params, bits, fold), []))
    (search,) = made.searches
    whole = [trial for trial in search.trials if len(trial.scores) == 2]
    assert chosen(search.trials, 2) is max(whole, key=lambda trial: trial.mean)
    first = sorted((trial.scores[0] or 0 for trial in search.trials), reverse=True)
    assert {trial.scores[0] for trial in whole if trial.setting} <= set(first[:4])


@pytest.mark.parametrize(
    ("scores", "wins"),
    [
        ([0.34, 0.33, 0.33], False),  # against .32, .31, .36: two folds for it, one against by more than both
        ([0.34, 0.33, 0.38], True),  # .02 everywhere
        ([0.321, 0.311, 0.361], True),  # .001, but everywhere
        ([0.30, 0.30, 0.30], False),
        ([0.40, 0.40, None], False),
    ],
)
def test_the_defaults_stay_unless_a_setting_is_better_by_more_than_a_standard_error(scores: Any, wins: bool) -> None:
    defaults, other = Trial({}, [0.32, 0.31, 0.36]), Trial({"learning_rate": 0.01}, scores)
    assert chosen([defaults, other], 3) is (other if wins else defaults)
    assert chosen([other], 3) is (None if other.lost else other)  # lost defaults protect nothing


@pytest.mark.parametrize("lead", [0.0, 0.03])
def test_luck_is_chosen_less_often_than_by_the_highest_score(lead: float) -> None:
    """Twelve settings as good as the defaults, or one of them better: what is lost on average on other folds."""
    rng, lost = np.random.default_rng(0), {"chosen": 0.0, "highest": 0.0}
    for _ in range(400):
        truth = np.full(13, 0.3)
        truth[1:] -= rng.exponential(0.02, 12)
        truth[5] = 0.3 + lead
        trials = [Trial({"eta": n} if n else {}, list(truth[n] + rng.normal(0, 0.01, 3))) for n in range(13)]
        picks = {"chosen": chosen(trials, 3), "highest": max(trials, key=lambda trial: trial.mean)}
        for name, pick in picks.items():
            lost[name] += truth.max() - truth[trials.index(pick)]
    if lead:
        assert lost["chosen"] / 400 < lead / 50  # where there is something to find, it is found
    else:
        assert lost["chosen"] < 0.7 * lost["highest"]


def test_a_trial_that_diverges_is_lost_and_costs_no_other_its_chance(tuning: Callable[..., Tuning]) -> None:
    made = tuning(["dph"], [16], Budget(12, 3))

    def score(params: dict[str, Any], bits: int, fold: int) -> float | None:
        return None if params.get("learning_rate", 0.001) > 0.001 else by_rate(params, bits, fold)

    assert made.run(scored_by(made.store, score, []))
    (winner,) = made.winners()
    assert winner["params"].get("learning_rate", 0.001) == 0.001
    assert any(trial["scores"] == [None] for trial in winner["trials"])
    assert made.kinds == set()
    json.dumps(winner, allow_nan=False)


def test_lengths_between_take_the_better_neighbours_setting(tuning: Callable[..., Tuning]) -> None:
    best = {16: 0.0003, 64: 0.003, 32: 0.0003, 48: 0.003}

    def score(params: dict[str, Any], bits: int, fold: int) -> float:
        return 0.5 - abs(best[bits] - params.get("learning_rate", 0.001))

    made, seen = tuning(["dsh"], [16, 32, 48, 64], Budget(12, 3)), []
    assert made.run(scored_by(made.store, score, seen))
    found = {one["bits"]: one for one in made.winners()}
    assert {bits: one["params"]["learning_rate"] for bits, one in found.items()} == best
    assert found[32]["between"] == [16, 64]
    assert Counter(one.cell.bits for one in seen)[32] == 3 * 3  # two winners and the defaults, on every fold


def test_a_small_space_is_tried_whole_and_that_is_told(tuning: Callable[..., Tuning]) -> None:
    made = tuning(["lsh"], [16], Budget(12, 3))
    assert made.run(scored_by(made.store, lambda params, bits, fold: 0.5, []))
    (winner,) = made.winners()
    assert winner["params"] == {}  # among equals the defaults
    assert len(winner["trials"]) == 2
    assert made.remarks() == ["lsh has 2 settings to try, fewer than 12: all of them were"]


def test_what_is_known_is_not_searched_again(tuning: Callable[..., Tuning], tiny: Path) -> None:
    revision = get_dataset(f"features:{tiny}").revision
    names = {"method": "dph", "revision": revision, "training": training_id(load_profile("quick")), "params": {}}
    known = TunedSettings("shipped", [{**names, "bits": 16, "trials": []}])
    made = tuning(["dph", "dhn"], [16, 64], Budget(4, 2), [known])
    assert [(one.info.name, one.bits) for one in made.searches] == [("dph", 64), ("dhn", 16), ("dhn", 64)]


def test_a_broken_off_tuning_says_so(tuning: Callable[..., Tuning]) -> None:
    made = tuning(["dph"], [16], Budget(4, 2))
    assert not made.run(lambda planned: False)
    assert made.winners() == []
    assert made.remarks() == ["dph on tiny at 16 bits: no trial succeeded, so there is no winner"]


# Whole runs


def test_tune_touches_no_query(words: list[str], tmp_path: Path) -> None:
    assert main([*words, "--trials", "1"]) == 0
    (winner,) = json.loads((tmp_path / "tuned.json").read_text())["winners"]
    assert winner["params"] == {}
    assert 0 < winner["score"] == winner["score_of_defaults"] < 1


@pytest.mark.slow
def test_tune_finds_the_best_and_runs_use_it(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--trials", "6"]) == 0  # the spoilt ones diverge, which is no error
    (winner,) = json.loads((tmp_path / "tuned.json").read_text())["winners"]
    assert winner["params"] == {"columns": 2}
    assert winner["score"] == pytest.approx(1.0)
    assert len(winner["trials"]) == 6
    assert sum(trial["scores"] == [None] for trial in winner["trials"]) == 3
    assert winner["score_of_defaults"] < 1
    assert tune_store(tmp_path).tuned().winners == [winner]
    records = list(tune_store(tmp_path).records())
    assert {tuple(record.cell["fold"]) for record in records} == {(0, 3), (1, 3), (2, 3)}
    assert not (tmp_path / "cells").exists()

    capsys.readouterr()
    assert main([*words, "--trials", "6"]) == 0  # again: nothing is run, diverged trials included
    assert "fold" not in capsys.readouterr().out.replace("--folds", "")
    assert main([*words, "--trials", "2", "--sweep", "copycat.columns", "1"]) == 2

    # A run takes what was tuned into its results folder, --untuned does without, --tuned takes a file's.
    grid = [*(word for word in words[1:] if word not in ("--out", str(tmp_path / "tuned.json"))), "--dry-run"]
    for more, label in (
        ([], "copycat columns=2 explosive 6 bits"),
        (["--untuned"], "copycat explosive 6 bits"),
        (["--tuned", str(tmp_path / "tuned.json")], "copycat columns=2 explosive 6 bits"),
        (["--tuned", str(tmp_path / "tuned.json"), "--set", "copycat.columns=6"], "copycat columns=6 explosive 6 bits"),
    ):
        capsys.readouterr()
        assert main([*grid, *more]) == 0
        assert label in capsys.readouterr().out
    assert main([*grid, "--tuned", str(tmp_path / "tuned.json"), "--methods", "lsh"]) == 2
    assert "nothing in it was tuned for lsh" in capsys.readouterr().err


@pytest.mark.slow
def test_one_command_tunes_a_strangers_deep_method_and_runs(tiny: Path, tmp_path: Path) -> None:
    """A loss and no other line: its rate and its decay are searched, by the first seed; all cells say that they are
    tuned."""
    plugin = tmp_path / "stranger.py"
    plugin.write_text(STRANGER)
    words = ["--datasets", f"features:{tiny}", "--methods", "stranger", "--bits", "8", "--results", str(tmp_path)]
    more = ["--plugin", str(plugin), "--seeds", "5", "6", "--tune", "--trials", "4", "--folds", "2", "--no-report"]
    assert main([*words, *more]) == 0
    (winner,) = tune_store(tmp_path).tuned().winners
    tried = [trial["params"] for trial in winner["trials"]]
    assert len(tried) == 4
    assert any("learning_rate" in params for params in tried)
    assert winner["seeds"] == [5]
    records = list(Store(tmp_path).records())
    assert sorted(record.cell["seed"] for record in records) == [5, 6]
    for record in records:
        assert (record.cell["settings"], record.cell.get("tuned", {})) == ("tuned", winner["params"])


STRANGER = """
from benchmark import register_method
from benchmark.deep import PairwiseMethod, cross_entropy


@register_method("stranger", title="Stranger")
class Stranger(PairwiseMethod):
    def loss(self, codes, similarity, step):
        return similarity.mean(cross_entropy(codes.tanh().inner, similarity.similar))
"""


def test_a_tuned_rate_and_decay_reach_the_training(tiny: Path, tmp_path: Path) -> None:
    choice = DatasetChoice(f"features:{tiny}", get_dataset(f"features:{tiny}"))
    names = {"method": "dhn", "revision": choice.dataset.revision, "training": training_id(load_profile("quick"))}
    numbers = {"learning_rate": 0.5, "weight_decay": 0.25}
    known = TunedSettings("shipped", [{**names, "bits": 16, "params": numbers}])
    store = Store(tmp_path)
    (planned,) = plan(Grid(["dhn"], [choice], [8], [0], load_profile("quick"), known=[known]), store)
    method = build_method(planned.cell.method, request_for(planned, store, Options()))
    assert (method.training.learning_rate, method.training.weight_decay) == (0.5, 0.25)
    assert planned.cell.identity["tuned"] == numbers
    assert (planned.cell.identity["params"], planned.cell.identity["settings"]) == ({}, "shipped")


def test_what_the_user_sets_or_sweeps_goes_before_what_was_tuned_even_where_it_is_the_default(
    tiny: Path, tmp_path: Path
) -> None:
    choice = DatasetChoice(f"features:{tiny}", get_dataset(f"features:{tiny}"))
    names = {"method": "dph", "revision": choice.dataset.revision, "training": training_id(load_profile("quick"))}
    known = [TunedSettings("shipped", [{**names, "bits": 8, "params": {"gamma": 1.0, "inv_epsilon": 1.0}}])]
    quick = load_profile("quick")
    swept = Grid(["dph"], [choice], [8], [0], quick, sweep=("dph", "inv_epsilon", [0.1, 0.01]), known=known)
    found = [(one.cell.params, one.cell.tuned) for one in plan(swept, Store(tmp_path))]
    assert found == [
        ({}, {"gamma": 1.0, "inv_epsilon": 1.0}),
        ({"inv_epsilon": 0.1}, {"gamma": 1.0}),
        ({"inv_epsilon": 0.01}, {"gamma": 1.0}),
    ]
    fixed = Grid(["dph"], [choice], [8], [0], quick, params={"dph": {"gamma": 0.1}}, known=known)
    (only,) = plan(fixed, Store(tmp_path))
    assert (only.cell.params, only.cell.tuned) == ({"gamma": 0.1}, {"inv_epsilon": 1.0})
