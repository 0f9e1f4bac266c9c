"""`run_all.py why [CELL]`: the state of cells, and which hashed part made the stale ones stale.

Words are looked for among the records of the results folder, and, where the flags of a run are given, among the cells
that these mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from benchmark.commands import arguments
from benchmark.commands import run as run_command
from benchmark.commands.config_file import flags_given
from benchmark.errors import UsageError

if TYPE_CHECKING:
    from benchmark.execution.plan import PlannedCell
    from benchmark.execution.record import Record
    from benchmark.execution.store import Store

HELP = "the state of cells, and what made stale ones stale"
NOT_OF_A_RUN = {"--results", "--plugin"}  # they say where records are, and what is known here


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "cell", nargs="?", default="", help="part of a key or of 'method dataset K bits seed S' (default: all)"
    )
    run_command.add_arguments(parser)  # all of them, so that a run's words can be pasted


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.cell_names import is_called
    from benchmark.execution.plan import plan, stale_keys
    from benchmark.execution.store import Store

    arguments.load_plugins(args)
    store, of_a_run = Store(args.results), bool(flags_given(args.words, args.parser) - NOT_OF_A_RUN)
    planned = plan(arguments.grid_of(args), store) if of_a_run else []
    chosen = [one for one in planned if is_called(args.cell, one.key, one.cell.label)]
    stored = _others(args.cell, store, chosen) if args.cell or not of_a_run else []
    if not chosen and not stored:
        if not planned:
            arguments.check_results(args)
        raise UsageError(_no_cell(args, planned, store))
    arguments.check_results(args)
    stale = stale_keys(store, planned) if stored else set()
    print("\n".join(_apart([*map(_planned_block, chosen), *(_record_block(one, stale) for one in stored)])))
    return 0


def _others(wanted: str, store: Store, chosen: Sequence[PlannedCell]) -> list[Record]:
    """Stored records of that name that belong to none of the chosen cells."""
    from benchmark.execution.cell_names import is_called, label_of

    told = {one.key for one in chosen} | {one.record.key for one in chosen if one.record}
    known = [record for record in store.records() if record.key not in told]
    return [record for record in known if is_called(wanted, record.key, label_of(record))]


def _no_cell(args: argparse.Namespace, planned: Sequence[PlannedCell], store: Store) -> str:
    from benchmark.execution.cell_names import label_of

    known, record = [], next(store.records(), None)
    if planned:
        known.append(f"the cells of these flags ({len(planned)}) are called like '{planned[0].cell.label}'")
    if record:
        called = f"({len(store.keys())}) {'' if planned else 'are called '}like"
        known.append(f"the records in {args.results} {called} '{label_of(record)}'")
    else:
        known.append(f"there is no record in {args.results}")
    wanted = f"no cell matches '{args.cell}'" if args.cell else "no cell to tell of"
    others = "" if planned else ", or the flags of a run for its cells"
    return f"why: {wanted}: {', '.join(known)}; give other words, or --results DIR{others}"


def _apart(blocks: Sequence[list[str]]) -> Iterator[str]:
    """The lines of all; what takes several stands apart."""
    for number, block in enumerate(blocks):
        if number and max(len(block), len(blocks[number - 1])) > 1:
            yield ""
        yield from block


def _planned_block(one: PlannedCell) -> list[str]:
    """What there is to say of a cell."""
    from benchmark.execution.fingerprint import differences

    head = f"{one.state:8}{one.key[:12]}  {one.cell.label}"
    if one.state == "stale" and one.record is not None:
        return [head, *_indented(differences(one.record.parts, one.cell.parts))]
    return [head, *_indented(_fault(one.record))]


def _record_block(record: Record, stale: Collection[str]) -> list[str]:
    """The same of a record, whatever flags it was made with."""
    from benchmark.execution.cell_names import label_of
    from benchmark.execution.plan import state_of, unchecked

    state = "stale" if record.key in stale else state_of(record)
    head = f"{state:8}{record.key[:12]}  {label_of(record)}{', codes only' if record.codes_only else ''}"
    lacking = "" if state == "stale" else unchecked(record)
    head += f", not checked: {lacking}" if lacking else ""
    return [head, *_indented(_changed(record) if state == "stale" else _fault(record))]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"        {line}" for line in lines]


def _fault(record: Record | None) -> list[str]:
    """Why there is no score: in a line, then the whole traceback; nothing where there is one."""
    if record is None or record.ok:
        return []
    from benchmark.execution.runner import outcome_line

    told = record.error or {}
    trace = told.get("traceback", "").splitlines()
    return [outcome_line(record), *trace] if trace else f"{record.status}: {told.get('message', '')}".splitlines()


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
