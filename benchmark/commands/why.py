"""`run_all.py why [CELL]`: the state of cells, and which hashed part made the stale ones stale."""

from __future__ import annotations

import argparse

from benchmark.commands import arguments
from benchmark.commands import run as run_command
from benchmark.errors import UsageError

HELP = "the state of cells, and what made stale ones stale"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", nargs="?", default="", help="part of a key or of 'method dataset K bits seed S'")
    run_command.add_arguments(parser)  # all of them, so that a run's words can be pasted


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.cell_names import is_called
    from benchmark.execution.fingerprint import differences
    from benchmark.execution.plan import plan
    from benchmark.execution.store import Store

    arguments.load_plugins(args)
    planned = plan(arguments.grid_of(args), Store(args.results))
    chosen = [one for one in planned if is_called(args.cell, one.key, one.cell.label)]
    if not chosen:
        known = (
            f"the {len(planned)} cells are called like '{planned[0].cell.label}'" if planned else "there are no cells"
        )
        raise UsageError(f"why: no cell matches '{args.cell}'; {known}; give the flags of the run too")
    arguments.check_results(args)
    for one in chosen:
        print(f"{one.state:8}{one.key[:12]}  {one.cell.label}")
        if one.state == "stale" and one.record is not None:
            for line in differences(one.record.parts, one.cell.parts):
                print(f"        {line}")
    return 0
