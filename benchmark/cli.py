"""The command line: words in, exit code out. Parses and checks everything before any work starts.

`python run_all.py` runs the grid; sub-commands do the rest. Exit codes: 0 all ok, 1 some cells failed, 2 bad
input (one line, nothing written), 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmark.errors import InvalidCodes, UsageError

Handler = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """argparse with our error format and exit code."""

    def error(self, message: str) -> Any:
        raise UsageError(f"{message}; see '{self.prog} --help'")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of run_all.py and of the `hashbench` script."""
    words = list(sys.argv[1:] if arguments is None else arguments)
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


# Arguments shared by several commands


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return value


def _bytes(text: str) -> int:
    """'4G', '500M', or a number of bytes."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    unit = units.get(text[-1:].upper(), 1)
    try:
        return int(float(text.rstrip("kKmMgG")) * unit)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 4G or 500M") from None


def _add_plugin(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plugin", nargs="+", default=[], metavar="FILE", help="files with further methods or datasets"
    )


def _add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default: results)")


def _add_reports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="folder of reports (default: reports)")
    parser.add_argument("--name", default="default", help="name of the report inside it (default: default)")


def _add_data(parser: argparse.ArgumentParser) -> None:
    root = os.environ.get("HASHBENCH_DATA")
    parser.add_argument(
        "--data-root",
        type=Path,
        default=Path(root) if root else None,
        metavar="DIR",
        help="folder of the real data sets (default: HASHBENCH_DATA; without it, miniatures)",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="DATASET.NAME=VALUE",
        help="a parameter of a data set, e.g. imagenet.imbalance=balanced",
    )
    parser.add_argument("--backbone", metavar="NAME", help="backbone for images (default: the data set's own)")
    parser.add_argument("--weights", metavar="NAME|FILE", help="its weights: torchvision's name, or a .pth/.npz file")
    parser.add_argument("--partial-weights", action="store_true", help="allow weights for a part of the backbone")
    parser.add_argument("--allow-overlap", action="store_true", help="accept queries inside the database")
    parser.add_argument("--skip-broken", action="store_true", help="leave out unreadable images, and count them")


def _add_grid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--datasets",
        nargs="+",
        default=["imagenet", "nus", "coco"],
        metavar="NAME",
        help="names, or features:FILE.npz, lists:DIR, ... (default: imagenet nus coco)",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        default=["paper"],
        metavar="NAME",
        help="names, 'paper' (the twelve, the default) or 'all'",
    )
    parser.add_argument("--bits", nargs="+", type=_positive, default=[16, 32, 48, 64], metavar="K")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="S")
    parser.add_argument(
        "--profile",
        default=None,
        metavar="NAME|FILE",
        help="training set-up: quick, paper, or a TOML file (default: quick without a GPU)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="METHOD.NAME=VALUE",
        dest="params",
        help="a parameter of a method, e.g. dph.gamma=0.5",
    )
    parser.add_argument("--tuned", type=Path, metavar="FILE", help="use the parameters that 'tune' found")
    parser.add_argument(
        "--sweep",
        nargs="+",
        metavar="METHOD.NAME VALUE",
        help="run one parameter at several values, e.g. dph.inv_epsilon 0.01 0.1 1",
    )


def _add_execution(parser: argparse.ArgumentParser) -> None:
    cores = os.cpu_count() or 1
    parser.add_argument("--jobs", type=_positive, default=cores, metavar="N", help=f"cells at once (default: {cores})")
    parser.add_argument(
        "--threads",
        type=_positive,
        default=1,
        metavar="N",
        help="threads per cell (default: 1); numbers do not depend on --jobs",
    )
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="stop a cell after so long")
    parser.add_argument("--memory", type=_bytes, metavar="SIZE", help="stop a cell that holds more, e.g. 8G")
    parser.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler, or local:N for one of N workers here")


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_grid(parser)
    _add_data(parser)
    _add_results(parser)
    _add_reports(parser)
    _add_execution(parser)
    _add_plugin(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what would run and stop")
    parser.add_argument("--no-report", action="store_true", help="write no report at the end")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--force", action="store_true", help="run all cells again, done or not")
    again.add_argument("--only-failed", action="store_true", help="run only the cells that failed before")
    again.add_argument("--keep-failed", action="store_true", help="do not run failed cells again")


# From words to things


def load_plugins(args: argparse.Namespace) -> list[str]:
    from benchmark.registry import load_plugin

    paths = [str(Path(path).resolve()) for path in args.plugin]
    for path in paths:
        load_plugin(path)
    return paths


def _value(text: str) -> Any:
    """'0.5' -> 0.5, 'true' -> True, 'paper' -> 'paper'."""
    import json

    try:
        return json.loads(text)
    except ValueError:
        return text


def assignments(words: Sequence[str], what: str) -> dict[str, dict[str, Any]]:
    """['dph.gamma=0.5'] -> {'dph': {'gamma': 0.5}}."""
    found: dict[str, dict[str, Any]] = {}
    for word in words:
        target, equals, text = word.partition("=")
        owner, dot, name = target.rpartition(".")
        if not equals or not dot:
            raise UsageError(f"'{word}': expected {what}.NAME=VALUE")
        found.setdefault(owner, {})[name] = _value(text)
    return found


def dataset_choices(args: argparse.Namespace, specs: Sequence[str]) -> list[Any]:
    """The data sets by name, each checked: what is missing is said before any work."""
    from benchmark.plan import DatasetChoice
    from benchmark.registry import get_dataset

    options = assignments(args.option, "DATASET")
    for name in set(options) - {spec.partition(":")[0] for spec in specs}:
        raise UsageError(f"--option {name}.…: '{name}' is not among --datasets")
    if args.data_root is not None and not args.data_root.is_dir():
        raise UsageError(f"data root {args.data_root} is not a folder; give the folder that holds your data sets")
    choices = []
    for spec in dict.fromkeys(specs):
        spec = _absolute(spec)
        parameters = dict(options.get(spec.partition(":")[0], {}))
        if args.skip_broken:
            parameters["skip_broken"] = True
        dataset = get_dataset(spec, args.data_root, **parameters)
        dataset.check()
        backbone = (args.backbone or dataset.backbone) if dataset.backbone else None
        weights = _absolute_file(args.weights) if backbone else None
        choices.append(
            DatasetChoice(spec, dataset, args.data_root, parameters, backbone, weights, args.partial_weights)
        )
    return choices


def _absolute(spec: str) -> str:
    """Cells run in a scratch folder, so paths must not depend on the working directory."""
    name, colon, argument = spec.partition(":")
    return f"{name}:{Path(argument).resolve()}" if colon else spec


def _absolute_file(weights: str | None) -> str | None:
    return str(Path(weights).resolve()) if weights and Path(weights).is_file() else weights


def default_profile() -> str:
    """'paper' where there is a GPU, else 'quick'; asks the driver's files, not torch, to stay fast."""
    return "paper" if Path("/proc/driver/nvidia/version").exists() else "quick"


