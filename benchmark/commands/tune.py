"""`run_all.py tune`: hyper-parameters by cross-validation on training data alone; runs what trials are missing."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmark.commands import arguments
from benchmark.commands.run import carry_out
from benchmark.errors import UsageError

HELP = "cross-validate hyper-parameters on training data"
FOLDS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_grid(parser)
    arguments.add_data(parser)
    arguments.add_results(parser)
    arguments.add_execution(parser)
    arguments.add_plugin(parser)
    parser.add_argument(
        "--trials", type=arguments.whole_number(1), default=10, metavar="N", help="settings per method (default: 10)"
    )
    parser.add_argument(
        "--folds",
        type=arguments.whole_number(2),
        default=FOLDS,
        metavar="N",
        help=f"of the training split (default: {FOLDS})",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("tuned.json"), metavar="FILE", help="where winners are written"
    )
    parser.set_defaults(bits=[32])


def run(args: argparse.Namespace) -> int:
    """Run what trials are missing, choose, write the winners."""
    from benchmark.execution.backbone_check import check_backbones
    from benchmark.execution.places import check_writable
    from benchmark.execution.store import Store
    from benchmark.execution.tuning import trials, winner_line, winners, write_winners

    if args.sweep or args.tuned:
        raise UsageError("tune: --sweep and --tuned choose parameters, which is what tune is for; leave them out")
    check_writable("--out", args.out)
    arguments.load_plugins(args)
    options = arguments.options_of(args)
    grid, store = arguments.grid_of(args), Store(args.results / "tune")
    tried = trials(grid, store, args.trials, args.folds)
    planned = [one for trial in tried for one in trial.cells]
    todo = [one for one in planned if one.state not in ("done", "skipped")]
    check_backbones(one.cell for one in todo)
    print(f"{len(tried)} trials, {len(planned)} cells; {len(todo)} to run")
    code = carry_out(args, store, options, todo)
    if code == 130:
        return code
    found = winners(tried, store)
    write_winners(args.out, found, grid, args.folds, args.trials)
    print(f"winners: {args.out}; use them with: {arguments.typed(['--tuned', str(args.out)])}")
    for winner in found:
        print(winner_line(winner))
    return code
