"""Words of the command line to values: each understood or refused, none guessed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.commands import arguments
from benchmark.commands.arguments import assignments, load_plugins, number_from, report_name
from benchmark.errors import UsageError


@pytest.mark.parametrize("name", ["default", "my report", "v1.2", "..a", "漢字", "x" * 100, "é" * 60])
def test_other_names_are_taken(name: str) -> None:
    assert report_name(name) == name


def test_bad_names_are_bad_for_every_command() -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        report_name("a/b")


@given(st.integers(-100, 100), st.integers(-5, 5))
def test_whole_numbers_from_the_least_on(value: int, least: int) -> None:
    if value >= least:
        assert number_from(least)(str(value)) == value
        return
    with pytest.raises(argparse.ArgumentTypeError, match=f"whole number of {least} or more"):
        number_from(least)(str(value))


@pytest.mark.parametrize("text", ["", "two", "1.5", "1e3", "nan"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"is not a whole number"):
        number_from(0)(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("4G", 4 << 30), ("500M", 500 << 20), ("1.5k", 1536), (".5 K", 512), ("2048", 2048), (" 3g ", 3 << 30)],
)
def test_sizes(text: str, size: int) -> None:
    assert arguments.size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1G", "0", "0.1", "4T", "4GB", "1e9", "9" * 30, "\u0664G"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size"):
        arguments.size_in_bytes(text)


def test_assignments_are_gathered_by_owner_and_read_as_json_or_text() -> None:
    words = ["dph.gamma=0.5", "dph.flag=true", "a.b.name=x=y", "nus.unlabelled=keep", "itq.empty="]
    assert assignments(words, "METHOD") == {
        "dph": {"gamma": 0.5, "flag": True},
        "a.b": {"name": "x=y"},
        "nus": {"unlabelled": "keep"},
        "itq": {"empty": ""},
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gamma=1"], r"'gamma=1': expected METHOD.NAME=VALUE"),
        (["dph.gamma"], "expected METHOD.NAME=VALUE"),
        (["dph.=1"], "expected METHOD.NAME=VALUE"),
        (["dph.gamma=1", "dph.gamma=1"], "dph.gamma is given twice"),
        (["dph.gamma=NaN"], "dph.gamma: NaN is not a finite number"),
        (["dph.gamma=[1, -Infinity]"], "not a finite number"),
    ],
)
def test_what_is_no_assignment_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        assignments(words, "METHOD")


def test_a_sweep_is_a_parameter_and_its_values() -> None:
    assert arguments._sweep(None) is None
    assert arguments._sweep([["a.b.gamma", "0.1", "1", "x"]]) == ("a.b", "gamma", [0.1, 1, "x"])
    for words in (["gamma", "1"], ["dph.gamma"], ["dph.", "1"]):
        with pytest.raises(UsageError, match=r"--sweep: expected METHOD\.NAME or DATASET\.NAME and values"):
            arguments._sweep([words])


def test_two_sweeps_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--sweep: dph\.gamma and imagenet\.imbalance at once"):
        arguments._sweep([["dph.gamma", "1"], ["imagenet.imbalance", "paper"]])


def test_every_flag_of_a_run_reaches_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark.execution.options.visible_gpus", lambda: ())
    parser = argparse.ArgumentParser()
    arguments.add_data(parser)
    arguments.add_execution(parser)
    words = "--jobs 3 --threads 2 --timeout 7.5 --memory 1G --dask local:2 --allow-overlap"
    found = arguments.options_of(parser.parse_args(words.split()))
    assert (found.jobs, found.threads, found.timeout, found.memory) == (3, 2, 7.5, 1 << 30)
    assert (found.allow_overlap, found.dask) == (True, "local:2")


def test_a_plugin_file_must_exist_and_register_something(tmp_path: Path, parity: str, monkeypatch: Any) -> None:
    from benchmark.registry import methods

    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "whole.py").write_text(parity.replace("test-parity", "test-arguments"))
    for name, message in (("empty", "registers nothing"), ("absent", "does not exist")):
        with pytest.raises(UsageError, match=message):
            load_plugins(argparse.Namespace(plugin=[str(tmp_path / f"{name}.py")]))
    for _ in range(2):  # named twice, it registers nothing new, and is no mistake
        load_plugins(argparse.Namespace(plugin=[str(tmp_path / "whole.py")]))
    assert "test-arguments" in methods.names_unloaded()
