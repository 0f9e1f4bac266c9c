"""`run_all.py report`: tables and figures from results, without training."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from benchmark.commands import arguments
from benchmark.commands.bars import shown_progress
from benchmark.commands.config_file import add_config
from benchmark.errors import UsageError

HELP = "rebuild tables and figures from results, without training"
CONFINING = ("datasets", "methods", "bits", "seeds", "profile")  # flags that leave results out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    arguments.add_results(parser)
    arguments.add_reports(parser)
    arguments.add_data(parser)
    arguments.add_plugin(parser)
    parser.add_argument("--datasets", nargs="+", default=[], metavar="NAME", help="only these, with images where known")
    parser.add_argument("--methods", nargs="+", default=[], metavar="NAME", help="only these; 'paper' means the twelve")
    parser.add_argument(
        "--bits", nargs="+", type=arguments.number_from(1), default=[], metavar="K", help="only these code lengths"
    )
    parser.add_argument(
        "--seeds", nargs="+", type=arguments.number_from(0), default=[], metavar="S", help="only these seeds"
    )
    parser.add_argument("--profile", nargs="+", default=[], metavar="NAME", help="only these training set-ups")
    in_front = "whom strips, t-SNE and retrieved images show (default: the paper's pair, else the two leaders)"
    parser.add_argument("--highlight", nargs="+", default=[], metavar="NAME", help=in_front)
    parser.add_argument("--force", action="store_true", help="draw everything again, changed or not")
    told = "write leaderboard.html instead: one page over all records, to filter, each with the command that reruns it"
    parser.add_argument("--leaderboard", action="store_true", help=told)


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.store import Store
    from benchmark.report.selection import read_records, selected

    arguments.load_plugins(args)
    arguments.check_results(args)
    store = Store(args.results)
    if args.leaderboard:
        return _write_leaderboard(args, store)
    confined = any(getattr(args, name) for name in CONFINING)
    records = read_records(store)[0] if confined else []
    choices = arguments.dataset_choices(args, args.datasets)
    datasets = [choice.dataset for choice in choices]
    only: dict[str, Collection[Any]] = {
        "revisions": [dataset.revision for dataset in datasets],
        "methods": _method_names(args.methods, {record.cell["method"] for record in records}),
        "bits": args.bits,
        "seeds": args.seeds,
        "profiles": args.profile,
    }
    only = {name: wanted for name, wanted in only.items() if wanted}
    if confined and not selected(records, only):
        flags = ", ".join(f"--{name}" for name in CONFINING if getattr(args, name))
        raise UsageError(f"report: no result in {args.results} has these {flags}; leave some out, or run them first")
    write_report(args, store, datasets, only=only, highlight=args.highlight)
    return 0


def _write_leaderboard(args: argparse.Namespace, store: Any) -> int:
    from benchmark.execution.places import check_writable
    from benchmark.execution.plan import stale_keys, unchecked
    from benchmark.report.leaderboard import write_leaderboard
    from benchmark.report.selection import read_records

    out = args.reports / args.name
    check_writable("--reports", out, "folder")
    told = {record.key: unchecked(record) for record in read_records(store)[0]}
    print(f"leaderboard: {write_leaderboard(store, out, stale_keys(store), told)}")
    return 0


def _method_names(words: Sequence[str], with_results: Collection[str]) -> list[str]:
    """As `run` reads them; but a method may have results and no file any more."""
    from benchmark.execution.grid import method_names

    found = [name for word in words for name in ([word] if word in with_results else method_names([word]))]
    return list(dict.fromkeys(found))


def write_report(
    args: argparse.Namespace,
    store: Any,
    datasets: Sequence[Any],
    planned: Sequence[Any] = (),
    only: Mapping[str, Collection[Any]] | None = None,
    highlight: Sequence[str] = (),
) -> None:
    """Render the results and say where; `datasets` are those whose images may be shown, `planned` the run's cells."""
    from benchmark.execution.plan import stale_keys
    from benchmark.execution.pruning import not_checked
    from benchmark.report import render
    from benchmark.report.selection import read_records, selected

    out, stale = args.reports / args.name, stale_keys(store, planned)
    notes = not_checked(selected(read_records(store)[0], only or {}))  # of what is shown, as all else on the page
    shown: dict[str, Any] = {"datasets": datasets, "only": only, "highlight": highlight, "notes": notes}
    try:
        with shown_progress():
            page = render(store, out, force=args.force, stale=stale, **shown)
    except OSError as error:
        raise UsageError(
            f"report: {out} cannot be written: {error.strerror or error}; give another --reports"
        ) from error
    for line in notes:
        print(line)
    print(f"report: {page}")
