"""`run_all.py why [CELL]`: the state of cells, and which hashed part made the stale ones stale."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchmark.commands import arguments
from benchmark.commands import run as run_command
from benchmark.errors import UsageError

if TYPE_CHECKING:
    from benchmark.execution.store import Store

HELP = "the state of cells, and what made stale ones stale"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", nargs="?", default="", help="part of a key or of 'method dataset K bits seed S'")
    run_command.add_arguments(parser)  # all of them, so that a run's words can be pasted


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.cell_names import is_called
    from benchmark.execution.fingerprint import differences
    from benchmark.execution.plan import plan
    from benchmark.execution.store import Store

    arguments.load_plugins(args)
    store = Store(args.results)
    planned = plan(arguments.grid_of(args), store)
    chosen = [one for one in planned if is_called(args.cell, one.key, one.cell.label)]
    given = _given_codes(args.cell, store)
    if not chosen and not given:
        known = (
            f"the {len(planned)} cells are called like '{planned[0].cell.label}'" if planned else "there are no cells"
        )
        raise UsageError(f"why: no cell matches '{args.cell}'; {known}; give the flags of the run too")
    arguments.check_results(args)
    for one in chosen:
        print(f"{one.state:8}{one.key[:12]}  {one.cell.label}")
        if one.state == "stale" and one.record is not None:
            for line in differences(one.record.parts, one.cell.parts):
                print(f"        {line}")
    print("\n".join(given), end="\n" if given else "")
    return 0


def _given_codes(wanted: str, store: Store) -> list[str]:
    """The state of codes that others made; they are in no grid, and asked for by name."""
    from benchmark.execution.cell_names import is_called, label_of
    from benchmark.execution.fingerprint import differences
    from benchmark.execution.given_codes import versions_today
    from benchmark.execution.plan import stale_keys

    known = [record for record in store.records() if record.codes_only] if wanted else []
    found = [record for record in known if is_called(wanted, record.key, label_of(record))]
    stale = stale_keys(store) if found else set()
    lines = []
    for record in found:
        lines.append(f"{'stale' if record.key in stale else 'done':8}{record.key[:12]}  {label_of(record)}, codes only")
        if record.key in stale:
            changed = differences(record.parts, {**record.parts, **versions_today()}) or ["the data set's code"]
            lines += [f"        {line}" for line in [*changed, "file the codes again by add-codes"]]
    return lines
