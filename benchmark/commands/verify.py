"""`run_all.py verify`: every stored file against its hash."""

from __future__ import annotations

import argparse

from benchmark.commands import arguments
from benchmark.errors import UsageError
from benchmark.execution.store import Store

HELP = "check every stored file against its hash"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_results(parser)
    parser.add_argument("--keep", action="store_true", help="only report damage, set nothing aside")


def run(args: argparse.Namespace) -> int:
    if not args.results.is_dir():
        raise UsageError(f"verify: results folder {args.results} does not exist; name one by --results")
    store = Store(args.results)
    faults = store.verify(quarantine=not args.keep)
    for fault in faults:
        print(fault)
    done = "left in place" if args.keep else "set aside in quarantine/; run again to recompute them"
    print(f"{len(store.keys())} sound records" + (f", {len(faults)} damaged: {done}" if faults else ""))
    return int(bool(faults))
