"""`run_all.py list [METHOD]`: the methods and data sets there are, or the parameters of one method."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from benchmark.commands import arguments
from benchmark.contracts import MethodInfo
from benchmark.registry import datasets, get_method, methods

HELP = "methods and data sets, or the parameters of one method"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("method", nargs="?", metavar="METHOD", help="tell the parameters of this one")
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    arguments.load_plugins(args)
    for line in _everything() if args.method is None else _one(get_method(args.method)):
        print(line)
    return 0


def _everything() -> list[str]:
    lines = ["methods"]
    for cls in methods:
        info = cls.info
        mark = " ".join(info.groups)
        lines.append(f"  {info.name:12} {info.title:12} {info.family:17} needs {info.needs:11} {mark:6} {info.paper}")
    lines.append("datasets")
    for cls in datasets:
        info = cls.info
        name = f"{info.name}:{info.takes}" if info.takes else info.name
        stand_in = f"(without --data-root: {info.stand_in})" if info.stand_in else ""
        lines.append(f"  {name:22} {info.title} {stand_in}")
    return lines


def _one(cls: Any) -> list[str]:
    """What a method is, and what --set and --sweep can change of it."""
    info: MethodInfo = cls.info
    lines = [f"{info.name}: {info.title}, {info.family}, on {info.input}, needs {info.needs}"]
    lines += [f"  {one}" for one in (info.paper, f"defined in {info.source}" if info.source else "") if one]
    lines.append(f"parameters (--set {info.name}.NAME=VALUE)" if info.parameters else "no parameters")
    lines += [f"  {line}" for name in info.parameters for line in _parameter(info, name)]
    return lines + (_trained(info) if info.takes_training else [])


def _trained(info: MethodInfo) -> list[str]:
    """What may be set of a training that the profile else decides."""
    from benchmark.deep.profile import load_profile
    from benchmark.execution.grid import TRAINED, default_profile
    from benchmark.execution.search_space import search_space

    profile = load_profile(default_profile())
    space = search_space(info, profile.training)
    lines = [f"of its training (set alike; the values are those of the profile {profile.name})"]
    for name in (one for one in TRAINED if one in space):
        lines += [f"  {name} = {getattr(profile.training, name)!r}", _searched(space[name])]
    return lines


def _parameter(info: MethodInfo, name: str) -> list[str]:
    """One line, and a second where values are worth searching."""
    told = info.declared[name]
    lines = [f"{name} = {told.default!r} ({told.expected})" + (f": {told.doc}" if told.doc else "")]
    if told.search:
        lines.append(_searched(told.search)[2:])
    return lines


def _searched(values: Sequence[Any]) -> str:
    return f"      tune searches {', '.join(map(repr, values))}"
