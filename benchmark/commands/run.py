"""`run_all.py [run]`: the grid -> cells -> records, and then the report."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmark.commands import arguments
from benchmark.commands.config_file import add_config
from benchmark.commands.report import write_report
from benchmark.commands.tune import tune
from benchmark.program import typed
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.execution.options import Options
    from benchmark.execution.plan import PlannedCell
    from benchmark.execution.store import Store

HELP = "run the grid (the default)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    arguments.add_grid(parser)
    arguments.add_data(parser)
    arguments.add_results(parser)
    arguments.add_reports(parser)
    arguments.add_execution(parser)
    arguments.add_plugin(parser)
    arguments.add_settings(parser)
    arguments.add_budget(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what would run and stop")
    parser.add_argument("--no-report", action="store_true", help="write no report at the end")
    parser.add_argument(
        "--keep-models", action="store_true", help="keep the fitted methods too; done cells without one run again"
    )
    parser.add_argument(
        "--log", metavar="tensorboard:DIR", help="write the curves of each training there, as its cell ends"
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--force", action="store_true", help="run all cells again, done or not")
    again.add_argument("--only-failed", action="store_true", help="run only the cells that failed before")
    again.add_argument("--keep-failed", action="store_true", help="do not run failed cells again")


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.plan import chosen_again, plan, to_run, wanting_models, without_rows
    from benchmark.execution.store import Store

    arguments.load_plugins(args)
    options = arguments.options_of(args)
    grid, store = arguments.grid_of(args), Store(args.results)
    if args.tune and not args.dry_run:
        code = tune(args, grid.by_one_seed(), tuple(grid.known))
        if code == 130:
            return code
        grid = replace(grid, known=arguments.known_settings(args))
    planned = plan(grid, store)
    again = chosen_again(force=args.force, only_failed=args.only_failed, keep_failed=args.keep_failed)
    planned = wanting_models(planned, store) if args.keep_models and again != "force" else planned
    todo = to_run(planned, again)
    _check_work(args, todo)
    _announce(planned, todo, tunes=args.tune and args.dry_run)
    if args.dry_run:
        for one in planned:
            print(f"{one.state:8}{one.key[:12]}  {one.cell.label}")
        return 0
    code = run_todo(args, store, options, todo, without_rows(planned, store))
    failed_before = sum(p.state == "failed" for p in planned) if args.keep_failed else 0
    if not args.no_report and code != 130:
        write_report(args, store, [choice.dataset for choice in grid.choices], planned)
    return code or int(failed_before > 0)


def _check_work(args: argparse.Namespace, todo: Sequence[PlannedCell]) -> None:
    """What would go wrong only after hours: networks that do not exist, places that cannot be written."""
    if todo:
        from benchmark.execution.backbone_check import check_backbones

        check_backbones(one.cell for one in todo)
    if not args.dry_run and not args.no_report:
        from benchmark.execution.places import check_writable

        check_writable("--reports", args.reports / args.name, "folder")


def _announce(planned: Sequence[PlannedCell], todo: Sequence[PlannedCell], tunes: bool) -> None:
    states = Counter(one.state for one in planned)
    shown = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    print(f"{counted(len(planned), 'cell')}: {shown}; {len(todo)} to run")
    again = states["unkept"]
    if again:
        which = "1 done cell has no model and runs" if again == 1 else f"{again} done cells have no model and run"
        print(f"note: {which} again, for the model; its codes must be those that are stored")
    if any(one.cell.choice.dataset.miniature for one in planned):
        print("note: no data root given, so miniatures stand in for the real data sets (their results say so)")
    for line in settings_lines(planned, "--tune will, before the run" if tunes else "add --tune"):
        print(line)


def settings_lines(planned: Sequence[PlannedCell], remedy: str) -> list[str]:
    """Where settings come from, data set by data set, if not all from one place."""
    from benchmark.execution.search_space import search_space

    others: dict[tuple[str, str, str], set[str]] = {}
    for cell in (one.cell for one in planned):
        file = cell.profile.source.partition(" tuned by ")[2]
        nobody_tuned = cell.settings == "defaults" and not cell.profile.name.endswith("-untuned")
        if file and cell.settings == "shipped":
            others.setdefault((file, cell.choice.label, "those that ship"), set()).add(cell.method.name)
        elif nobody_tuned and search_space(cell.method, cell.profile.training):
            others.setdefault((file, cell.choice.label, "their defaults"), set()).add(cell.method.name)
    return [
        f"note: {os.path.basename(file)} has no settings of {', '.join(sorted(names))} for {dataset}: {used} are used"
        if file
        else f"note: settings of {', '.join(sorted(names))} were not tuned for {dataset}; {remedy}"
        for (file, dataset, used), names in others.items()
    ]


def run_todo(
    args: argparse.Namespace,
    store: Store,
    options: Options,
    todo: Sequence[PlannedCell],
    without_rows: Sequence[PlannedCell] = (),
) -> int:
    """Run these cells, and say what came of them; the exit code."""
    if not todo and not without_rows:
        return 0
    from benchmark.execution.runner import run_cells

    summary = run_cells(store, options, todo, without_rows)
    for told in summary.doubtful:
        print(f"doubtful: {told}", file=sys.stderr)
    for told in summary.unkept:
        print(f"model not kept: {told}", file=sys.stderr)
    for problem in summary.problems:
        print(f"problem: {problem}", file=sys.stderr)
    if summary.gave_up:
        print(f"{summary.gave_up}; to go on: {typed(args.words)}", file=sys.stderr)
        return 1
    if summary.interrupted:
        print(f"interrupted; to go on: {typed(args.words)}", file=sys.stderr)
        return 130
    return int(summary.failed > 0)
