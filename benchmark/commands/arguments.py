"""The words of the command line: which flags each command takes, and what they mean.

Flag names equal parameter names equal column names. Everything is checked here, before any work starts; what the
commands then do is in their own files.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.commands.bars import shown_progress
from benchmark.errors import UsageError

if TYPE_CHECKING:
    from benchmark.execution.grid import DatasetChoice, Grid
    from benchmark.execution.options import Options
    from benchmark.execution.tuned_settings import TunedSettings

BITS = (16, 32, 48, 64)  # the paper's


def number_from(least: int) -> Callable[[str], int]:
    """A type for argparse: whole numbers from `least` on."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
        return value

    return parse


def size_in_bytes(text: str) -> int:
    """'4G', '500M', or a number of bytes."""
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([kKmMgG]?)", text.strip(), re.ASCII)
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    size = float(found[1]) * units[found[2].upper()] if found else 0
    if not 1 <= size < 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 4G or 500M")
    return int(size)


def size_words(size: int) -> str:
    """1536 -> '1.5 KiB'."""
    value, units = float(size), iter(("bytes", "KiB", "MiB", "GiB"))
    unit = next(units)
    while value >= 1024 and unit != "GiB":
        value, unit = value / 1024, next(units)
    return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"


def report_name(text: str) -> str:
    """A plain name: it becomes a folder inside --reports, and nothing outside of it."""
    faults = any(character in "/\\" or not character.isprintable() for character in text) or not text.strip(". ")
    if faults or len(text) > 100 or len(text.encode(errors="replace")) > 255:
        raise argparse.ArgumentTypeError(f"{text!r} is not a name of at most 100 characters without / or \\")
    return text


def add_plugin(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plugin", nargs="+", default=[], metavar="FILE", help="files with further methods or datasets"
    )


def add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default: results)")


def add_reports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="folder of reports (default: reports)")
    parser.add_argument(
        "--name", type=report_name, default="default", help="name of the report inside it (default: default)"
    )


def add_data_root(parser: argparse.ArgumentParser, help: str) -> None:
    root = os.environ.get("HASHBENCH_DATA")
    parser.add_argument("--data-root", type=Path, default=Path(root) if root else None, metavar="DIR", help=help)


def add_data(parser: argparse.ArgumentParser) -> None:
    add_data_root(parser, "folder of the real data sets (default: HASHBENCH_DATA; without it, miniatures)")
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


def add_grid(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument("--bits", nargs="+", type=number_from(1), default=[*BITS], metavar="K")
    parser.add_argument("--seeds", nargs="+", type=number_from(0), default=[0], metavar="S")
    parser.add_argument(
        "--profile",
        default=None,
        metavar="NAME|FILE",
        help="training set-up: quick, cpu, paper, or a TOML file (default: quick without a GPU)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="METHOD.NAME=VALUE",
        dest="params",
        help="a parameter of a method, e.g. dph.gamma=0.5",
    )
    parser.add_argument(
        "--sweep",
        action="append",
        nargs="+",
        metavar="OWNER.NAME VALUE",
        help="run one parameter of a method, or of a data set with all methods, at several values, "
        "e.g. dph.inv_epsilon 0.01 0.1 1, or imagenet.imbalance balanced exponential:100 paper",
    )


def add_names(parser: argparse.ArgumentParser) -> None:
    """Data sets by --datasets, as `run` takes them, or as bare words; and the methods that are meant for them."""
    parser.add_argument("names", nargs="*", metavar="DATASET", help="names, or lists:DIR, folder:DIR, ...")
    parser.add_argument("--datasets", nargs="+", default=[], metavar="NAME", help="the same")
    told = "methods meant for them, by name, 'paper' or 'all': tells which of them decline the data, and why"
    parser.add_argument("--methods", nargs="+", default=[], metavar="NAME", help=told)
    lengths = f"the code lengths meant (default: {' '.join(map(str, BITS))})"
    parser.add_argument("--bits", nargs="+", type=number_from(1), default=[], metavar="K", help=lengths)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Where settings come from that nobody sets by --set."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--tune", action="store_true", help="first tune what has not been tuned, by cross-validation on training rows"
    )
    told = "use the settings that 'tune' wrote to this file; for methods that it lacks, what ships or their defaults"
    which.add_argument("--tuned", type=Path, metavar="FILE", help=told)
    which.add_argument("--untuned", action="store_true", help="use the defaults, though tuned settings are known")


def add_budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trials", type=number_from(1), default=24, metavar="N", help="settings tried per method (default: 24)"
    )
    parser.add_argument(
        "--folds", type=number_from(2), default=3, metavar="N", help="of the training split (default: 3)"
    )


def add_execution(parser: argparse.ArgumentParser) -> None:
    cores = os.cpu_count() or 1
    at_once = f"cells at once (default: {cores})"
    parser.add_argument("--jobs", type=number_from(1), default=cores, metavar="N", help=at_once)
    parser.add_argument(
        "--threads",
        type=number_from(1),
        default=1,
        metavar="N",
        help="threads per cell (default: 1); numbers do not depend on --jobs",
    )
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="stop a cell after so long")
    parser.add_argument("--memory", type=size_in_bytes, metavar="SIZE", help="stop a cell that holds more, e.g. 8G")
    parser.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler, or local:N for one of N workers here")


