"""`run_all.py compare A B`: two results folders, or one and the published numbers."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from benchmark.errors import UsageError

HELP = "two result folders, or results against published numbers"
PUBLISHED = "published"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", type=Path, help="a results folder")
    parser.add_argument("b", metavar="B", help=f"another results folder, or the word '{PUBLISHED}'")
    parser.add_argument("--csv", type=Path, help="also write the comparison to this file")


def run(args: argparse.Namespace) -> int:
    """The command: print the comparison, write it where asked."""
    from benchmark.execution.store import Store
    from benchmark.report.comparison import as_lines, compare_published, compare_results

    for folder in (args.a, *([] if args.b == PUBLISHED else [Path(args.b)])):
        if not Store(folder).keys():
            raise UsageError(f"compare: '{folder}' has no results; give a results folder")
    stores = Store(args.a)
    found = compare_published(stores) if args.b == PUBLISHED else compare_results(stores, Store(args.b))
    print("\n".join(as_lines(found)))
    if args.csv:
        import pandas as pd

        pd.DataFrame([asdict(one) for one in found]).to_csv(args.csv, index=False)
    return 0
