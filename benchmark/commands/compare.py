"""`run_all.py compare A B`: two results folders, or one and the published numbers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import UsageError
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.execution.store import Store
    from benchmark.report.comparison import Comparison

HELP = "two result folders, or results against published numbers"
PUBLISHED = "published"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", type=Path, help="a results folder")
    parser.add_argument("b", metavar="B", help=f"another results folder, or the word '{PUBLISHED}'")
    parser.add_argument("--csv", type=Path, help="also write the comparison to this file")


def run(args: argparse.Namespace) -> int:
    """The command: print the comparison, write it where asked."""
    from benchmark.execution.places import check_writable
    from benchmark.execution.plan import stale_keys
    from benchmark.execution.store import Store
    from benchmark.report.comparison import as_lines, compare_published, compare_results

    if args.csv:
        check_writable("--csv", args.csv)
    for folder in (args.a, *([] if args.b == PUBLISHED else [Path(args.b)])):
        if not Store(folder).keys():
            raise UsageError(f"compare: '{folder}' has no results; give a results folder")
    a, apart = Store(args.a), list[str]()
    if args.b == PUBLISHED:
        found, apart = compare_published(a, stale_keys(a))
    else:
        b = Store(args.b)
        found = compare_results(a, b, stale_keys(a), stale_keys(b))
        apart = _in_one_only(_scored_cells(a), _scored_cells(b))
    print("\n".join([*as_lines(found), *(f"not compared: {line}" for line in apart)]))
    if args.csv:
        _write_csv(args.csv, found)
    return 0


def _scored_cells(store: Store) -> set[tuple[Any, ...]]:
    """What is compared, whatever code made it."""
    from benchmark.report.record_frame import CELL, readable_rows
    from benchmark.report.selection import read_records

    rows, _ = readable_rows(read_records(store)[0])
    return {tuple(row[name] for name in CELL) for row in rows if row["status"] == "ok"}


def _in_one_only(a: set[tuple[Any, ...]], b: set[tuple[Any, ...]]) -> list[str]:
    """How much of what is there has no counterpart, in a line; none where all has one."""
    told = [f"{counted(len(cells), 'cell')} in {name} only" for name, cells in (("A", a - b), ("B", b - a)) if cells]
    return [" and ".join(told)] if told else []


def _write_csv(path: Path, found: Sequence[Comparison]) -> None:
    from benchmark.report.comparison import Comparison
    from benchmark.report.table import csv_text

    names = [one.name for one in fields(Comparison)]
    rows = [["" if value is None else value for value in asdict(one).values()] for one in found]
    try:
        path.write_text(csv_text(names, rows), encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"compare: --csv {path} cannot be written: {error.strerror or error}") from error
