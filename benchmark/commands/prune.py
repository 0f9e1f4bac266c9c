"""`run_all.py prune`: what results and cache weigh; with kinds, what of them could go; with --yes it goes."""

from __future__ import annotations

import argparse
import re

from benchmark.commands import arguments
from benchmark.wording import counted

HELP = "what results and cache weigh, and drop models, codes, stale or failed records, and caches"
DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
SHOWN = 20  # things that are named one by one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_results(parser)
    parser.add_argument("--models", action="store_true", help="fitted methods; records and codes stay")
    parser.add_argument("--codes", action="store_true", help="codes of records; scores and curves stay")
    parser.add_argument("--stale", action="store_true", help="records that a run today would not make")
    parser.add_argument("--failed", action="store_true", help="records of cells that failed")
    parser.add_argument(
        "--caches", action="store_true", help="features, and codes of searched folders, in the cache (HASHBENCH_CACHE)"
    )
    parser.add_argument("--older-than", type=age, metavar="AGE", help="only what is older, e.g. 30d or 12h")
    told = "only as much, the oldest first, as brings these kinds under a size, e.g. 2G"
    parser.add_argument("--keep-under", type=arguments.size_in_bytes, metavar="SIZE", help=told)
    parser.add_argument("--yes", action="store_true", help="drop it; without, it is only said")
    arguments.add_plugin(parser)


def age(text: str) -> float:
    """'30d', '12h', '2w': seconds."""
    found = re.fullmatch(r"(\d{1,6})([hdwmy])", text.strip().lower(), re.ASCII)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age such as 30d, 12h or 2w")
    return int(found[1]) * (3600.0 if found[2] == "h" else 86400.0 * DAYS[found[2]])


def run(args: argparse.Namespace) -> int:
    from benchmark.errors import UsageError
    from benchmark.execution.pruning import KINDS, chosen_to_go, droppable, not_checked, weighed
    from benchmark.execution.store import Store

    arguments.check_results(args)
    arguments.load_plugins(args)
    store, kinds = Store(args.results), [kind for kind in KINDS if getattr(args, kind)]
    if not kinds:
        if args.yes or args.older_than or args.keep_under:
            raise UsageError(f"prune: nothing is named to drop; add one of {', '.join(f'--{kind}' for kind in KINDS)}")
        for kind, (number, size) in weighed(store).items():
            print(f"{kind:18}{number or '':>8}  {arguments.size_words(size):>11}")
        print(f"to drop some of it, add {', '.join(f'--{kind}' for kind in KINDS)}; nothing goes without --yes")
        return 0
    chosen = chosen_to_go(droppable(store, kinds), args.older_than, args.keep_under)
    for one in chosen[:SHOWN]:
        print(f"{arguments.size_words(one.bytes):>11}  {one.what}")
    if len(chosen) > SHOWN:
        print(f"             and {len(chosen) - SHOWN} more")
    for line in not_checked(store.records()) if "stale" in kinds else []:
        print(line)
    total = f"{counted(len(chosen), 'thing')}, {arguments.size_words(sum(one.bytes for one in chosen))}"
    if not args.yes:
        print(f"{total}, would go; to drop them, add --yes" if chosen else "nothing to drop")
        return 0
    held = [one for one in chosen if not one.drop()]
    for one in held:
        print(f"left, since a run is at it: {one.what}")
    print(f"{total}, dropped" if not held else f"{len(chosen) - len(held)} of {total}, dropped")
    return int(bool(held))
