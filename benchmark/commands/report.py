"""`run_all.py report`: tables and figures from results, without training."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from benchmark.commands import arguments

HELP = "rebuild tables and figures from results, without training"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_results(parser)
    arguments.add_reports(parser)
    arguments.add_data(parser)
    arguments.add_plugin(parser)
    parser.add_argument("--datasets", nargs="+", default=[], metavar="NAME", help="data sets whose images may be shown")
    parser.add_argument("--force", action="store_true", help="draw everything again, changed or not")


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.store import Store

    arguments.load_plugins(args)
    choices = arguments.dataset_choices(args, args.datasets)
    write_report(args, Store(args.results), [choice.dataset for choice in choices])
    return 0


def write_report(args: argparse.Namespace, store: Any, datasets: Sequence[Any], planned: Sequence[Any] = ()) -> None:
    """Render the results and say where; `datasets` are those whose images may be shown, `planned` the run's cells."""
    from benchmark.execution.plan import stale_keys
    from benchmark.report import render

    stale = stale_keys(store, planned)
    page = render(store, args.reports / args.name, force=args.force, stale=stale, datasets=datasets)
    print(f"report: {page}")
