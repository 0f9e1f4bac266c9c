"""`run_all.py verify`: every stored file against its hash, and with `--cache` everything in the cache too."""

from __future__ import annotations

import argparse
from functools import partial

from benchmark.commands import arguments
from benchmark.commands.bars import shown_progress
from benchmark.execution.store import Store, Verdict
from benchmark.program import typed
from benchmark.wording import counted

HELP = "check every stored file against its hash"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_results(parser)
    parser.add_argument("--cache", action="store_true", help="also read everything in the cache (HASHBENCH_CACHE)")
    parser.add_argument("--keep", action="store_true", help="only report damage, set nothing aside")


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.model import check_model

    code = _verify_cache() if args.cache else 0
    if args.cache and not args.results.exists():
        return code
    arguments.check_results(args)
    store = Store(args.results)
    found = store.verify(not args.keep, partial(check_model, store=store))
    for fault in found.faults:
        print(fault)
    damaged = f", {len(found.faults)} damaged: {_done(found)}" if found.faults else ""
    print(f"{counted(found.sound, 'sound record')}{damaged}")
    if found.models:
        again = typed(["keep", *(key[:12] for key in found.models), "--results", args.results])
        print(f"their models are kept again by: {again}")
    return max(code, int(bool(found.faults)))


def _verify_cache() -> int:
    from benchmark.data.cache_check import verify_cache

    with shown_progress():
        faults = verify_cache()
    for fault in faults:
        print(fault)
    print(f"cache: {counted(len(faults), 'fault')}" if faults else "cache: sound")
    return int(bool(faults))


def _done(found: Verdict) -> str:
    """What became of the damaged ones."""
    aside = len(found.faults) - found.left
    which = "them" if found.again == aside else f"{found.again} of them, which are records"
    told = [f"{aside} set aside in quarantine/" + (f" (run again to recompute {which})" if found.again else "")]
    return ", ".join(told * (aside > 0) + [f"{found.left} left in place"] * (found.left > 0))
