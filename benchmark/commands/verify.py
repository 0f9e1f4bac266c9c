"""`run_all.py verify`: every stored file against its hash, and with `--cache` everything in the cache too."""

from __future__ import annotations

import argparse

from benchmark.commands import arguments
from benchmark.commands.bars import shown_progress
from benchmark.execution.store import Store

HELP = "check every stored file against its hash"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_results(parser)
    parser.add_argument("--cache", action="store_true", help="also read everything in the cache (HASHBENCH_CACHE)")
    parser.add_argument("--keep", action="store_true", help="only report damage, set nothing aside")


def run(args: argparse.Namespace) -> int:
    code = _verify_cache() if args.cache else 0
    if args.cache and not args.results.exists():
        return code
    arguments.check_results(args)
    sound, faults, left = Store(args.results).verify(quarantine=not args.keep)
    for fault in faults:
        print(fault)
    print(f"{sound} sound records" + (f", {len(faults)} damaged: {_done(len(faults) - left, left)}" if faults else ""))
    return max(code, int(bool(faults)))


def _verify_cache() -> int:
    from benchmark.data.cache_check import verify_cache

    with shown_progress():
        faults = verify_cache()
    for fault in faults:
        print(fault)
    print(f"cache: {len(faults)} faults" if faults else "cache: sound")
    return int(bool(faults))


def _done(aside: int, left: int) -> str:
    """What became of the damaged ones."""
    told = [f"{aside} set aside in quarantine/ (run again to recompute them)"] if aside else []
    return ", ".join(told + ([f"{left} left in place"] if left else []))
