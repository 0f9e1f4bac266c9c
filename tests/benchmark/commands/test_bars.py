"""Progress of long tasks: a line every few seconds with the time left, bars on a terminal, and silence afterwards."""

from __future__ import annotations

import pytest

from benchmark.commands.bars import shown_progress
from benchmark.data.cache import tell, telling


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_a_line_every_five_seconds_with_the_time_left(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    with shown_progress():
        for done in range(0, 101, 10):
            tell("reading", done, 100)
            clock[0] += 2.5
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["  reading: 20/100 (0:20 left)", "  reading: 40/100 (0:15 left)"]
    assert len(lines) == 5


def test_what_was_there_before_does_not_count_for_the_pace(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    with shown_progress():
        tell("features", 900, 1000)
        clock[0] += 10
        tell("features", 910, 1000)
    assert capsys.readouterr().out == "  features: 910/1000 (1:30 left)\n"


def test_a_task_without_an_end_says_for_how_long(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    with shown_progress():
        for done in range(5):
            tell("listing", done, 0)
            clock[0] += 4
    assert capsys.readouterr().out == "  listing: 0:08 so far\n  listing: 0:16 so far\n"


def test_who_listens_already_goes_on_listening(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    with telling(lambda what, done, total: heard.append(what)), shown_progress():
        tell("reading", 1, 2)
    assert heard == ["reading"]


@pytest.mark.parametrize("terminal", [False, True])
def test_outside_of_the_block_nothing_is_shown(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    with shown_progress():
        tell("a [/] task", 1, 2)  # on a terminal too, a name is no markup
    shown = capsys.readouterr().err
    assert ("a [/] task" in shown) == terminal
    tell("reading", 10, 10)
    assert capsys.readouterr() == ("", "")
