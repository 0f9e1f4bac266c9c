"""The interface for notebooks: frames, tables and a report of a results folder."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

import numpy as np
import pytest

from benchmark.errors import UsageError
from benchmark.interface import Results, results
from benchmark.interface import run as run_grid


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Keys that are called stale; none unless a test says so."""
    keys: set[str] = set()
    monkeypatch.setattr("benchmark.interface.stale_keys", lambda store, *_: keys)
    return keys


def test_the_table_holds_the_means_over_seeds(synthetic, fresh) -> None:
    made = [synthetic.cell("itq", "nus-mini", 16, seed) for seed in range(2)]
    synthetic.cell("itq", "nus-mini", 16, params={"iterations": 3}, quality=0.99)
    synthetic.cell("lsh", "imagenet-mini", 32)
    table = Results(synthetic.store).table("map")
    assert list(table.index) == ["ITQ", "LSH"]
    assert table.columns.names == ["dataset", "bits"]
    mean = sum(record.metrics["map"] for record in made) / 2
    assert table.loc["ITQ", ("NUS-WIDE-mini (miniature)", 16)] == pytest.approx(mean)
    assert table.isna().sum().sum() == 2


def test_a_method_that_was_run_with_parameters_of_ones_own_is_in_the_table(synthetic, fresh) -> None:
    """`run(..., set={"itq": {"iterations": 3}}).table()` had no row of it."""
    synthetic.cell("itq", "nus-mini", 16, params={"iterations": 3})
    synthetic.cell("lsh", "nus-mini", 16)
    assert list(Results(synthetic.store).table().index) == ["ITQ (iterations=3)", "LSH"]


def test_settings_that_may_not_be_compared_are_rows_apart(synthetic, fresh) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 16, profile="paper")
    table = Results(synthetic.store.root).table()
    assert table.index.names == ["setting", "method"]
    assert len(table) == 2


def test_stale_results_are_in_the_frame_and_in_no_table(synthetic, fresh) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    old = synthetic.cell("lsh", "nus-mini", 16)
    fresh.add(old.key)
    found = results(synthetic.store.root)
    assert len(found) == 1
    assert dict(zip(found.frame()["method"], found.frame()["current"], strict=True)) == {"itq": True, "lsh": False}
    assert list(found.table().index) == ["ITQ"]


def test_filters_take_a_value_or_several(synthetic, fresh, undrawn, tmp_path: Path) -> None:
    synthetic.grid(bits=(16, 32))
    found = Results(synthetic.store)
    assert set(found.frame(methods=["itq", "lsh"], bits=16)["method"]) == {"itq", "lsh"}
    assert set(found.frame(bits=16)["bits"]) == {16}
    page = found.report(tmp_path / "out", methods="itq")
    assert "This report is confined to methods: itq." in page.read_text()
    assert "LSH" not in page.read_text()


