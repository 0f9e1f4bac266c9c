"""The command line: words in, exit code out. Parses and checks everything before any work starts.

`python run_all.py` runs the grid; sub-commands do the rest. Exit codes: 0 all ok, 1 some cells failed, 2 bad
input (one line, nothing written), 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmark import arguments
from benchmark.errors import InvalidCodes, UsageError

Handler = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """argparse with our error format and exit code."""

    def error(self, message: str) -> Any:
        raise UsageError(f"{message}; see '{self.prog} --help'")


def main(words: Sequence[str] | None = None) -> int:
    """Entry point of run_all.py and of the `hashbench` script."""
    words = list(sys.argv[1:] if words is None else words)
    try:
        full = _with_default_action(words)
        parsed = build_parser(full[0]).parse_args(full)
        parsed.words = words
        handler: Handler = parsed.handler
        return handler(parsed)
    except (UsageError, InvalidCodes) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `run_all.py list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _with_default_action(words: list[str]) -> list[str]:
    """`run` is the default action; `--check FILE` is an old way to say `check FILE`."""
    if words[:1] == ["--check"]:
        return ["check", *words[1:]]
    if words and (words[0] in COMMANDS or words[0] in ("-h", "--help", "--version")):
        return words
    return ["run", *words]


def build_parser(chosen_command: str) -> Parser:
    """The parser, with the arguments of the chosen command only: the others' rooms are not even imported."""
    from benchmark import __version__

    parser = Parser(prog="run_all.py", description="Benchmark hashing methods. Without a command: run the grid.")
    parser.add_argument("--version", action="version", version=f"hashbench {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for name, (help_text, add, handler) in COMMANDS.items():
        command = commands.add_parser(name, help=help_text, description=help_text)
        if name == chosen_command:
            add(command)
        command.set_defaults(handler=handler, parser=command)
    return parser


# Handlers


def handle_run(args: argparse.Namespace) -> int:
    from benchmark.plan import plan, without_rows
    from benchmark.store import Store

    plugins = arguments.load_plugins(args)
    grid, store = arguments.grid_of(args), Store(args.results)
    planned = plan(grid, store)
    todo = chosen(planned, args)
    _announce(args, planned, todo)
    if args.dry_run:
        for one in planned:
            print(f"{one.state:8}{one.key[:12]}  {one.cell.label}")
        return 0
    code = carry_out(args, store, todo, plugins, without_rows(planned, store))
    failed_before = sum(p.state == "failed" for p in planned) if args.keep_failed else 0
    if not args.no_report and code != 130:
        write_report(args, store, [choice.dataset for choice in grid.choices])
    return code or int(failed_before > 0)


def chosen(planned: Sequence[Any], args: argparse.Namespace) -> list[Any]:
    """The cells to run now."""
    if args.force:
        return list(planned)
    if args.only_failed:
        return [one for one in planned if one.state == "failed"]
    wanted = ("todo", "stale") if args.keep_failed else ("todo", "stale", "failed")
    return [one for one in planned if one.state in wanted]


def _announce(args: argparse.Namespace, planned: Sequence[Any], todo: Sequence[Any]) -> None:
    from collections import Counter

    states = Counter(one.state for one in planned)
    shown = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    print(f"{len(planned)} cells: {shown}; {len(todo)} to run")
    if any(one.cell.choice.dataset.miniature for one in planned):
        print("note: no data root given, so miniatures stand in for the real data sets (their results say so)")


def carry_out(
    args: argparse.Namespace, store: Any, todo: Sequence[Any], plugins: Sequence[str], without_rows: Sequence[Any] = ()
) -> int:
    """Run these cells as the arguments say; the exit code."""
    if not todo and not without_rows:
        return 0
    from benchmark.progress import progress
    from benchmark.runner import Options, Run, visible_gpus

    options = Options(
        args.jobs,
        args.threads,
        args.timeout,
        args.memory,
        plugins,
        visible_gpus(),
        args.allow_overlap,
        args.dask,
    )
    with progress(len(todo)) as shown:
        summary = Run(store, options, shown).execute(todo, without_rows)
    for label in summary.collapsed:
        print(f"collapsed: {label}: its codes are all but constant, so its MAP is not a result", file=sys.stderr)
    for problem in summary.problems:
        print(f"problem: {problem}", file=sys.stderr)
    if summary.interrupted:
        print(f"interrupted; to go on: python run_all.py {shlex.join(args.words)}", file=sys.stderr)
        return 130
    return int(summary.failed > 0)


def write_report(args: argparse.Namespace, store: Any, datasets: Sequence[Any]) -> None:
    """Render the results and say where; `datasets` are those whose images may be shown."""
    from benchmark.plan import stale_keys
    from benchmark.report import render

    stale = stale_keys(store)
    page = render(store, args.reports / args.name, force=args.force, stale=stale, datasets=datasets)
    print(f"report: {page}")


def handle_report(args: argparse.Namespace) -> int:
    from benchmark.store import Store

    arguments.load_plugins(args)
    choices = arguments.dataset_choices(args, args.datasets)
    write_report(args, Store(args.results), [choice.dataset for choice in choices])
    return 0


def _add_report(parser: argparse.ArgumentParser) -> None:
    arguments.add_results(parser)
    arguments.add_reports(parser)
    arguments.add_data(parser)
    arguments.add_plugin(parser)
    parser.add_argument("--datasets", nargs="+", default=[], metavar="NAME", help="data sets whose images may be shown")
    parser.add_argument("--force", action="store_true", help="draw everything again, changed or not")


def handle_list(args: argparse.Namespace) -> int:
    from benchmark.registry import PAPER, datasets, methods

    arguments.load_plugins(args)
    print("methods")
    for cls in methods:
        info = cls.info
        mark = "paper" if info.name in PAPER else ""
        print(f"  {info.name:12} {info.title:12} {info.family:17} needs {info.needs:11} {mark:6} {info.paper}")
    print("datasets")
    for cls in datasets:
        info = cls.info
        name = f"{info.name}:{info.takes}" if info.takes else info.name
        stand_in = f"(without --data-root: {info.stand_in})" if info.stand_in else ""
        print(f"  {name:22} {info.title} {stand_in}")
    return 0


def handle_check(args: argparse.Namespace) -> int:
    from benchmark.conformance import check_file

    return check_file(args.file)


def handle_verify(args: argparse.Namespace) -> int:
    from benchmark.store import Store

    store = Store(args.results)
    faults = store.verify(quarantine=not args.keep)
    for fault in faults:
        print(fault)
    done = "left in place" if args.keep else "set aside in quarantine/; run again to recompute them"
    print(f"{len(store.keys())} sound records" + (f", {len(faults)} damaged: {done}" if faults else ""))
    return int(bool(faults))


def _add_verify(parser: argparse.ArgumentParser) -> None:
    arguments.add_results(parser)
    parser.add_argument("--keep", action="store_true", help="only report damage, set nothing aside")


def handle_audit(args: argparse.Namespace) -> int:
    from benchmark.audit import audit, render

    arguments.load_plugins(args)
    code = 0
    for choice in arguments.dataset_choices(args, args.names, check=False):
        found = audit(choice.dataset.load(), choice.dataset.map_cutoff, args.allow_overlap)
        print(f"{choice.dataset.name} (revision {choice.dataset.revision[:12]})")
        print(render(found))
        code = max(code, int(bool(found.errors)))
    return code


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="DATASET")
    arguments.add_data(parser)
    arguments.add_plugin(parser)


