"""tune: the same budget for all, on training rows only, resumed like any run, and used by --tuned."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from benchmark import Split, Splits, UsageError
from benchmark.commands.main import main
from benchmark.deep.profile import load_profile
from benchmark.execution.grid import DatasetChoice, Grid, Tuned
from benchmark.execution.options import Options
from benchmark.execution.plan import plan
from benchmark.execution.runner import request_for
from benchmark.execution.store import Store
from benchmark.execution.tuning import RATES, read_winners, search_space, settings
from benchmark.execution.worker import build_method, held_out
from benchmark.registry import get_dataset, get_method

# A data set whose queries and database blow up when looked at, and a method whose best parameter is known: the
# number of columns of the features that its code copies; only the first two say anything.
EXPLOSIVE = """
from pathlib import Path
import numpy as np
from benchmark import Split, Splits, register_dataset, register_method


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
            raise RuntimeError("spoilt")
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


def test_tune_touches_no_query(words: list[str], tmp_path: Path) -> None:
    assert main([*words, "--trials", "1"]) == 0
    (winner,) = json.loads((tmp_path / "tuned.json").read_text())["winners"]
    assert winner["params"] == {}
    assert 0 < winner["map"] == winner["map_of_defaults"] < 1


@pytest.mark.slow
def test_tune_finds_the_best_and_a_tuned_run_uses_it(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--trials", "6"]) == 1  # the spoilt ones fail, and cost no other its chance
    content = json.loads((tmp_path / "tuned.json").read_text())
    (winner,) = content["winners"]
    assert winner["params"] == {"columns": 2}
    assert winner["map"] == pytest.approx(1.0)
    assert len(winner["trials"]) == 6
    assert sum(trial["map"] is None for trial in winner["trials"]) == 3
    assert winner["map_of_defaults"] == winner["trials"][0]["map"] < 1
    records = list(Store(tmp_path / "tune").records())
    assert len(records) == 6 * 3
    assert {tuple(record.cell["fold"]) for record in records} == {(0, 3), (1, 3), (2, 3)}
    assert not (tmp_path / "cells").exists()

    capsys.readouterr()
    assert main([*words, "--trials", "6", "--set", "copycat.spoilt=false"]) == 0
    assert "3 trials, 9 cells; 0 to run" in capsys.readouterr().out  # the same trials, of which none is spoilt
    assert main([*words, "--trials", "2", "--sweep", "copycat.columns", "1"]) == 2

    # --tuned uses the winner, shows it in the record, and keeps it apart from untuned results.
    grid = [word for word in words[1:] if word not in ("--out", str(tmp_path / "tuned.json"))]
    more = ["--dry-run", "--tuned", str(tmp_path / "tuned.json")]
    capsys.readouterr()
    assert main([*grid, *more]) == 0
    assert "copycat columns=2 explosive 6 bits" in capsys.readouterr().out
    assert main([*grid, *more, "--set", "copycat.columns=6"]) == 0
    assert "copycat explosive 6 bits" in capsys.readouterr().out
    assert main([*grid, *more, "--methods", "lsh"]) == 2
    assert "nothing was tuned for 'lsh' on 'explosive'" in capsys.readouterr().err


def test_every_method_gets_the_same_budget() -> None:
    for budget in (1, 3, 5):
        for name in ("dph", "hashnet", "agh"):
            assert len(settings(get_method(name).info, "any", budget, {})) == budget
    assert settings(get_method("lsh").info, "any", 9, {}) == [{}]


def test_the_defaults_are_tried_first_and_nothing_twice() -> None:
    found = settings(get_method("agh").info, "any", 100, {})
    assert found[0] == {}
    texts = [json.dumps(one, sort_keys=True) for one in found]
    assert len(set(texts)) == len(texts) == 5 * 2  # the whole space, of which the defaults are one
    assert settings(get_method("agh").info, "any", 4, {}) == settings(get_method("agh").info, "any", 4, {})


def test_methods_that_train_a_network_search_the_papers_learning_rates() -> None:
    space = search_space(get_method("dph").info)
    assert space["learning_rate"] == RATES
    assert pytest.approx([1e-5, 3.1623e-5, 1e-4, 3.1623e-4, 1e-3], rel=1e-4) == RATES
    assert "learning_rate" not in search_space(get_method("itq").info)
    assert "learning_rate" not in search_space(get_method("dph").info, fixed=["learning_rate"])


def test_a_search_space_of_unknown_parameters_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(get_method("itq"), "search_space", {"iteration": [1]}, raising=False)
    with pytest.raises(UsageError, match="search_space names 'iteration'"):
        search_space(get_method("itq").info)


def test_folds_share_no_row_and_lose_none() -> None:
    rows = np.arange(50, dtype=np.float32).reshape(-1, 1)
    train = Split(features=rows, labels=np.arange(50) % 3)
    splits = Splits(train, train, train)
    cell = {"dataset": "any", "seed": 0}
    held = []
    for part in range(3):
        one = held_out(splits, (part, 3), cell)
        assert one.train.features is not None
        assert one.query.features is not None
        assert one.database is one.train
        both = np.concatenate([one.train.features, one.query.features])
        assert sorted(both[:, 0]) == list(range(50))
        held.append(one.query.features)
    assert sorted(np.concatenate(held)[:, 0]) == list(range(50))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"winners": [{"method": "x"}]}'])
def test_a_file_that_tune_did_not_write_is_a_usage_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tuned.json"
    with pytest.raises(UsageError, match="no such file"):
        read_winners(path)
    path.write_text(content)
    with pytest.raises(UsageError, match="not a file that 'tune' wrote"):
        read_winners(path)


def test_a_tuned_learning_rate_reaches_the_training(tiny: Path, tmp_path: Path) -> None:
    choice = DatasetChoice(f"features:{tiny}", get_dataset(f"features:{tiny}"))
    tuned = Tuned("tuned.json", {("dhn", choice.dataset.revision): {"learning_rate": 0.5}})
    grid = Grid(["dhn"], [choice], [8], [0], load_profile("quick"), tuned=tuned)
    store = Store(tmp_path)
    (planned,) = plan(grid, store)
    method = build_method(planned.cell.method, request_for(planned, store, Options()))
    assert method.training.learning_rate == 0.5
    assert planned.cell.identity["tuned"] == {"learning_rate": 0.5}
    assert planned.cell.identity["params"] == {}
    assert planned.cell.identity["profile"] == "quick-tuned"


@pytest.mark.parametrize(
    "content", ["", "hello", "[]", "5", "{}", '{"winners": "all"}', '{"winners": [1]}', "[" * 100_000]
)
def test_a_file_that_tune_did_not_write(tmp_path: Path, content: str) -> None:
    """E: a damaged file of winners."""
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(UsageError, match=r"t\.json"):
        read_winners(tmp_path / "t.json")


@pytest.mark.parametrize("name", ["nowhere.json", ".", "pipe", "loop", "n" * 5000, "file/t.json"])
def test_winners_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    """E: OSErrors; a pipe must not be waited for."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="--tuned"):
        read_winners(tmp_path / name)
