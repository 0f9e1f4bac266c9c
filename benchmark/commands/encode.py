"""`run_all.py encode CELL --images DIR --out codes.npy`: codes of images or features by a model that was kept."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from benchmark.commands import arguments
from benchmark.commands.bars import going_on, shown_progress
from benchmark.wording import counted

HELP = "codes of your images, or features, by a model that was kept"
SHOWN = 10  # broken images that are named on the screen; all are in a file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", metavar="CELL", help="part of a key, or words such as 'dph coco 64'")
    told = "folder of images, an image, a text file with a path in each line, or features (.npy, .npz)"
    parser.add_argument("--images", type=Path, required=True, metavar="DIR|FILE", help=told)
    kinds = "codes.npy (-1 and +1), .npz (packed bits), .csv, or .faiss (a binary index)"
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=kinds)
    parser.add_argument("--force", action="store_true", help="replace --out where it exists")
    parser.add_argument("--stale", action="store_true", help="use the model though code has changed since")
    arguments.add_results(parser)
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.cell_names import label_of
    from benchmark.execution.encoding import beside, check_length, check_target, encode_to
    from benchmark.execution.model import find_record, read_model
    from benchmark.execution.model_inputs import inputs_at
    from benchmark.execution.store import Store

    arguments.check_results(args)
    check_target(args.out, args.force)
    arguments.load_plugins(args)
    store = Store(args.results)
    record = find_record(args.cell, store)
    check_length(args.out, record.cell["bits"])
    print(f"reading the model of '{label_of(record)}'", flush=True)  # torch alone takes seconds
    model = read_model(record, store, stale=args.stale)
    with shown_progress():
        given = inputs_at(args.images)
    with shown_progress(), going_on(args):
        found = encode_to(model, given, args.out, partial(print, flush=True))
    names = f", their names in {beside(args.out, 'names')}" if found.rows else ""
    print(f"{counted(found.rows, 'code')} of {counted(model.bits, 'bit')} by '{model.label}' in {args.out}{names}")
    for told in [*found.faults.values()][:SHOWN]:
        print(f"left out: {told}", file=sys.stderr)
    if found.faults:
        print(f"{len(found.faults):,} left out, see {beside(args.out, 'broken')}", file=sys.stderr)
    return int(bool(found.faults))