def grid_of(args: argparse.Namespace) -> Any:
    from benchmark.deep.profile import load_profile
    from benchmark.plan import Grid, method_names

    profile = load_profile(args.profile or default_profile())
    names = method_names(args.methods)
    params = assignments(args.params, "METHOD")
    if args.tuned:
        from benchmark.tune import read_winners

        params = {**read_winners(args.tuned), **params}
    return Grid(
        names,
        dataset_choices(args, args.datasets),
        args.bits,
        args.seeds,
        profile,
        params,
        _sweep(args, names),
    )


def _sweep(args: argparse.Namespace, names: list[str]) -> tuple[str, str, list[Any]] | None:
    if not args.sweep:
        return None
    owner, dot, parameter = args.sweep[0].rpartition(".")
    if not dot or len(args.sweep) < 2:
        raise UsageError("--sweep: expected METHOD.NAME VALUE [VALUE ...], e.g. dph.inv_epsilon 0.01 0.1 1")
    if owner not in names:
        raise UsageError(f"--sweep {args.sweep[0]}: method '{owner}' is not among --methods")
    return owner, parameter, [_value(text) for text in args.sweep[1:]]


# Handlers


def handle_run(args: argparse.Namespace) -> int:
    from benchmark.plan import plan
    from benchmark.store import Store

    plugins = load_plugins(args)
    grid, store = grid_of(args), Store(args.results)
    planned = plan(grid, store)
    todo = chosen(planned, args)
    _announce(args, planned, todo)
    if args.dry_run:
        for one in planned:
            print(f"{one.state:8}{one.key[:12]}  {one.cell.label}")
        return 0
    code = _execute(args, store, todo, plugins) if todo else 0
    failed_before = sum(p.state == "failed" for p in planned) if args.keep_failed else 0
    if not args.no_report and code != 130:
        handle_report(args)
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


