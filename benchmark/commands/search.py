"""`run_all.py search CELL --query IMAGE --database DIR`: the pictures most like a picture, by a kept model."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark.commands import arguments
from benchmark.commands.bars import going_on, shown_progress
from benchmark.errors import UsageError
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.execution.image_database import ImageDatabase
    from benchmark.execution.model import Model
    from benchmark.execution.record import Record
    from benchmark.report.neighbours_page import FoundItem
    from benchmark.search import Neighbours

HELP = "the pictures most like yours, by a model that was kept"
MOST = 1000  # items of a ball that are shown
SHOWN = 10  # notes that are printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", metavar="CELL", help="part of a key, or words such as 'dph coco 64'")
    parser.add_argument("--query", type=Path, required=True, metavar="IMAGE", help="what to look for")
    add_database(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--top", type=arguments.number_from(1), default=10, metavar="N", help="so many (default: 10)")
    how.add_argument("--radius", type=arguments.number_from(0), metavar="R", help="all that differ in R bits or fewer")
    told = "page, replaced where there is one (default: search.html)"
    parser.add_argument("--out", type=Path, default=Path("search.html"), metavar="FILE", help=told)
    arguments.add_results(parser)
    arguments.add_plugin(parser)


def add_database(parser: argparse.ArgumentParser) -> None:
    """Where to search, and how; `serve` takes the same."""
    from benchmark.search import KINDS

    what = "folder of images, file of codes as `encode` writes it, or 'codes': what the cell itself was scored on"
    parser.add_argument("--database", required=True, metavar="DIR|FILE|codes", help=what)
    parser.add_argument("--images", type=Path, metavar="DIR", help="where the pictures of a file of codes are")
    parser.add_argument("--index", choices=KINDS, default="scan", help="all of them exact (default: scan)")
    parser.add_argument("--stale", action="store_true", help="use the model though code has changed since")


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.image_database import open_database
    from benchmark.execution.model import find_record, read_model
    from benchmark.execution.places import check_writable
    from benchmark.execution.store import Store
    from benchmark.search import open_index

    arguments.check_results(args)
    arguments.load_plugins(args)
    check_writable("--out", args.out)
    store = Store(args.results)
    record = find_record(args.cell, store)
    print_kind([record], args.database)
    model = read_model(record, store, stale=args.stale)
    code = _encoded_query(args.query, model)
    with shown_progress(), going_on(args):
        database = open_database(args.database, model, record, store, args.images)
        index = open_index(database.packed, model.bits, args.index)
    start = time.perf_counter()
    found = index.top(code, args.top) if args.radius is None else index.within(code, args.radius)
    seconds = time.perf_counter() - start
    print_notes(database.told)
    wanted = f"the {args.top} nearest" if args.radius is None else f"all within {counted(args.radius, 'bit')}"
    about = f"{wanted} of {len(database):,} in {database.name}, {1000 * seconds:.2f} ms by {args.index}"
    _show(args, model.label, about, found, database)
    return 0


def print_kind(records: Sequence[Record], database: str) -> None:
    """That models of miniatures are to meet pictures of another kind: said before these are encoded."""
    from benchmark.execution.image_database import means_own

    if any(record.miniature for record in records) and not means_own(database):
        told = "this model has learned from a miniature, drawn digits"
        print(f"note: {told}; for pictures like yours: --datasets folder:DIR, or --data-root DIR", file=sys.stderr)


def print_notes(told: Sequence[str]) -> None:
    """What the user should know of a database."""
    for line in told[:SHOWN]:
        print(f"note: {line}", file=sys.stderr)
    if len(told) > SHOWN:
        print(f"note: and {len(told) - SHOWN:,} more of the kind", file=sys.stderr)


def _encoded_query(path: Path, model: Model) -> np.ndarray:
    """The packed code of one image."""
    from benchmark.data.images import SUFFIXES
    from benchmark.evaluation.codes import pack

    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        kind = "no such file" if not path.exists() else "no image by its name"
        raise UsageError(f"--query {path}: {kind}; expected one of {', '.join(SUFFIXES)}")
    packed: np.ndarray = pack(model.encode([str(path)]))
    return packed[0]


def _show(args: argparse.Namespace, label: str, about: str, found: Neighbours, database: ImageDatabase) -> None:
    from benchmark.data.images import read_image
    from benchmark.report.neighbours_page import FoundList, data_uri, neighbours_page

    print(f"{label}: {about}")
    for rank, (row, distance) in enumerate(zip(found.rows.tolist(), found.distances.tolist(), strict=True), start=1):
        if rank <= MOST:
            print(f"{rank:4}  distance {distance:3}  {database.names[row]}  {database.labels(row)}".rstrip())
    if not len(found.rows):
        print("nothing is that near")
    items = found_items(found, database)
    notes = [*database.told[:SHOWN], *([f"The first {MOST} of {len(found.rows):,}."] if len(found.rows) > MOST else [])]
    page = neighbours_page(args.query.name, data_uri(read_image(args.query)), [FoundList(label, about, items)], notes)
    args.out.write_text(page, encoding="utf-8", errors="replace")
    print(f"page: {os.fspath(args.out)}")


def found_items(found: Neighbours, database: ImageDatabase) -> list[FoundItem]:
    """What a page shows of the neighbours; a picture that cannot be read costs that picture."""
    from benchmark.report.neighbours_page import FoundItem, data_uri

    items = []
    pairs = zip(found.rows[:MOST].tolist(), found.distances[:MOST].tolist(), strict=True)
    for rank, (row, distance) in enumerate(pairs, start=1):
        picture, missing = "", "the database has no pictures"
        if database.images is not None:
            try:
                picture = data_uri(np.asarray(database.images[row]))
            except UsageError as error:
                missing = str(error)
        items.append(FoundItem(rank, distance, database.names[row], database.labels(row), picture, missing))
    return items
