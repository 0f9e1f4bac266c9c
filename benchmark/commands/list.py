"""`run_all.py list [METHOD]`: the methods and data sets there are, or the card of one method; cards as Markdown."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmark.cards.card import Card, card, cards_page
from benchmark.commands import arguments
from benchmark.contracts import MethodInfo
from benchmark.registry import datasets, get_method, methods

HELP = "methods and data sets, or the card of one method: paper, formula, parameters"
WIDEST = 120
WHOLE: Any = {"break_long_words": False, "break_on_hyphens": False}  # a path or a formula is not cut


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("method", nargs="?", metavar="METHOD", help="tell all about this one")
    told = "write the cards of all methods, or of METHOD, to this file instead (docs/methods.md is made so)"
    parser.add_argument("--markdown", type=Path, metavar="FILE", help=told)
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    arguments.load_plugins(args)
    chosen = [*methods] if args.method is None else [get_method(args.method)]
    if args.markdown is not None:
        cards = [card(cls) for cls in chosen]
        args.markdown.write_text(cards_page(cards, args.markdown.resolve().parent), encoding="utf-8")
        print(f"{len(cards)} {'card' if len(cards) == 1 else 'cards'} in {args.markdown}")
        return 0
    for line in _everything() if args.method is None else _one(card(chosen[0])):
        print(line)
    return 0


def _everything() -> list[str]:
    infos = [cls.info for cls in methods]
    told = [(one.name, one.title, one.family, f"needs {one.needs}", " ".join(one.groups), one.paper) for one in infos]
    sets = [cls.info for cls in datasets]
    named = [
        (
            f"{one.name}:{one.takes}" if one.takes else one.name,
            one.title,
            f"(without --data-root: {one.stand_in})" if one.stand_in else "",
        )
        for one in sets
    ]
    return ["methods", *_columns(told), "datasets", *_columns(named)]


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line each, every column as wide as its widest word."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _one(told: Card) -> list[str]:
    """What a method is, and what --set and --sweep can change of it."""
    info = told.info
    lines = [f"{info.name}: {info.title}, {info.family}, on {info.input}, needs {info.needs}"]
    lines += _indented([info.paper, *(entry.sentence() for entry in told.citations)])
    lines += _indented([f"sees {told.sees}", f"defined in {info.source}" if info.source else ""])
    lines += ["formula", *_indented([told.formula])] if told.formula else []
    lines += ["notes", *_indented(told.notes)] if told.notes else []
    lines += ["differs from the original", *_indented([told.differs])] if told.differs else []
    lines.append(f"parameters (--set {info.name}.NAME=VALUE)" if info.parameters else "no parameters")
    lines += [f"  {line}" for name in info.parameters for line in _parameter(info, name)]
    lines += _trained(info) if info.takes_training else []
    return lines + ([f"to cite it: cite {info.name}"] if told.citations else [])


def _indented(paragraphs: Iterable[str]) -> list[str]:
    """As wide as the terminal is, and no wider than text should be."""
    width = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST)
    return [
        line
        for one in paragraphs
        for line in textwrap.wrap(one, max(width, 20), initial_indent="  ", subsequent_indent="  ", **WHOLE)
    ]


def _trained(info: MethodInfo) -> list[str]:
    """What may be set of a training that the profile else decides."""
    from benchmark.deep.profile import load_profile
    from benchmark.execution.grid import TRAINED, default_profile
    from benchmark.execution.search_space import search_space

    profile = load_profile(default_profile())
    space = search_space(info, profile.training)
    lines = [f"of its training (set alike; the values are those of the profile {profile.name})"]
    for name in (one for one in TRAINED if one in space):
        lines += [f"  {name} = {getattr(profile.training, name)!r}", _searched(space[name])]
    return lines


def _parameter(info: MethodInfo, name: str) -> list[str]:
    """One line, and a second where values are worth searching."""
    told = info.declared[name]
    lines = [f"{name} = {told.default!r} ({told.expected})" + (f": {told.doc}" if told.doc else "")]
    if told.search:
        lines.append(_searched(told.search)[2:])
    return lines


def _searched(values: Sequence[Any]) -> str:
    return f"      tune searches {', '.join(map(repr, values))}"