def _execute(args: argparse.Namespace, store: Any, todo: Sequence[Any], plugins: Sequence[str]) -> int:
    from benchmark.progress import progress
    from benchmark.runner import Options, Run, visible_gpus

    options = Options(
        args.jobs,
        args.threads,
        args.timeout,
        args.memory,
        plugins,
        visible_gpus(),
        args.force,
        args.allow_overlap,
        args.dask,
    )
    with progress(len(todo)) as shown:
        summary = Run(store, options, shown).execute(todo)
    for problem in summary.problems:
        print(f"problem: {problem}", file=sys.stderr)
    if summary.interrupted:
        print(f"interrupted; to go on: python run_all.py {shlex.join(args.words)}", file=sys.stderr)
        return 130
    return int(summary.failed > 0)


def handle_report(args: argparse.Namespace) -> int:
    from benchmark.plan import stale_keys
    from benchmark.report import render
    from benchmark.store import Store

    if args.plugin:
        load_plugins(args)
    store = Store(args.results)
    page = render(store, args.reports / args.name, force=args.force, stale=stale_keys(store))
    print(f"report: {page}")
    return 0


def _add_report(parser: argparse.ArgumentParser) -> None:
    _add_results(parser)
    _add_reports(parser)
    _add_plugin(parser)
    parser.add_argument("--force", action="store_true", help="draw everything again, changed or not")


def handle_list(args: argparse.Namespace) -> int:
    from benchmark.registry import PAPER, datasets, methods

    load_plugins(args)
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
    _add_results(parser)
    parser.add_argument("--keep", action="store_true", help="only report damage, set nothing aside")


def handle_audit(args: argparse.Namespace) -> int:
    from benchmark.audit import audit, render

    load_plugins(args)
    code = 0
    for choice in dataset_choices(args, args.names):
        found = audit(choice.dataset.load(), choice.dataset.map_cutoff)
        print(f"{choice.dataset.name} (revision {choice.dataset.revision[:12]})")
        print(render(found))
        code = max(code, int(bool(found.errors) and not args.allow_overlap))
    return code


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="DATASET")
    _add_data(parser)
    _add_plugin(parser)


def handle_why(args: argparse.Namespace) -> int:
    from benchmark.plan import differences, plan
    from benchmark.store import Store

    load_plugins(args)
    for one in plan(grid_of(args), Store(args.results)):
        if args.cell and args.cell not in one.key and args.cell not in one.cell.label:
            continue
        print(f"{one.state:8}{one.key[:12]}  {one.cell.label}")
        if one.state == "stale" and one.record is not None:
            for line in differences(one.record["parts"], one.cell.parts):
                print(f"        {line}")
    return 0


def _add_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", nargs="?", default="", help="part of a key or of 'method dataset K bits seed S'")
    _add_grid(parser)
    _add_data(parser)
    _add_results(parser)
    _add_plugin(parser)


def _deferred(module: str, function: str) -> Callable[..., Any]:
    """A function of a room that is imported only when its command is used."""

    def call(argument: Any) -> Any:
        import importlib

        return getattr(importlib.import_module(module), function)(argument)

    return call


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a plugin file, or the name of a known method")


def _add_list(parser: argparse.ArgumentParser) -> None:
    _add_plugin(parser)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], Any], Handler]] = {
    "run": ("run the grid (the default)", _add_run, handle_run),
    "list": ("methods and data sets", _add_list, handle_list),
    "report": ("rebuild tables and figures from results, without training", _add_report, handle_report),
    "check": ("run the conformance checks on a method's file", _add_check, handle_check),
    "audit": ("sizes, faults and skew of data sets", _add_audit, handle_audit),
    "verify": ("check every stored file against its hash", _add_verify, handle_verify),
    "why": ("the state of cells, and what made stale ones stale", _add_why, handle_why),
    "score": ("score codes made anywhere", _deferred("benchmark.score", "add_arguments"),
              _deferred("benchmark.score", "run")),
    "prepare": ("say what a data set lacks, build its lists and features", _deferred("benchmark.prepare", "add_arguments"),
                _deferred("benchmark.prepare", "run")),
    "compare": ("two result folders, or results against published numbers",
                _deferred("benchmark.compare", "add_arguments"), _deferred("benchmark.compare", "run")),
    "tune": ("cross-validate hyper-parameters on training data", _deferred("benchmark.tune", "add_arguments"),
             _deferred("benchmark.tune", "run")),
}  # fmt: skip
