"""`run_all.py keep CELL...`: run cells that are done once more, and keep their fitted methods."""

from __future__ import annotations

import argparse
from dataclasses import replace

from benchmark.commands import arguments
from benchmark.commands.run import run_todo
from benchmark.execution.record import Record
from benchmark.execution.store import Damaged, Store

HELP = "run done cells once more and keep their models"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cells", nargs="+", metavar="CELL", help="part of a key, or words such as 'dph coco 64'")
    arguments.add_results(parser)
    arguments.add_execution(parser)
    arguments.add_plugin(parser)
    parser.set_defaults(keep_models=True, allow_overlap=True)  # whoever has a record was let in before


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.cell_names import label_of
    from benchmark.execution.model import find_record
    from benchmark.execution.recorded_cell import planned_again

    arguments.check_results(args)
    arguments.load_plugins(args)
    options, store = arguments.options_of(args), Store(args.results)
    records = {record.key: record for record in (find_record(text, store) for text in args.cells)}
    wanted = [record for record in records.values() if not _can_be_read(record, store)]
    todo = [replace(planned_again(record, store), state="unkept") for record in wanted]
    code = run_todo(args, store, options, todo)
    for key in records:
        found = store.read(key)
        if found is not None and found.model and store.has_model(found):
            file = store.models / found.model["file"]
            print(f"{label_of(found)}: {file}, {arguments.size_words(found.model['bytes'])}")
    kept = [found for found in map(store.read, records) if found is not None and store.has_model(found)]
    return code or int(len(kept) < len(records))


def _can_be_read(record: Record, store: Store) -> bool:
    """Whether its model is there and sound: a damaged one is kept again."""
    from benchmark.execution.model import check_model

    try:
        check_model(record, store)
    except Damaged:
        return False
    return True
