"""The name that was typed is the name that is said."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.program import program, typed

NAMES = [
    ("/usr/bin/hashbench", "hashbench"),
    ("./run_all.py", "python run_all.py"),
    ("/lib/benchmark/__main__.py", "python -m benchmark"),
    ("/x/pytest", "hashbench"),
    ("", "hashbench"),
]


@pytest.mark.parametrize(("started", "name"), NAMES)
def test_the_program_is_called_as_we_were(started: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [started])
    assert program() == name
    assert typed([]) == name
    assert typed(["list", "a b"]) == f"{name} list 'a b'"


@given(st.lists(st.text("ab \"'\\$;\n*é-")))
def test_the_command_line_that_says_it_again_is_read_as_the_same_words(words: list[str]) -> None:
    assert shlex.split(typed(words)) == [*shlex.split(program()), *words]
