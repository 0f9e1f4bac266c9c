"""`run_all.py audit --datasets NAME`: sizes, faults and skew of data sets."""

from __future__ import annotations

import argparse

from benchmark.commands import arguments
from benchmark.commands.bars import shown_progress
from benchmark.commands.prepare import add_names, chosen_names

HELP = "sizes, faults and skew of data sets"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_names(parser)
    arguments.add_data(parser)
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    from benchmark.data.audit import audit, audit_text

    arguments.load_plugins(args)
    code = 0
    for choice in arguments.dataset_choices(args, chosen_names(args), check=False):
        with shown_progress():
            found = audit(choice.load(), choice.dataset.map_cutoff, args.allow_overlap)
            revision = choice.dataset.revision
        print(f"{choice.label} (revision {revision[:12]})")
        print(audit_text(found))
        code = max(code, int(bool(found.errors)))
    return code
