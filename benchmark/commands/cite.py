"""`run_all.py cite [NAME ...]`: BibTeX of methods, data sets and hashbench itself, or of what some results used."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark.cards.bibtex import references
from benchmark.cards.card import citations, suite_citation
from benchmark.commands import arguments
from benchmark.errors import UsageError
from benchmark.registry import datasets, methods
from benchmark.wording import closest

HELP = "BibTeX of methods, data sets and hashbench itself"
ITSELF = "hashbench"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    told = "methods, groups of them ('paper') or data sets; 'hashbench' is this suite (default: all of these)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=told)
    used = "instead: hashbench, and what the results in this folder used"
    parser.add_argument("--results", type=Path, metavar="DIR", help=used)
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    arguments.load_plugins(args)
    if args.names and args.results is not None:
        raise UsageError("cite: names and --results contradict each other; give one of them")
    names = args.names or [ITSELF, *(_used(args) if args.results else [*methods.names(), *datasets.names()])]
    plugins = [one for name in names if name != ITSELF for one in _plugins(name)]
    found = [suite_citation()] if ITSELF in names else []
    found += [entry for plugin in plugins for entry in citations(plugin)]
    print(references(found), end="")
    for line in _missing([plugin for plugin in plugins if not citations(plugin)]):
        print(line, file=sys.stderr)
    return 0


def _used(args: argparse.Namespace) -> list[str]:
    """Methods, then data sets, of all results; those of plugins that were not given are told and left out."""
    from benchmark.execution.store import Store
    from benchmark.report.selection import read_records

    arguments.check_results(args)
    cells = [record.cell for record in read_records(Store(args.results))[0]]
    names = [*sorted({cell["method"] for cell in cells}), *sorted({cell["dataset"] for cell in cells})]
    known = {*methods.names(), *datasets.names()}
    strange = [name for name in names if name not in known]
    if strange:
        print(f"not known here: {', '.join(strange)}", file=sys.stderr)
    return [name for name in names if name in known]


def _plugins(name: str) -> Sequence[Any]:
    """The classes that a name stands for."""
    from benchmark.execution.grid import method_names

    words = {"all", *(group for cls in methods for group in cls.info.groups), *methods.names()}
    if name in words:
        return [methods.get(one) for one in method_names([name])]
    if name in datasets.names():
        return [datasets.get(name)]
    known = sorted({*words, *datasets.names(), ITSELF})
    close = closest(name, known, 3)
    hint = (
        f"did you mean {' or '.join(map(repr, close))}?"
        if close
        else f"known: {', '.join(known)}; one in a file: --plugin FILE"
    )
    raise UsageError(f"cite: '{name}' is neither a method nor a data set: {hint}")


def _missing(plugins: Sequence[Any]) -> list[str]:
    """What there is no entry for: nothing to cite, or an entry that its author left out."""
    without = [plugin.info.name for plugin in plugins if not getattr(plugin.info, "paper", "")]
    lines = [f"nothing to cite: {', '.join(without)}"] if without else []
    return lines + [
        f"no BibTeX: {plugin.info.name} ({plugin.info.paper}); it belongs into the docstring of its class"
        for plugin in plugins
        if getattr(plugin.info, "paper", "")
    ]
