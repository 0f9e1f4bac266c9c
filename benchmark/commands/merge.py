"""`run_all.py merge OTHER_RESULTS...`: records of other people into a results folder, each scored again first."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.commands import arguments
from benchmark.commands.bars import shown_progress
from benchmark.errors import UsageError
from benchmark.report.display_names import LONGEST_REASON, clean

if TYPE_CHECKING:
    from benchmark.execution.merging import Merged
    from benchmark.execution.store import Store

HELP = "take records of other people, scored again from their codes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", type=Path, metavar="OTHER_RESULTS", help="their results folders")
    arguments.add_results(parser)
    arguments.add_data_root(
        parser, "folder of the real data sets, whose labels are believed first (default: HASHBENCH_DATA)"
    )
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.merging import merge, merge_folder
    from benchmark.execution.places import check_writable
    from benchmark.execution.store import Store

    arguments.load_plugins(args)
    sources = [merge_folder(path) for path in args.sources]
    for source in sources:
        if source.root.resolve() == args.results.resolve():
            raise UsageError(
                f"merge: {source.root} is the results folder itself; name the folder to merge into by --results"
            )
    check_writable("--results", args.results, "folder")
    bad = 0
    for source in sources:
        with shown_progress():
            found = [*merge(source, Store(args.results), os.cpu_count() or 1, args.data_root)]
        named = [one for one in found if one.fate in ("refused", "clash")]
        for one in named:
            print(f"{one.fate:8}{one.key[:12]}  {clean(one.label)}: {clean(one.reason, LONGEST_REASON)}")
        counts = Counter(one.fate for one in found)
        print(f"{source.root}: {', '.join(f'{number} {fate}' for fate, number in counts.items())}")
        for told, number in Counter(one.reason for one in found if one.fate == "taken" and one.reason).items():
            print(f"note: {_of_them(number)} described {told}; give --plugin or --data-root to have that checked")
        _tell_stale(found, Store(args.results))
        bad += len(named)
    return int(bad > 0)


def _of_them(number: int) -> str:
    return "1 of them is" if number == 1 else f"{number} of them are"


def _tell_stale(found: Sequence[Merged], store: Store) -> None:
    """What was taken and yet stands in no table."""
    from benchmark.execution.plan import stale_keys

    stale = stale_keys(store) & {one.key for one in found if one.fate == "taken"}
    if stale:
        told = "stale here, made by other code or settings than today's: kept, and in no table"
        print(f"note: {_of_them(len(stale))} {told}")
