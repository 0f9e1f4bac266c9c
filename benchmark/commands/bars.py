"""How far long tasks on data and figures are: bars on a terminal, elsewhere a plain line every few seconds; and how
what was interrupted goes on."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from benchmark.data.cache import listening, telling
from benchmark.execution.progress import Lines, bars_on
from benchmark.program import typed


@contextlib.contextmanager
def shown_progress() -> Iterator[None]:
    """Within this block, what the data room and the report tell is shown, unless somebody listens already."""
    if listening() is not None:
        yield
        return
    with _bars() if sys.stderr.isatty() else _lines():
        yield


@contextlib.contextmanager
def going_on(args: argparse.Namespace) -> Iterator[None]:
    """Ctrl-C within this block says that what is encoded is kept, and the words that go on from there."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"what was encoded is kept; to go on: {typed(args.words)}") from None


@contextlib.contextmanager
def _bars() -> Iterator[None]:
    """The bars appear with the first word: most commands find everything done, and need none."""
    bar: Any = None
    tasks: dict[str, Any] = {}
    with contextlib.ExitStack() as screen:

        def show(what: str, done: int, total: int) -> None:
            nonlocal bar
            if bar is None:
                from rich.console import Console

                # What is printed meanwhile goes above the bars, unless it goes to a file.
                bar = screen.enter_context(bars_on(Console(stderr=True), redirect_stdout=sys.stdout.isatty()))
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=None)
            bar.update(tasks[what], completed=done, total=total or None)

        with telling(show):
            yield


@contextlib.contextmanager
def _lines() -> Iterator[None]:
    lines = Lines(0)
    with telling(lambda what, done, total: lines.working(what, done, total or None)):
        yield
