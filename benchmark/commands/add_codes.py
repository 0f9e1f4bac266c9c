"""`run_all.py add-codes`: codes from any code base become a record, scored here, next to ours in every table."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from benchmark.commands import arguments
from benchmark.commands.bars import shown_progress
from benchmark.commands.score import read_codes
from benchmark.errors import UsageError
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.contracts import Split, Splits
    from benchmark.execution.given_codes import GivenCodes
    from benchmark.execution.record import Record
    from benchmark.execution.store import Store

HELP = "file codes that others made, next to ours"
PARTS = ("query", "database")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = (
        ".npy, .npz, .csv, .mat or .pt, a row for each {} row of the data set, in its order; FILE:NAME picks an array"
    )
    for part in PARTS:
        parser.add_argument(f"--{part}", required=True, metavar="FILE", help=what.format(part))
    parser.add_argument("--method", required=True, metavar="NAME", help="what they go by; no method's name here")
    parser.add_argument("--dataset", required=True, metavar="NAME", help="a name, or lists:DIR, features:FILE.npz, ...")
    parser.add_argument("--bits", required=True, type=arguments.number_from(1), metavar="K", help="their length")
    parser.add_argument("--seed", type=arguments.number_from(0), default=0, metavar="S", help="of several (default: 0)")
    parser.add_argument("--binarize", choices=["sign"], help="make real-valued codes binary: 1 where > 0")
    parser.add_argument("--replace", action="store_true", help="set aside other codes that go by this name already")
    arguments.add_data_root(parser, "folder of the real data sets (default: HASHBENCH_DATA; without it, miniatures)")
    parser.add_argument("--option", action="append", default=[], metavar="DATASET.NAME=VALUE", help="of a data set")
    parser.add_argument("--allow-overlap", action="store_true", help="accept queries inside the database")
    parser.add_argument("--skip-broken", action="store_true", help="leave out unreadable images, and count them")
    arguments.add_plugin(parser)
    arguments.add_results(parser)


def run(args: argparse.Namespace) -> int:
    from benchmark.data.audit import audit
    from benchmark.execution.given_codes import check_rows, file_outcome, filed_otherwise, score_given
    from benchmark.execution.places import check_writable
    from benchmark.execution.store import Store

    check_writable("--results", args.results, "folder")
    given, store = _given(args), Store(args.results)
    others = filed_otherwise(given, store)
    if others and not args.replace:
        told = f"other codes go by '{given.name}' at {given.bits} bits, seed {given.seed} already"
        raise UsageError(f"add-codes: {told} ({others[0].key[:12]}); give another --method or --seed, or --replace")
    with shown_progress():
        splits = given.choice.load()
        check_rows(given, splits)
        audited = audit(splits, given.choice.dataset.map_cutoff, args.allow_overlap)
    if audited.errors:
        raise UsageError(f"{given.choice.label}: {'; '.join(audited.errors)}")
    outcome = score_given(given, splits, audited, os.cpu_count() or 1)
    file_outcome(outcome, store)
    _set_aside(others, store)
    print("\n".join(_told(outcome.record, splits)))
    return 0


def _given(args: argparse.Namespace) -> GivenCodes:
    """What the arguments say, all that needs no data set's rows checked."""
    from benchmark.execution.given_codes import GivenCodes, check_free_name
    from benchmark.execution.grid import choose_datasets

    arguments.load_plugins(args)
    name = check_free_name(args.method)
    packed = {part: read_codes(getattr(args, part), part, args.bits, args.binarize)[0] for part in PARTS}
    option = arguments.assignments(args.option, "DATASET")
    choices = choose_datasets(
        [args.dataset], data_root=args.data_root, option=option, skip_broken=args.skip_broken, check=True
    )
    return GivenCodes(name, choices[0], args.bits, args.seed, packed)


def _set_aside(others: list[Record], store: Store) -> None:
    for record in others:
        with store.lock(record.key) as mine:
            if mine:
                store.set_aside(record.key)
                print(f"set aside: {record.key[:12]}, the codes that went by this name before, in quarantine/")


def _told(record: Record, splits: Splits) -> list[str]:
    from benchmark.execution.cell_names import label_of

    metrics = record.metrics
    lines = [f"filed     {record.key[:12]}  {label_of(record)}, codes only"]
    lines.append(f"          MAP@{metrics['k']} {metrics['map']:.4f} (chance {metrics['chance_map']:.4f})")
    order = "; ".join(
        f"{counted(len(rows), f'{part} row')}{_ends(rows)}" for part, rows in splits.parts().items() if part in PARTS
    )
    lines.append(f"          taken in the data set's order: {order}")
    return [*lines, *([f"          doubtful: {record.doubts}"] if record.doubts else [])]


def _ends(rows: Split) -> str:
    return f" from {rows.ids[0]} to {rows.ids[-1]}" if rows.ids is not None and len(rows) else ""
