"""Progress that is no terminal's: a line for every tenth, none twice, and silence afterwards."""

from __future__ import annotations

import pytest

from benchmark.commands.bars import shown_progress
from benchmark.data.cache import tell


def test_a_line_for_every_tenth_whatever_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress():
        for done in range(1001):
            tell("reading", done, 1000)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"  reading: {done:,} of 1,000" for done in range(100, 1001, 100)]


def test_a_task_without_an_end_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress():
        for done in range(5):
            tell("listing", done, 0)
    assert capsys.readouterr().out == "  listing\n"


def test_two_tasks_do_not_share_their_tenths(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress():
        tell("one", 5, 10)
        tell("two", 5, 10)
    assert capsys.readouterr().out == "  one: 5 of 10\n  two: 5 of 10\n"


@pytest.mark.parametrize("terminal", [False, True])
def test_outside_of_the_block_nothing_is_shown(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    with shown_progress():
        tell("a [/] task", 1, 2)  # on a terminal too, a name is no markup
    capsys.readouterr()
    tell("reading", 10, 10)
    assert capsys.readouterr() == ("", "")
