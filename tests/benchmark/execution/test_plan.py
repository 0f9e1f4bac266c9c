"""The plan: what makes a key and what does not, and what is to be done about each cell."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import UsageError, get_method
from benchmark.deep.profile import load_profile
from benchmark.execution import grid as grid_module
from benchmark.execution import plan as plan_module
from benchmark.execution.fingerprint import differences
from benchmark.execution.grid import DatasetChoice, Grid, changed_parameters, training_id
from benchmark.execution.plan import PlannedCell, plan, stale_keys, unchecked
from benchmark.execution.record import Record
from benchmark.execution.store import Store, tune_store
from benchmark.registry import get_dataset, load_plugin

NEIGHBOUR = Path(__file__).parents[2] / "hostile" / "neighbour.py"


def grid(tiny: Path, **changes: Any) -> Grid:
    choice = DatasetChoice(f"features:{tiny}", get_dataset(f"features:{tiny}"))
    settings = {
        "methods": ["lsh", "itq"],
        "choices": [choice],
        "bits": [8, 16],
        "seeds": [0, 1],
        "profile": load_profile("quick"),
    }
    return Grid(**(settings | changes))


def keys(wanted: Grid, store: Store) -> dict[str, str]:
    """Label -> key."""
    return {one.cell.label: one.key for one in plan(wanted, store)}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_every_cell_of_the_grid_once(tiny: Path, store: Store) -> None:
    found = plan(grid(tiny), store)
    assert len({one.key for one in found}) == len(found) == 8
    assert {one.state for one in found} == {"todo"}


def test_a_further_method_or_another_order_changes_no_key(tiny: Path, store: Store) -> None:
    before = keys(grid(tiny), store)
    load_plugin(NEIGHBOUR)
    more = keys(grid(tiny, methods=["neighbour", "itq", "lsh"], bits=[16, 32, 8], seeds=[1, 2, 0]), store)
    assert before.items() < more.items()


def test_each_part_of_a_cell_changes_its_key(tiny: Path, store: Store, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    import numpy as np

    with np.load(tiny) as arrays:
        np.savez(other, **{**arrays, "map_cutoff": np.array(10)})
    one = {"methods": ["itq"], "bits": [8], "seeds": [0]}
    choice = DatasetChoice(f"features:{other}", get_dataset(f"features:{other}"))
    variants = [
        {},
        {"methods": ["lsh"]},
        {"bits": [16]},
        {"seeds": [1]},
        {"profile": load_profile("paper")},
        {"choices": [choice]},
        {"params": {"itq": {"iterations": 7}}},
    ]
    found = [plan(grid(tiny, **(one | variant)), store)[0].key for variant in variants]
    assert len(set(found)) == len(variants)


def test_naming_a_default_changes_no_key(tiny: Path, store: Store) -> None:
    assert keys(grid(tiny, params={"itq": {"iterations": 50}}), store) == keys(grid(tiny), store)


def test_where_a_data_set_lies_changes_no_key(tiny: Path, store: Store, tmp_path: Path) -> None:
    moved = tmp_path / tiny.name
    shutil.copy(tiny, moved)
    choice = DatasetChoice(f"features:{moved}", get_dataset(f"features:{moved}"))
    assert keys(grid(tiny, choices=[choice]), store) == keys(grid(tiny), store)


def test_a_sweep_adds_cells_and_keeps_the_others(tiny: Path, store: Store) -> None:
    before = keys(grid(tiny), store)
    swept = keys(grid(tiny, sweep=("itq", "iterations", [10, 50, 100])), store)
    assert before.items() < swept.items()
    assert len(swept) == len(before) + 2 * 4  # 50 is the default


def test_a_parameter_nobody_knows_is_a_usage_error(tiny: Path, store: Store) -> None:
    with pytest.raises(
        UsageError, match=r"'dhn' has no parameter 'lr'; it has: .*quantization.*, learning_rate, weight_decay"
    ):
        changed_parameters(get_method("dhn").info, {"lr": 1})
    with pytest.raises(UsageError, match="has no parameter 'iteration'; it has: iterations"):
        plan(grid(tiny, params={"itq": {"iteration": 7}}), store)


@pytest.mark.parametrize(
    ("status", "state"), [("ok", "done"), ("skipped", "skipped"), ("failed", "failed"), ("interrupted", "todo")]
)
def test_the_state_of_a_cell_is_that_of_its_record(tiny: Path, store: Store, status: str, state: str) -> None:
    first = plan(grid(tiny), store)[0]
    store.commit(Record(first.key, first.cell.identity, first.cell.parts, status, metrics={"map": 0.5}))
    states = {one.key: one.state for one in plan(grid(tiny), store)}
    assert states.pop(first.key) == state
    assert set(states.values()) == {"todo"}


def test_a_record_of_the_same_cell_under_another_key_is_stale(tiny: Path, store: Store) -> None:
    first = plan(grid(tiny), store)[0]
    parts = {**first.cell.parts, "evaluator": 0}
    store.commit(Record("0" * 64, first.cell.identity, parts, "ok", first.cell.asked, metrics={"map": 0.5}))
    again = plan(grid(tiny), store)[0]
    assert again.state == "stale"
    assert again.record is not None
    assert differences(again.record.parts, again.cell.parts) == [f"evaluator: 0 -> {first.cell.parts['evaluator']}"]


def test_differences_name_the_part_at_whatever_depth() -> None:
    old = {"sources": {"method": "a", "benchmark.shallow.scaling": "b"}, "weights": None}
    new = {"sources": {"method": "c", "benchmark.shallow.scaling": "b"}, "weights": "w"}
    assert differences(old, new) == ["sources.method: a -> c", "weights: None -> w"]


def test_a_damaged_record_is_planned_again(tiny: Path, store: Store) -> None:
    first = plan(grid(tiny), store)[0]
    store.commit(Record(first.key, first.cell.identity, first.cell.parts, "ok", metrics={"map": 0.5}))
    path = store.cells / f"{first.key}.json"
    path.write_bytes(path.read_bytes()[:-1])
    assert plan(grid(tiny), store)[0].state == "todo"


def features(path: Path, seed: int) -> Path:
    """A small features file, another for each seed."""
    rng = np.random.default_rng(seed)
    arrays = {
        f"{part}_features": rng.normal(size=(20, 8)).astype(np.float32) for part in ("train", "query", "database")
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays, **{name.replace("features", "labels"): np.arange(20) % 4 for name in arrays})
    return path


def done(store: Store, one: PlannedCell, **changes: Any) -> str:
    store.commit(
        Record(one.key, one.cell.identity, one.cell.parts, "ok", one.cell.asked, metrics={"map": 0.5}, **changes)
    )
    return one.key


def only_lsh(path: Path) -> Grid:
    choice = DatasetChoice(f"features:{path}", get_dataset(f"features:{path}"))
    return Grid(["lsh"], [choice], [8], [0], load_profile("quick"))


def test_two_data_sets_of_one_name_are_two_things_and_neither_is_stale(tmp_path: Path, store: Store) -> None:
    """A2: a, then b, then a again; whichever was written last."""
    one, two = (only_lsh(features(tmp_path / name / "feats.npz", seed)) for seed, name in enumerate("ab"))
    for grid_ in (one, two, one):
        done(store, plan(grid_, store)[0])
    for planned in (plan(one, store), plan(two, store), [*plan(one, store), *plan(two, store)], []):
        assert stale_keys(store, planned) == set()
    assert {planned.state for planned in plan(one, store) + plan(two, store)} == {"done"}


def test_a_file_replaced_in_place_makes_its_old_record_stale_however_new_it_is(tmp_path: Path, store: Store) -> None:
    """A2: a record belongs to a run because of its key, never because it is the newest of its kind."""
    path = features(tmp_path / "feats.npz", 0)
    old = done(store, plan(only_lsh(path), store)[0], provenance={"ended": "2999-01-01"})
    features(path, 1)
    (again,) = plan(only_lsh(path), store)
    assert again.state == "stale"
    new = done(store, again, provenance={"ended": "2000-01-01"})
    assert stale_keys(store, plan(only_lsh(path), store)) == {old}
    assert stale_keys(store) == {old}  # without a grid: by what the words mean today
    features(path, 0)
    assert stale_keys(store, plan(only_lsh(path), store)) == {new}
    path.unlink()
    assert stale_keys(store) == set()  # nobody can tell any more: both are shown, each under its own name


def test_a_method_edited_and_reverted_shows_its_first_record_again(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A2: the newest record is that of the edit, and it is the stale one."""
    path = features(tmp_path / "feats.npz", 0)
    first = done(store, plan(only_lsh(path), store)[0])
    with monkeypatch.context() as patch:
        for module in (plan_module, grid_module):
            patch.setattr(module, "plugin_sources", lambda cls: {"plugin": "edited"})
        edited = done(store, plan(only_lsh(path), store)[0])
        assert stale_keys(store) == {first}
    assert stale_keys(store) == {edited}