def handle_why(args: argparse.Namespace) -> int:
    from benchmark.fingerprint import differences
    from benchmark.plan import plan
    from benchmark.store import Store

    arguments.load_plugins(args)
    for one in plan(arguments.grid_of(args), Store(args.results)):
        if args.cell and args.cell not in one.key and args.cell not in one.cell.label:
            continue
        print(f"{one.state:8}{one.key[:12]}  {one.cell.label}")
        if one.state == "stale" and one.record is not None:
            for line in differences(one.record["parts"], one.cell.parts):
                print(f"        {line}")
    return 0


def _add_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", nargs="?", default="", help="part of a key or of 'method dataset K bits seed S'")
    arguments.add_grid(parser)
    arguments.add_data(parser)
    arguments.add_results(parser)
    arguments.add_plugin(parser)


def _room(module: str) -> tuple[Callable[[argparse.ArgumentParser], Any], Handler]:
    """`add_arguments` and `run` of a module that is imported only when its command is used."""

    def function(name: str) -> Callable[[Any], Any]:
        return lambda argument: getattr(importlib.import_module(module), name)(argument)

    return function("add_arguments"), function("run")


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a plugin file, or the name of a known method")


def _add_list(parser: argparse.ArgumentParser) -> None:
    arguments.add_plugin(parser)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], Any], Handler]] = {
    "run": ("run the grid (the default)", arguments.add_run, handle_run),
    "list": ("methods and data sets", _add_list, handle_list),
    "report": ("rebuild tables and figures from results, without training", _add_report, handle_report),
    "check": ("run the conformance checks on a method's file", _add_check, handle_check),
    "audit": ("sizes, faults and skew of data sets", _add_audit, handle_audit),
    "verify": ("check every stored file against its hash", _add_verify, handle_verify),
    "why": ("the state of cells, and what made stale ones stale", _add_why, handle_why),
    "score": ("score codes made anywhere", *_room("benchmark.score")),
    "prepare": ("say what a data set lacks, build its lists and features", *_room("benchmark.prepare")),
    "compare": ("two result folders, or results against published numbers", *_room("benchmark.compare")),
    "tune": ("cross-validate hyper-parameters on training data", *_room("benchmark.tune")),
}
