"""What the user sees: every letter of a label, no more lines than are read, and how long it will take."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from rich.console import Console

from benchmark.execution.progress import Bars, Lines, bars_on, clock, printable, progress, step_line

NASTY = ["[/x]", "[bold]x", "[red", "\\[/x]", ":smile:", "{task}", "[/]", "[link=x]y[/link]"]


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)


@pytest.mark.parametrize("label", NASTY)
def test_labels_are_shown_letter_by_letter_on_a_terminal(label: str) -> None:
    """E: `[/x]` in a label broke rich's markup."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=200, color_system=None)
    with bars_on(console) as bar:
        shown = Bars(bar, 2)
        shown.working(f"step {label}", 1, 3)
        bar.refresh()
        shown.started(f"cell {label}")
        bar.refresh()
        shown.finished(f"cell {label}", f"failed: {label}")
        shown.note(f"note {label}")
    text = screen.getvalue()
    for part in (f"step {label}", f"cell {label}: failed: {label}", f"note {label}"):
        assert part in text


def test_what_a_terminal_would_obey_is_not_sent(capsys: pytest.CaptureFixture[str]) -> None:
    Lines(1).finished("a\x1b[2J\nb\rc", "ok")
    assert capsys.readouterr().out == "[1/1] a?[2J b c: ok\n"
    assert printable("süß [/x] 汉") == "süß [/x] 汉"


def test_a_bar_of_a_step_goes_when_the_next_begins() -> None:
    with bars_on(Console(file=io.StringIO(), force_terminal=True)) as bar:
        shown = Bars(bar, 1)
        for what, done, total in [("", 0, None), ("features", 1, 9), ("features", 5, 9), ("index", 2, None)]:
            shown.working(what, done, total)
            steps: list[Any] = bar.tasks[1:]
            assert [(task.description.strip(), task.completed, task.total) for task in steps] == [
                (what or "working", done, total)
            ]
        shown.started("cell")
        assert [task.description.strip() for task in bar.tasks] == ["cells", "cell"]


def test_lines_of_a_step_come_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever takes longer than five seconds shows that it lives; what does not is not worth a line."""
    time, lines = Clock(monkeypatch), Lines(1)
    for done in range(101):
        lines.working("features", done, 400)
        time.now += 0.2
    assert capsys.readouterr().out.splitlines() == [
        "  features: 25/400 (1:15 left)",
        "  features: 50/400 (1:10 left)",
        "  features: 75/400 (1:05 left)",
        "  features: 100/400 (1:00 left)",
    ]
    lines.working("index", 1, 9)
    time.now += 4
    lines.working("index", 9, 9)
    lines.working("audit", 0, None)
    assert capsys.readouterr().out == ""
    time.now += 65
    lines.working("audit", 0, None)
    assert capsys.readouterr().out == "  audit: 1:05 so far\n"


def test_a_step_of_the_same_words_after_a_cell_is_another(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A later round of a tuning prepares the same data: it told the minutes that cells had taken in between."""
    time, lines = Clock(monkeypatch), Lines(2)
    lines.working("preparing coco", 0, None)
    lines.started("cell")
    time.now += 60
    lines.finished("cell", "ok")
    capsys.readouterr()
    lines.working("preparing coco", 0, None)
    time.now += 6
    lines.working("preparing coco", 0, None)
    assert capsys.readouterr().out == "  preparing coco: 0:06 so far\n"


def test_running_cells_show_that_they_do_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now, lines = Clock(monkeypatch), Lines(3)
    lines.remind()
    lines.started("one")
    now.now += 3
    lines.started("two")
    for _ in range(10):
        now.now += 1
        lines.remind()
    assert capsys.readouterr().out == "  one: 0:08 so far, and 1 more\n  one: 0:13 so far, and 1 more\n"
    lines.finished("one", "ok")
    capsys.readouterr()
    for _ in range(6):
        now.now += 1
        lines.remind()
    assert capsys.readouterr().out == "  two: 0:15 so far\n"
    lines.finished("two", "ok")
    now.now += 60
    lines.remind()
    assert capsys.readouterr().out.count("\n") == 1


def test_whoever_runs_cells_is_reminded_until_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmark.execution.progress.REMIND_SECONDS", 0.01)
    monkeypatch.setattr("benchmark.execution.progress.LINE_SECONDS", 0.1)
    with progress(1) as shown:
        shown.started("cell")
        out, end = "", time.monotonic() + 30
        while "cell: 0:00 so far" not in out:
            assert time.monotonic() < end
            time.sleep(0.02)
            out += capsys.readouterr().out
    capsys.readouterr()
    time.sleep(0.3)
    assert capsys.readouterr().out == ""


def test_a_step_in_a_line() -> None:
    assert step_line("x", 0, 7, 5) == "x: 0/7"
    assert step_line("x", 7, 7, 5) == "x: 7/7"
    assert step_line("", 0, None, 7) == "still working: 0:07 so far"
    assert clock(3725) == "1:02:05"


def test_there_are_lines_where_there_is_no_terminal() -> None:
    with progress(1) as shown:
        assert isinstance(shown, Lines)