@pytest.mark.parametrize(
    ("method", "data", "plugins", "told"),
    [
        ("lsh", "coco", "", ""),
        ("stranger", "coco", "its own.py", "its own.py was not given (--plugin 'its own.py')"),
        ("stranger", "odd:x", "a.py\nb.py", "a.py and b.py were not given (--plugin a.py b.py)"),
        ("neighbour", "odd:x", "neighbour.py\nb.py", "b.py was not given (--plugin b.py)"),
        ("stranger", "", "", "method 'stranger' is not known here (--plugin FILE)"),
        ("lsh", "odd", "", "data set 'odd' is not known here (--plugin FILE)"),
    ],
)
def test_a_record_whose_plugin_is_not_here_is_told_to_be_unchecked(
    method: str, data: str, plugins: str, told: str
) -> None:
    load_plugin(NEIGHBOUR)
    cell = {"method": method, "dataset": "x", "bits": 8, "seed": 0}
    titles = {"plugins": plugins} if plugins else {}
    record = Record("0" * 64, cell, {"dataset": {"revision": "r"}}, asked={"dataset": data}, titles=titles)
    assert unchecked(record) == told
    packaged = unchecked(replace(record, provenance={"packages": {"odd-pack": "1.2"}}))
    assert packaged == told.replace("(--plugin FILE)", "(pip install odd-pack==1.2)")
    if data == "coco":
        assert unchecked(replace(record, cell=cell | {"settings": "codes only"})) == ""


