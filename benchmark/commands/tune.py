"""`run_all.py tune`: settings by cross-validation on training rows alone; runs what trials are missing.

`run_all.py --tune` does the same for what has not been tuned, and then runs the grid.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.commands import arguments
from benchmark.commands.config_file import add_config
from benchmark.errors import UsageError
from benchmark.program import typed
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.execution.grid import Grid
    from benchmark.execution.tuned_settings import TunedSettings

HELP = "choose settings by cross-validation on training rows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    arguments.add_grid(parser)
    arguments.add_data(parser)
    arguments.add_results(parser)
    arguments.add_execution(parser)
    arguments.add_plugin(parser)
    arguments.add_budget(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write what was chosen to this file as well")


def run(args: argparse.Namespace) -> int:
    """Tune all of the grid, and write down what was chosen."""
    from benchmark.execution.places import check_writable

    if args.sweep:
        raise UsageError("tune: --sweep chooses a parameter, which is what tune is for; leave it out")
    if args.out:
        check_writable("--out", args.out)
    arguments.load_plugins(args)
    return tune(args, arguments.grid_of(args), out=args.out)


def tune(args: argparse.Namespace, grid: Grid, known: tuple[TunedSettings, ...] = (), out: Path | None = None) -> int:
    """Tune what is not known; the exit code."""
    from benchmark.execution.store import tune_store
    from benchmark.execution.tuned_settings import write_tuned
    from benchmark.execution.tuning import Budget, Tuning, carry_out, winner_line

    store = tune_store(args.results)
    tuning = Tuning(grid, store, Budget(args.trials, args.folds), known)
    searched = len(tuning.searches) + len(tuning.between)
    told = f"{counted(args.trials, 'trial')} each; {counted(tuning.cells, 'cell')} at most"
    print(f"tune: {searched} of method, data set and length, {told}")
    if not carry_out(tuning, arguments.options_of(args)):
        print(f"interrupted; to go on: {typed(args.words)}", file=sys.stderr)
        return 130
    found = tuning.winners()
    store.save_tuned(found)
    for winner in found:
        print(winner_line(winner))
    if out:
        write_tuned(out, found)
        print(f"winners: {out}; use them with: {typed(['--tuned', str(out)])}")
    for remark in tuning.remarks():
        print(f"tune: {remark}", file=sys.stderr)
    return int(bool(tuning.kinds))
