"""What the user sees while cells run: bars on a terminal, one plain line per cell elsewhere.

Labels and messages are made of what users and plugins wrote, so they are shown letter by letter: no markup, no
control characters.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

LINE_SECONDS = 5  # between two lines on one step, or without a line while cells run
REMIND_SECONDS = 0.5  # between looks at how long nothing was said


class Progress(Protocol):
    """Told of every cell that starts and ends, and of the steps of whatever takes long."""

    def started(self, label: str) -> None: ...

    def finished(self, label: str, outcome: str) -> None: ...

    def working(self, what: str, done: int, total: int | None) -> None:
        """A step is so far; the same step again says that it goes on, another one that it is over."""

    def already(self, number: int) -> None:
        """So many cells need not be run."""

    def note(self, text: str) -> None: ...


class Silence:
    """Nothing is shown."""

    def started(self, label: str) -> None: ...

    def finished(self, label: str, outcome: str) -> None: ...

    def working(self, what: str, done: int, total: int | None) -> None: ...

    def already(self, number: int) -> None: ...

    def note(self, text: str) -> None: ...


class Lines:
    """One line per finished cell, and one now and then while they run. The time left is that of cells: preparation and
    cells of other runs do not count."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.own = total, 0, 0
        self.begin: float | None = None
        self.running: dict[str, float] = {}  # label -> when it started
        self.told = 0.0  # when there was a line at last
        self.step: str | None = None
        self.step_begin = self.step_told = 0.0
        self.step_from = 0  # what was done of it when it was first heard of
        self._telling = threading.Lock()

    def started(self, label: str) -> None:
        with self._telling:
            self.step = None  # it is over: the same words later are another step
            self.running[label] = time.monotonic()
        if self.begin is None:
            self.begin = time.monotonic()

    def finished(self, label: str, outcome: str) -> None:
        with self._telling:
            self.done += 1
            self.own += label in self.running
            self.running.pop(label, None)
            self.note(f"[{self.done}/{self.total}] {label}: {outcome}{self._left()}")

    def _left(self) -> str:
        if self.begin is None or not self.own or self.done == self.total:
            return ""
        per_cell = (time.monotonic() - self.begin) / self.own
        return f" ({clock(per_cell * (self.total - self.done))} left)"

    def working(self, what: str, done: int, total: int | None) -> None:
        with self._telling:
            now = time.monotonic()
            if what != self.step:
                self.step, self.step_begin, self.step_told, self.step_from = what, now, now, done
            elif now - self.step_told >= LINE_SECONDS:
                self.step_told = now
                self.note(f"  {step_line(what, done, total, now - self.step_begin, self.step_from)}")

    def remind(self) -> None:
        """Where cells run and nothing was said for a while: which, and for how long."""
        with self._telling:
            now = time.monotonic()
            if self.running and now - max(self.told, *self.running.values()) >= LINE_SECONDS:
                label, others = next(iter(self.running)), len(self.running) - 1
                more = f", and {others} more" if others else ""
                self.note(f"  {label}: {clock(now - self.running[label])} so far{more}")

    def already(self, number: int) -> None:
        self.done += number

    def note(self, text: str) -> None:
        self.told = time.monotonic()
        print(printable(text), flush=True)


class Bars:
    """A bar for the grid with the cells in flight and the time left, which counts only work to be done."""

    def __init__(self, bar: Any, total: int) -> None:
        self.bar, self.grid = bar, bar.add_task("cells", total=total, start=False)
        self.running: dict[str, Any] = {}
        self.step: tuple[str, Any] | None = None
        self._telling = threading.Lock()

    def started(self, label: str) -> None:
        with self._telling:
            self._step_over()
        self.bar.start_task(self.grid)  # only the first call counts
        self.running[label] = self.bar.add_task(f"  {printable(label)}", total=None)

    def finished(self, label: str, outcome: str) -> None:
        task = self.running.pop(label, None)
        if task is not None:
            self.bar.remove_task(task)
        self.note(f"{label}: {outcome}")
        self.bar.advance(self.grid)

    def working(self, what: str, done: int, total: int | None) -> None:
        with self._telling:
            if self.step is None or self.step[0] != what:
                self._step_over()
                self.step = what, self.bar.add_task(f"  {printable(what) or 'working'}", total=total)
            self.bar.update(self.step[1], completed=done, total=total or None)

    def _step_over(self) -> None:
        if self.step is not None:
            self.bar.remove_task(self.step[1])
            self.step = None

    def already(self, number: int) -> None:
        self.bar.advance(self.grid, number)

    def note(self, text: str) -> None:
        self.bar.console.print(printable(text), highlight=False, markup=False, emoji=False)


@contextlib.contextmanager
def progress(total: int) -> Iterator[Progress]:
    """Bars on a terminal, lines elsewhere."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        lines = Lines(total)
        with _every_second(lines.remind):
            yield lines
        return
    with bars_on(console) as bar:
        yield Bars(bar, total)


@contextlib.contextmanager
def _every_second(call: Callable[[], None]) -> Iterator[None]:
    """Cells run in other processes, or on a cluster, and say nothing by themselves."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(REMIND_SECONDS):
            call()

    thread = threading.Thread(target=repeat, name="hashbench-reminder", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def bars_on(console: Any, **keywords: Any) -> Any:
    """rich's bars, in which a description is text and nothing else."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    plain = TextColumn("{task.description}", markup=False)
    columns = (plain, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return RichProgress(*columns, console=console, **keywords)


def step_line(what: str, done: int, total: int | None, seconds: float, begun: int = 0) -> str:
    """'features of alexnet: 512/2048 (0:30 left)', or for how long it has gone on where nobody knows how much it is.
    What had been done before, `begun`, tells nothing of the pace."""
    if not total:
        return f"{what or 'still working'}: {clock(seconds)} so far"
    left = f" ({clock(seconds / (done - begun) * (total - done))} left)" if begun < done < total else ""
    return f"{what}: {done}/{total}{left}"


def printable(text: str) -> str:
    """On one line, and without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.splitlines()))


def clock(seconds: float) -> str:
    """3725 -> '1:02:05', 65 -> '1:05'."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
