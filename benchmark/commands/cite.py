"""`run_all.py cite [NAME ...]`: BibTeX of methods, data sets and hashbench itself."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import sys
from collections.abc import Sequence
from typing import Any

import benchmark
from benchmark.bibtex import Citation, references, separated
from benchmark.cards import citations
from benchmark.commands import arguments
from benchmark.errors import UsageError
from benchmark.registry import datasets, methods

HELP = "BibTeX of methods, data sets and hashbench itself"
ITSELF = "hashbench"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    told = "methods, groups of them ('paper') or data sets; 'hashbench' is this suite (default: all of these)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=told)
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    arguments.load_plugins(args)
    names = args.names or [ITSELF, *methods.names(), *datasets.names()]
    plugins = [one for name in names if name != ITSELF for one in _plugins(name)]
    found = [itself()] if ITSELF in names else []
    found += [entry for plugin in plugins for entry in citations(plugin)]
    print(references(found), end="")
    for line in _missing([plugin for plugin in plugins if not citations(plugin)]):
        print(line, file=sys.stderr)
    return 0


def itself() -> Citation:
    """This suite, in this version."""
    entry = separated(benchmark.__doc__ or "", ITSELF)[1][0]
    return dataclasses.replace(entry, fields={**entry.fields, "note": f"Version {benchmark.__version__}"})


def _plugins(name: str) -> Sequence[Any]:
    """The classes that a name stands for."""
    from benchmark.execution.grid import method_names

    words = {"all", *(group for cls in methods for group in cls.info.groups), *methods.names()}
    if name in words:
        return [methods.get(one) for one in method_names([name])]
    if name in datasets.names():
        return [datasets.get(name)]
    known = sorted({*words, *datasets.names(), ITSELF})
    close = difflib.get_close_matches(name.lower(), known, n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known: {', '.join(known)}"
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