def test_what_is_wrong_is_said(synthetic, fresh, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    with pytest.raises(UsageError, match="does not exist"):
        results(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"no score 'mpa'; there are: .*map"):
        Results(synthetic.store).table("mpa")
    with pytest.raises(UsageError, match="no score 'ties'"):
        Results(synthetic.store).table("ties")
    with pytest.raises(UsageError, match="unknown filter 'method'"):
        Results(synthetic.store).frame(method="itq")


def test_a_notebook_shows_the_table(synthetic, fresh) -> None:
    assert "0 cells" in Results(synthetic.store)._repr_html_()
    synthetic.cell("itq", "nus-mini", 16, titles={"method": "<b>", "dataset": "NUS"})
    html = Results(synthetic.store)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert repr(Results(synthetic.store)).endswith(": 1 cell)")


def test_an_empty_folder_gives_empty_things(synthetic, fresh) -> None:
    found = Results(synthetic.store)
    assert len(found) == 0
    assert found.frame().empty
    assert found.table().empty


def test_importing_it_loads_neither_pandas_nor_torch() -> None:
    code = "import sys, benchmark.interface; sys.exit(any(m in sys.modules for m in ('pandas', 'torch')))"
    assert run([sys.executable, "-c", code], check=False).returncode == 0


SCRIPT = """
import sys
import numpy as np
import benchmark
from benchmark import register_method

rng, arrays = np.random.default_rng(0), {}
for part in ("train", "query", "database"):
    arrays[f"{part}_features"] = rng.normal(size=(20, 8)).astype(np.float32)
    arrays[f"{part}_labels"] = np.arange(20) % 4
np.savez("tiny.npz", map_cutoff=20, **arrays)


def planes(seed, columns, bits):
    return np.random.default_rng(seed).standard_normal((columns, bits))


@register_method("typed", title="Typed")
class Typed:
    def fit(self, train):
        self.planes = planes(self.seed, train.features.shape[1], self.bits)

    def encode(self, split):
        return np.where(split.features @ self.planes > 0, 1, -1)


found = benchmark.run("features:tiny.npz", [Typed, "lsh"], bits=[4, 8], seeds=0, quiet=True)
assert len(found) == 4, found.frame()
assert list(found.table("map").index) == ["LSH", "Typed"]
assert len(benchmark.run("features:tiny.npz", Typed, bits=4, quiet=True)) == 1
assert len(benchmark.results("results")) == 4
print("ran once")
"""


def test_a_script_needs_no_guard_and_may_define_its_methods(tmp_path: Path) -> None:
    """Cells run in other processes, which would execute the script again if they imported it."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["ran once"]


def test_nor_does_what_is_typed_into_an_interpreter(tmp_path: Path) -> None:
    """There is no file that another process could read, as in a notebook; the cell is given twice."""
    lines = SCRIPT.replace('print("ran once")', 'print("done", found.frame()["map"].mean())')
    done = run([sys.executable, "-"], input=lines + lines, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == second


def test_what_cannot_be_sent_to_another_process_is_told_before_any_work(tmp_path: Path) -> None:
    text = SCRIPT.replace("class Typed:\n", "class Typed:\n    lock = __import__('threading').Lock()\n\n")
    (tmp_path / "script.py").write_text(text)
    done = run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "put it into a file of its own" in done.stderr
    assert not (tmp_path / "results").exists()


def test_its_parameters_are_the_flags_of_a_run() -> None:
    """All but those that make a report or only look: `results.report(...)` does that here, and a script is its own
    configuration."""
    import inspect

    from benchmark.commands.main import build_parser
    from benchmark.interface import run as run_grid

    command = build_parser("run").parse_args(["run"]).parser
    flags = {
        name[2:].replace("-", "_") for action in command._actions for name in action.option_strings if name[:2] == "--"
    }
    parameters = set(inspect.signature(run_grid).parameters)
    assert flags - parameters == {"help", "config", "dry_run", "no_report", "reports", "name"}
    assert parameters - flags == {"quiet"}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"methods": object}, "@register_method"),
        ({"methods": "nope"}, "unknown method"),
        ({"datasets": "nope"}, "unknown dataset"),
        ({"set": {"itq": {"iterations": 3}}, "methods": "lsh"}, "not among"),
        ({"profile": "nope"}, "profile"),
        ({"force": True, "keep_failed": True}, "contradict"),
        ({"tune": True, "untuned": True}, "contradict"),
        ({"tune": True, "tuned": "some.json"}, "contradict"),
        ({"bits": 0}, "bits"),
        ({"bits": "16"}, "bits"),
        ({"bits": []}, "bits"),
        ({"seeds": -1}, "seed"),
        ({"timeout": -1}, "timeout"),
        ({"jobs": 0}, "jobs"),
        ({"threads": 0}, "threads"),
        ({"memory": 0}, "memory"),
        ({"methods": []}, "method"),
        ({"datasets": []}, "data"),
        ({"sweep": ("lsh",)}, "sweep"),
        ({"set": {"lsh": 3}}, "lsh"),
        ({"set": "lsh.scaling=none"}, "set"),
        ({"plugin": "nowhere.py"}, "nowhere.py"),
        ({"tuned": "nowhere.json"}, "nowhere.json"),
        ({"data_root": "nowhere"}, "nowhere"),
        ({"methods": 3}, "register_method"),
        ({"datasets": 3}, "unknown dataset"),
        ({"sweep": ("lsh", "scaling", "none")}, "sweep"),
        ({"sweep": ("lsh", "scaling", [])}, "sweep"),
    ],
)
def test_bad_input_raises_before_any_work(tmp_path: Path, monkeypatch, arguments, word) -> None:
    import benchmark

    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=word):
        benchmark.run(**({"datasets": "coco", "methods": "lsh", "bits": 8} | arguments))
    assert not (tmp_path / "results").exists()


def test_a_class_that_only_derives_from_a_registered_one_is_refused(tmp_path: Path, monkeypatch) -> None:
    """It has that one's name, and the results would be those of the other."""
    import benchmark

    class Mine(benchmark.get_method("itq")):  # type: ignore[misc]
        pass

    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="not the class that is registered as 'itq'"):
        benchmark.run("coco", Mine, bits=8)


def test_a_class_whose_name_was_taken_since_is_refused(tmp_path: Path, monkeypatch) -> None:
    import benchmark
    from benchmark.registry import methods

    def made(number: int) -> type:
        @benchmark.register_method("test-made", title="Made")
        class Made:
            def fit(self, train: benchmark.Split) -> None: ...

            def encode(self, split: benchmark.Split) -> object:
                return number

        Made.__module__ = "__main__"
        return Made

    monkeypatch.chdir(tmp_path)
    try:
        with pytest.raises(UsageError, match="a name of its own"):
            benchmark.run("coco", [made(number) for number in range(2)], bits=8)
    finally:
        methods._plugins.pop("test-made")


@pytest.mark.slow
def test_tuning_and_running_is_one_call(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    labels = {f"{part}_labels": np.arange(60) % 4 for part in ("train", "query", "database")}
    features = {name.replace("labels", "features"): random.standard_normal((60, 12)) for name in labels}
    np.savez(tmp_path / "x.npz", **labels, **features)
    words = {"datasets": f"features:{tmp_path / 'x.npz'}", "bits": [8], "results": tmp_path / "r", "quiet": True}
    found = run_grid(methods=["lsh", "itq"], tune=True, trials=2, folds=2, **words)
    assert set(found.frame()["settings"]) == {"tuned"}
    again = run_grid(methods=["lsh", "itq"], **words)
    assert set(again.frame()["key"]) == set(found.frame()["key"])  # what was tuned is used, and nothing is run
    untuned = run_grid(methods=["lsh"], untuned=True, **words)
    assert list(untuned.frame()["profile"]) == ["quick-untuned"]
