"""`run_all.py list`: the methods and data sets there are."""

from __future__ import annotations

import argparse

from benchmark.commands import arguments
from benchmark.registry import datasets, methods

HELP = "methods and data sets"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    arguments.load_plugins(args)
    print("methods")
    for cls in methods:
        info = cls.info
        mark = " ".join(info.groups)
        print(f"  {info.name:12} {info.title:12} {info.family:17} needs {info.needs:11} {mark:6} {info.paper}")
    print("datasets")
    for cls in datasets:
        info = cls.info
        name = f"{info.name}:{info.takes}" if info.takes else info.name
        stand_in = f"(without --data-root: {info.stand_in})" if info.stand_in else ""
        print(f"  {name:22} {info.title} {stand_in}")
    return 0
