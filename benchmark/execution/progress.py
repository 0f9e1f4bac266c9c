"""What the user sees while cells run: bars on a terminal, one plain line per cell elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Protocol


class Progress(Protocol):
    """Told of every cell that starts and ends."""

    def started(self, label: str) -> None: ...

    def finished(self, label: str, outcome: str) -> None: ...

    def note(self, text: str) -> None: ...


class Lines:
    """One line per finished cell. The time left is that of cells: preparation and cells of other runs do not count."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.own = total, 0, 0
        self.begin: float | None = None
        self.running: set[str] = set()

    def started(self, label: str) -> None:
        self.running.add(label)
        if self.begin is None:
            self.begin = time.monotonic()

    def finished(self, label: str, outcome: str) -> None:
        self.done += 1
        self.own += label in self.running
        self.running.discard(label)
        print(f"[{self.done}/{self.total}] {label}: {outcome}{self._left()}", flush=True)

    def _left(self) -> str:
        if self.begin is None or not self.own or self.done == self.total:
            return ""
        per_cell = (time.monotonic() - self.begin) / self.own
        return f" ({clock(per_cell * (self.total - self.done))} left)"

    def note(self, text: str) -> None:
        print(text, flush=True)


class Bars:
    """A bar for the grid with the cells in flight and the time left, which counts only work to be done."""

    def __init__(self, bar: Any, total: int) -> None:
        self.bar, self.grid = bar, bar.add_task("cells", total=total, start=False)
        self.running: dict[str, Any] = {}

    def started(self, label: str) -> None:
        self.bar.start_task(self.grid)  # only the first call counts
        self.running[label] = self.bar.add_task(f"  {label}", total=None)

    def finished(self, label: str, outcome: str) -> None:
        task = self.running.pop(label, None)
        if task is not None:
            self.bar.remove_task(task)
        self.bar.console.print(f"{label}: {outcome}", highlight=False, markup=False)
        self.bar.advance(self.grid)

    def note(self, text: str) -> None:
        self.bar.console.print(text, highlight=False, markup=False)


@contextlib.contextmanager
def progress(total: int) -> Iterator[Progress]:
    """Bars on a terminal, lines elsewhere."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        yield Lines(total)
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with RichProgress(*columns, TimeRemainingColumn(), console=console) as bar:
        yield Bars(bar, total)


def clock(seconds: float) -> str:
    """3725 -> '1:02:05', 65 -> '1:05'."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
