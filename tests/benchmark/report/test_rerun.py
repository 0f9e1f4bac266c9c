"""The command of a row, given in an empty folder, makes its records again: their keys, or the same codes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.commands.arguments import assignments
from benchmark.commands.main import main
from benchmark.deep.profile import load_profile
from benchmark.execution.grid import training_id
from benchmark.execution.record import Record
from benchmark.execution.store import Store, tune_store
from benchmark.execution.tuned_settings import TunedSettings, write_tuned
from benchmark.program import program
from benchmark.registry import get_dataset
from benchmark.report.rerun import OTHER_KEY, _value, rerun
from tests.benchmark.conftest import Synthetic

WINNERS: dict[str, dict[str, Any]] = {"itq": {"iterations": 7}, "dhn": {"learning_rate": 0.004, "quantization": 0.3}}


def words_of(command: str) -> list[str]:
    """The command without the program."""
    return shlex.split(command)[len(shlex.split(program())) :]


def winners(data: str, profile: str = "quick") -> list[dict[str, Any]]:
    known = {"revision": get_dataset(data).revision, "training": training_id(load_profile(profile)), "trials": []}
    return [{"method": name, "bits": 8, "params": params, **known} for name, params in WINNERS.items()]


def made(store: Store) -> dict[str, tuple[Record, dict[str, Any]]]:
    """Method -> its record and its arrays."""
    return {record.cell["method"]: (record, store.payload(record)) for record in store.records()}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_lab: Any) -> str:
    monkeypatch.chdir(tmp_path)
    make_lab(tmp_path).features("my data.npz")
    (tmp_path / "mine.toml").write_text("[training]\nsteps = 3\n")
    return "features:my data.npz"


@pytest.mark.parametrize("how", ["in the results folder", "by a file"])
def test_settings_that_were_tuned_are_written_out_and_give_the_same_codes(how: str, data: str, tmp_path: Path) -> None:
    """Of other methods of the same run, too, which that file had nothing for."""
    run = ["--datasets", data, "--methods", "itq", "dhn", "sdh", "--bits", "8", "--profile", "mine.toml", "--jobs", "1"]
    if how == "by a file":
        write_tuned(tmp_path / "mine.json", winners(data, "mine.toml"))
        run += ["--tuned", "mine.json"]
    else:
        tune_store(tmp_path / "results").save_tuned(winners(data, "mine.toml"))
    assert main([*run, "--no-report"]) == 0
    (tmp_path / "mine.json").unlink(missing_ok=True)
    for method, (record, arrays) in made(Store("results")).items():
        again, folder = rerun([record]), f"again-{method}"
        assert "--tune" not in again.command.split()
        assert "--tuned" not in again.command.split()
        assert main([*words_of(again.command), "--results", folder, "--jobs", "1", "--no-report"]) == 0
        ((other, its_arrays),) = made(Store(folder)).values()
        assert (other.key == record.key) is (again.note == "")
        assert again.note == (OTHER_KEY if method in WINNERS or how == "by a file" else "")
        assert {**other.cell.get("tuned", {}), **other.cell["params"]} == WINNERS.get(method, {})
        assert np.array_equal(arrays["database_codes"], its_arrays["database_codes"])
        assert np.array_equal(arrays["query_codes"], its_arrays["query_codes"])


@pytest.mark.parametrize("words", ["", "--untuned", "--set dhn.quantization=0.7 --set dhn.learning_rate=0.001"])
def test_what_a_run_chooses_by_itself_is_left_to_it(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As long as it ships: what has shipped in another version is written out."""
    monkeypatch.chdir(tmp_path)
    run = ["--datasets", "coco", "--methods", "dhn", "--bits", "16", "--profile", "quick", *words.split()]
    record = planned_record(run, capsys, monkeypatch)
    assert record.cell.get("settings", "defaults") == ("defaults" if "untuned" in words else "shipped")
    again = rerun([record])
    assert main([*words_of(again.command), "--dry-run"]) == 0
    assert record.key[:12] in capsys.readouterr().out
    assert again.note == ""
    monkeypatch.setattr("benchmark.report.rerun.shipped", lambda: TunedSettings("shipped"))
    later = rerun([record])
    assert (later.note == "") is ("untuned" in words)
    for name, value in {**record.cell.get("tuned", {}), **record.cell["params"]}.items():
        assert f"--set dhn.{name}={value}" in later.command


def planned_record(run: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Record:
    """The record that the one cell of a run would have, without running it."""
    found: list[Record] = []

    def note(planned: Any, todo: Any, **_: Any) -> None:
        cell = planned[0].cell
        found.append(Record(planned[0].key, cell.identity, cell.parts, "ok", cell.asked, {"needs": cell.method.needs}))

    with monkeypatch.context() as patched:
        patched.setattr("benchmark.commands.run._announce", note)
        assert main([*run, "--dry-run"]) == 0
    capsys.readouterr()
    return found[0]


def test_data_and_training_are_named_as_they_were_asked_for(synthetic: Synthetic) -> None:
    asked = {"dataset": "coco", "data_root": "my root", "options": {"unseen": 0.25}, "weights": "w.pth",
             "partial_weights": True, "profile": "paper tuned by mine.json"}  # fmt: skip
    again = rerun([synthetic.cell("dph", "coco", 16, backbone="vgg16", asked=asked)])
    told = shlex.split(again.command)
    for pair in (("--data-root", "my root"), ("--option", "coco.unseen=0.25"), ("--weights", "w.pth"),
                 ("--profile", "paper"), ("--backbone", "vgg16")):  # fmt: skip
        assert told[told.index(pair[0]) + 1] == pair[1]
    assert "--partial-weights" in told
    assert "--untuned" in told
    assert again.note == OTHER_KEY


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
LIKE_OTHERS = st.sampled_from(["1", "null", "true", "[1]", '"x"', "NaN", "paper"])


@given(st.recursive(PLAIN | LIKE_OTHERS, st.lists))
def test_a_value_is_read_again_as_it_was(value: Any) -> None:
    assert assignments([f"dph.gamma={_value(value)}"], "METHOD") == {"dph": {"gamma": value}}
