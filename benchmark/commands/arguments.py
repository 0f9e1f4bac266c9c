"""The words of the command line: which flags each command takes, and what they mean.

Flag names equal parameter names equal column names. Everything is checked here, before any work starts; what the
commands then do is in their own files.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import UsageError

if TYPE_CHECKING:
    from benchmark.execution.grid import DatasetChoice, Grid


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


def add_data(parser: argparse.ArgumentParser) -> None:
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


def add_execution(parser: argparse.ArgumentParser) -> None:
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


# From words to things


def load_plugins(args: argparse.Namespace) -> None:
    """Make the methods and data sets of --plugin files known."""
    from benchmark.registry import load_plugin

    for path in args.plugin:
        load_plugin(path)


def _value(text: str) -> Any:
    """'0.5' -> 0.5, 'true' -> True, 'paper' -> 'paper'."""
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


def grid_of(args: argparse.Namespace) -> Grid:
    """The grid that the arguments describe."""
    from benchmark.execution.grid import make_grid
    from benchmark.execution.tuning import read_winners

    return make_grid(
        dataset_choices(args, args.datasets),
        args.methods,
        args.bits,
        args.seeds,
        args.profile,
        assignments(args.params, "METHOD"),
        _sweep(args.sweep),
        read_winners(args.tuned) if args.tuned else None,
    )


def _sweep(words: Sequence[str] | None) -> tuple[str, str, list[Any]] | None:
    if not words:
        return None
    owner, dot, parameter = words[0].rpartition(".")
    if not dot or len(words) < 2:
        raise UsageError("--sweep: expected METHOD.NAME VALUE [VALUE ...], e.g. dph.inv_epsilon 0.01 0.1 1")
    return owner, parameter, [_value(text) for text in words[1:]]
