"""`run_all.py audit NAME`: sizes, faults and skew of data sets."""

from __future__ import annotations

import argparse

from benchmark.commands import arguments

HELP = "sizes, faults and skew of data sets"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="DATASET")
    arguments.add_data(parser)
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    from benchmark.data.audit import audit, audit_text

    arguments.load_plugins(args)
    code = 0
    for choice in arguments.dataset_choices(args, args.names, check=False):
        found = audit(choice.dataset.load(), choice.dataset.map_cutoff, args.allow_overlap)
        print(f"{choice.dataset.name} (revision {choice.dataset.revision[:12]})")
        print(audit_text(found))
        code = max(code, int(bool(found.errors)))
    return code