def test_one_file_under_two_names_is_one_cell(tmp_path: Path, store: Store) -> None:
    path = features(tmp_path / "a" / "feats.npz", 0)
    copy = tmp_path / "b" / "feats.npz"
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    choices = [*only_lsh(path).choices, *only_lsh(copy).choices]
    assert len(plan(replace(only_lsh(path), choices=choices), store)) == 1


def test_what_was_run_before_tuning_is_stale_after_it(tmp_path: Path, store: Store) -> None:
    """The same words mean the tuned settings now; without a grid, by what is tuned in the folder today."""
    path = features(tmp_path / "feats.npz", 0)
    before = only_lsh(path)
    old = done(store, plan(before, store)[0])
    assert stale_keys(store) == set()
    names = {"method": "lsh", "revision": str(before.choices[0].parts["dataset"]["revision"]), "bits": 8}
    winner = {**names, "training": training_id(before.profile), "params": {"scaling": "center"}, "trials": []}
    tune_store(store.root).save_tuned([winner])
    after = replace(before, known=[tune_store(store.root).tuned()])
    (planned,) = plan(after, store)
    assert (planned.state, planned.cell.tuned) == ("stale", {"scaling": "center"})
    new = done(store, planned)
    assert stale_keys(store, plan(after, store)) == stale_keys(store) == {old}
    tune_store(store.root).save_tuned([{**winner, "params": {}}])
    assert new in stale_keys(store)
