"""`run_all.py list [NAME]`: the methods and data sets there are, or the card of one; cards of methods as Markdown."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmark.cards.card import Card, about_dataset, card, cards_page, citations
from benchmark.commands import arguments
from benchmark.contracts import DatasetInfo, MethodInfo
from benchmark.errors import UsageError
from benchmark.program import typed
from benchmark.registry import datasets, get_method, methods
from benchmark.unseen import OPTIONS
from benchmark.wording import closest, counted

HELP = "methods and data sets, or the card of one: paper, formula, parameters; protocol, options"
WIDEST = 120
WHOLE: Any = {"break_long_words": False, "break_on_hyphens": False}  # a path or a formula is not cut


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="tell all about this method or data set")
    told = "write the cards of all methods, or of one, to this file instead (docs/methods.md is made so)"
    parser.add_argument("--markdown", type=Path, metavar="FILE", help=told)
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    arguments.load_plugins(args)
    chosen = [*methods] if args.name is None else [_named(args.name)]
    if args.markdown is not None:
        _write_cards(args.markdown, chosen)
        return 0
    for line in _everything() if args.name is None else _one(chosen[0], args.plugin):
        print(line)
    return 0


def _named(word: str) -> Any:
    """The class of a method or a data set; a method where both are called so."""
    name = word.partition(":")[0]
    if word in methods.names_unloaded() or word in methods.names():
        return get_method(word)
    if name in datasets.names():
        return datasets.get(name)
    close = closest(word, [*methods.names(), *datasets.names()])
    if close and close[0] in datasets.names():
        raise UsageError(f"list: '{word}' is neither a method nor a data set: did you mean '{close[0]}'?")
    return get_method(word)  # says what there is


def _write_cards(file: Path, chosen: Sequence[Any]) -> None:
    for cls in chosen:
        if isinstance(cls.info, DatasetInfo):
            raise UsageError(
                f"list --markdown: '{cls.info.name}' is a data set; name a method, or none for all methods"
            )
    cards = [card(cls) for cls in chosen]
    file.write_text(cards_page(cards, file.resolve().parent), encoding="utf-8")
    print(f"{counted(len(cards), 'card')} in {file}")


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


def _one(cls: Any, plugins: Sequence[str]) -> list[str]:
    """All about a method or a data set, and the commands that tell more; `plugins` are the files that were given."""
    info = cls.info
    own = [file for file in plugins if Path(file).resolve() == info.source]
    named = [info.name, *(["--plugin", *own] if own else [])]
    lines = _dataset(cls, named) if isinstance(info, DatasetInfo) else _method(card(cls))
    return lines + ([f"to cite it: {typed(['cite', *named])}"] if citations(cls) else [])


def _method(told: Card) -> list[str]:
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
    return lines + (_trained(info) if info.takes_training else [])


def _dataset(cls: Any, named: Sequence[str]) -> list[str]:
    """What a data set is, and what --option can change of it; what only its files tell is for `audit`."""
    info: DatasetInfo = cls.info
    spec = f"{info.name}:{info.takes}" if info.takes else info.name
    stand_in = f"; without --data-root, {info.stand_in} stands in" if info.stand_in else ""
    protocol, k = (getattr(cls, name, None) for name in ("protocol", "map_cutoff"))
    lines = [f"{spec}: {info.title}, a data set{stand_in}"]
    lines += _indented(entry.sentence() for entry in citations(cls))
    lines += _indented([f"protocol: {protocol}" if isinstance(protocol, str) else ""])
    lines += _indented([f"MAP@{k or 'all'}" if isinstance(k, int) else ""])
    lines += _indented([f"defined in {info.source}" if info.source else ""])
    lines += ["notes", *_indented(about_dataset(cls))] if about_dataset(cls) else []
    lines.append(f"options (--option {info.name}.NAME=VALUE)")
    lines += [f"  {name} = {default!r}" for name, default in info.parameters.items()]
    lines.append(f"  {', '.join(OPTIONS)}: of every data set, classes held out of training")
    return [*lines, f"its rows and labels: {typed(['audit', spec, *named[1:]])}"]


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
