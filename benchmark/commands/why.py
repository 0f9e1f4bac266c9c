"""`run_all.py why [CELL]`: the state of cells, and which hashed part made the stale ones stale.

Words are looked for among the cells that the flags mean and among the records of the results folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from benchmark.commands import arguments
from benchmark.commands import run as run_command
from benchmark.errors import UsageError

if TYPE_CHECKING:
    from benchmark.execution.plan import PlannedCell
    from benchmark.execution.record import Record
    from benchmark.execution.store import Store

HELP = "the state of cells, and what made stale ones stale"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", nargs="?", default="", help="part of a key or of 'method dataset K bits seed S'")
    run_command.add_arguments(parser)  # all of them, so that a run's words can be pasted


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.cell_names import is_called
    from benchmark.execution.plan import plan, stale_keys
    from benchmark.execution.store import Store

    arguments.load_plugins(args)
    store = Store(args.results)
    planned = plan(arguments.grid_of(args), store)
    chosen = [one for one in planned if is_called(args.cell, one.key, one.cell.label)]
    stored = _others(args.cell, store, chosen)
    if not chosen and not stored:
        raise UsageError(_no_cell(args, planned, store))
    arguments.check_results(args)
    stale = stale_keys(store, planned) if stored else set()
    for line in [*_planned_lines(chosen), *_record_lines(stored, stale)]:
        print(line)
    return 0


def _others(wanted: str, store: Store, chosen: Sequence[PlannedCell]) -> list[Record]:
    """Stored records of that name that belong to none of the chosen cells; only what is asked for by name."""
    from benchmark.execution.cell_names import is_called, label_of

    told = {one.key for one in chosen} | {one.record.key for one in chosen if one.record}
    known = [record for record in store.records() if record.key not in told] if wanted else []
    return [record for record in known if is_called(wanted, record.key, label_of(record))]


def _no_cell(args: argparse.Namespace, planned: Sequence[PlannedCell], store: Store) -> str:
    from benchmark.execution.cell_names import label_of

    cells = f"the cells of these flags ({len(planned)}) are called like '{planned[0].cell.label}'" if planned else ""
    record = next(store.records(), None)
    number = len(store.keys())
    records = f"the records in {args.results} ({number}) like '{label_of(record)}'" if record else ""
    known = [cells or "these flags mean no cell", records or f"there is no record in {args.results}"]
    return f"why: no cell matches '{args.cell}': {', '.join(known)}; give other words, or --results DIR"


def _planned_lines(chosen: Sequence[PlannedCell]) -> Iterator[str]:
    from benchmark.execution.fingerprint import differences

    for one in chosen:
        yield f"{one.state:8}{one.key[:12]}  {one.cell.label}"
        if one.state == "stale" and one.record is not None:
            yield from _indented(differences(one.record.parts, one.cell.parts))
        if one.state == "failed" and one.record is not None:
            yield from _indented(_error(one.record))


def _record_lines(found: Sequence[Record], stale: Collection[str]) -> Iterator[str]:
    """The same of records, whatever flags they were made with."""
    from benchmark.execution.cell_names import label_of
    from benchmark.execution.plan import state_of

    for record in found:
        state = "stale" if record.key in stale else state_of(record)
        yield f"{state:8}{record.key[:12]}  {label_of(record)}{', codes only' if record.codes_only else ''}"
        if state == "stale":
            yield from _indented(_changed(record))
        if state == "failed":
            yield from _indented(_error(record))


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"        {line}" for line in lines]


def _error(record: Record) -> list[str]:
    told = record.error or {}
    return (told.get("traceback") or told.get("message", "")).splitlines()


def _changed(record: Record) -> list[str]:
    """What of a stale record is another today, as far as its cell can be had without the flags of its run."""
    from benchmark.execution.fingerprint import differences
    from benchmark.execution.given_codes import versions_today
    from benchmark.execution.recorded_cell import recorded_cell

    if record.codes_only:
        changed = differences(record.parts, {**record.parts, **versions_today()}) or ["the data set's code"]
        return [*changed, "file the codes again by add-codes"]
    try:
        return differences(record.parts, recorded_cell(record).parts)
    except (UsageError, OSError) as error:
        return [f"what changed cannot be told: {error}; give the flags of the run"]