# From words to things


def load_plugins(args: argparse.Namespace) -> None:
    """Make the methods and data sets of --plugin files known."""
    from benchmark.registry import datasets, load_plugin, methods

    for path in args.plugin:
        if not os.path.isfile(path):
            raise UsageError(f"plugin file {path} does not exist, or is no file")
        before = {*methods.names_unloaded(), *datasets.names_unloaded()}
        load_plugin(path)
        if before == {*methods.names_unloaded(), *datasets.names_unloaded()} and not _holds_plugins(path):
            raise UsageError(f"plugin file {path} registers nothing: put @register_method(...) above a class")


def _holds_plugins(path: str) -> bool:
    """Whether a file that was loaded before has a class that is registered."""
    from benchmark.contracts import DatasetInfo, MethodInfo

    file = os.path.realpath(path)
    modules = [one for one in sys.modules.values() if getattr(one, "__file__", None) == file]
    found = [getattr(thing, "info", None) for module in modules for thing in vars(module).values()]
    return any(isinstance(info, (MethodInfo, DatasetInfo)) for info in found)


def _value(text: str, what: str) -> Any:
    """'0.5' -> 0.5, 'true' -> True, 'paper' -> 'paper'."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise UsageError(f"{what}: {text} is not a finite number") from None
    return value


def assignments(words: Sequence[str], what: str) -> dict[str, dict[str, Any]]:
    """['dph.gamma=0.5'] -> {'dph': {'gamma': 0.5}}."""
    found: dict[str, dict[str, Any]] = {}
    for word in words:
        target, equals, text = word.partition("=")
        owner, _, name = target.rpartition(".")
        if not equals or not owner or not name:
            raise UsageError(f"'{word}': expected {what}.NAME=VALUE")
        if name in found.get(owner, {}):
            raise UsageError(f"'{word}': {target} is given twice; leave one of them out")
        found.setdefault(owner, {})[name] = _value(text, target)
    return found


def chosen_names(args: argparse.Namespace) -> list[str]:
    """The data sets of `add_names`."""
    names = [*args.names, *args.datasets]
    if not names:
        raise UsageError("no data set named: give --datasets NAME, e.g. --datasets coco")
    return names


def method_words(args: argparse.Namespace) -> list[str]:
    """The methods of `add_names`, one by one; those of the paper where only --bits was given."""
    from benchmark.execution.grid import method_names

    return method_names(args.methods or (["paper"] if args.bits else []))


@shown_progress()  # files are hashed
def dataset_choices(args: argparse.Namespace, specs: Sequence[str], check: bool = True) -> list[DatasetChoice]:
    """The data sets that the arguments name."""
    from benchmark.execution.grid import choose_datasets

    return choose_datasets(
        specs,
        data_root=args.data_root,
        option=assignments(args.option, "DATASET"),
        backbone=args.backbone,
        weights=args.weights,
        partial_weights=args.partial_weights,
        skip_broken=args.skip_broken,
        check=check,
    )


@shown_progress()
def grid_of(args: argparse.Namespace) -> Grid:
    """The grid that the arguments describe."""
    from benchmark.execution.grid import make_grid

    return make_grid(
        dataset_choices(args, args.datasets),
        args.methods,
        args.bits,
        args.seeds,
        args.profile,
        assignments(args.params, "METHOD"),
        _sweep(args.sweep),
        known_settings(args),
        getattr(args, "untuned", False),
    )


def known_settings(args: argparse.Namespace) -> list[TunedSettings]:
    """What cross-validation chose: in the file that was named, or else in this results folder; then as shipped."""
    from benchmark.execution.store import tune_store
    from benchmark.execution.tuned_settings import read_tuned, shipped

    if getattr(args, "tuned", None):
        return [read_tuned(args.tuned), shipped()]
    return [tune_store(args.results).tuned(), shipped()]


def check_results(args: argparse.Namespace) -> None:
    """For who only reads results: there must be some place to read."""
    if not os.path.isdir(args.results):
        fault = "is no folder" if os.path.lexists(args.results) else "does not exist"
        raise UsageError(f"results folder {args.results} {fault}; name one by --results, or run something first")


def options_of(args: argparse.Namespace) -> Options:
    """How to run, as the arguments say."""
    from benchmark.execution.options import Options, visible_gpus

    limits = (args.jobs, args.threads, args.timeout, args.memory)
    kept = getattr(args, "keep_models", False), getattr(args, "log", None)
    return Options(*limits, visible_gpus(), args.allow_overlap, args.dask, *kept)


def _sweep(given: Sequence[Sequence[str]] | None) -> tuple[str, str, list[Any]] | None:
    if not given:
        return None
    if len(given) > 1:
        told = " and ".join(words[0] for words in given)
        raise UsageError(f"--sweep: {told} at once; sweep one of them, and the other in another run")
    (words,) = given
    owner, _, parameter = words[0].rpartition(".")
    if not owner or not parameter or len(words) < 2:
        raise UsageError(
            "--sweep: expected METHOD.NAME or DATASET.NAME and values, e.g. imagenet.imbalance balanced paper"
        )
    return owner, parameter, [_value(text, words[0]) for text in words[1:]]
