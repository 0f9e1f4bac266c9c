"""How far long tasks on data are: bars on a terminal, else a plain line for every tenth of the work."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from benchmark.data.cache import telling


@contextlib.contextmanager
def shown_progress() -> Iterator[None]:
    """Within this block, what the data room tells is shown."""
    with _bars() if sys.stderr.isatty() else _lines():
        yield


@contextlib.contextmanager
def _bars() -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    # What is printed meanwhile goes above the bars, unless it goes to a file.
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=sys.stdout.isatty()) as bar:

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=None)
            bar.update(tasks[what], completed=done, total=total or None)

        with telling(show):
            yield


@contextlib.contextmanager
def _lines() -> Iterator[None]:
    shown: dict[str, int] = {}

    def show(what: str, done: int, total: int) -> None:
        tenth = done * 10 // total if total else 0
        if what not in shown and not total:
            print(f"  {what}", flush=True)
        elif tenth > shown.get(what, 0):
            print(f"  {what}: {done:,} of {total:,}", flush=True)
        shown[what] = tenth

    with telling(show):
        yield
