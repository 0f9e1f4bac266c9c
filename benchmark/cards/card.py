"""What a method says of itself, put on a card; all of it stands in its class.

The docstring's first paragraph is the formula, the one that begins with "Differs:" tells what differs from the original
and why, BibTeX entries are what to cite, and all else are notes. Family, paper, what it may see and the parameters are
what registration knows. A part that an author left out is empty on the card. Data sets are cited in the same way.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from benchmark.cards.bibtex import Citation, separated
from benchmark.contracts import Family, MethodInfo, Parameter
from benchmark.program import SCRIPT

DIFFERS = "Differs:"
SEEN_INPUT = {"images": "images (where there are none, features)"}
SEEN_NEEDS = {
    "nothing": "no labels",
    "similarity": "which pairs are similar",
    "triplets": "triplets, i more like j than like k",
    "labels": "class labels",
}
COLUMNS = ("name", "title", "year", "family", "needs", "in a line")
MARKDOWN = re.compile(r"([\\`*_\[\]<>|$~])")  # what means something there
REMADE = f"{SCRIPT} list --markdown docs/methods.md"


@dataclass(frozen=True)
class Card:
    """One method, for people. Paragraphs are one line each."""

    info: MethodInfo
    summary: str  # a sentence
    formula: str
    notes: tuple[str, ...]
    differs: str  # from the original, and why
    citations: tuple[Citation, ...]

    @property
    def year(self) -> str:
        """That of the paper; of the first where there are several."""
        told = self.citations[0].fields.get("year", "") if self.citations else self.info.paper
        found = re.search(r"\b(1[89]|2\d)\d\d\b", told)
        return found[0] if found else ""

    @property
    def sees(self) -> str:
        """What is shown to it; all else is withheld."""
        info = self.info
        return f"{SEEN_INPUT.get(info.input, info.input)}; {SEEN_NEEDS.get(info.needs, info.needs)}"


def card(cls: Any) -> Card:
    """The card of a registered method's class."""
    prose, _ = _docstring(cls)
    formula, *rest = _paragraphs(prose) or [""]
    differs = [one.removeprefix(DIFFERS).strip() for one in rest if one.startswith(DIFFERS)]
    notes = tuple(one for one in rest if not one.startswith(DIFFERS))
    return Card(cls.info, _summary(cls) or _sentence(formula), formula, notes, " ".join(differs), citations(cls))


def about_dataset(cls: Any) -> tuple[str, ...]:
    """What the author of a registered data set wrote of it, paragraph by paragraph: in its file, unless that holds
    methods too, and above its class."""
    module = sys.modules.get(cls.__module__)
    infos = [vars(one).get("info") for one in vars(module).values() if isinstance(one, type)] if module else []
    own_file = not any(isinstance(info, MethodInfo) for info in infos)
    texts = [module.__doc__ if module is not None and own_file else None, vars(cls).get("__doc__")]
    prose = [separated(inspect.cleandoc(text), cls.__qualname__)[0] for text in texts if text]
    return tuple(paragraph for text in prose for paragraph in _paragraphs(text))


def citations(cls: Any) -> tuple[Citation, ...]:
    """What to cite for a registered method or data set: the entries in its docstring.

    A class without any takes those of the nearest one above it that was registered with the same paper.
    """
    paper = getattr(cls.info, "paper", "")
    for base in cls.__mro__:
        info = vars(base).get("info")
        found = _docstring(base)[1] if info is not None and getattr(info, "paper", "") == paper else []
        if found:
            return tuple(found)
    return ()


def suite_citation() -> Citation:
    """This suite, in this version: the entry in the docstring of the package that this file is part of."""
    package = sys.modules[__name__.partition(".")[0]]
    entry = separated(package.__doc__ or "", package.__name__)[1][0]
    return replace(entry, fields={**entry.fields, "note": f"Version {vars(package)['__version__']}"})


def _docstring(cls: type) -> tuple[str, list[Citation]]:
    return separated(inspect.cleandoc(cls.__doc__ or ""), f"docstring of {cls.__qualname__}")


def _paragraphs(text: str) -> list[str]:
    return [" ".join(one.split()) for one in re.split(r"\n\s*\n", text) if one.strip()]


def _sentence(text: str) -> str:
    """The first one: 'eq. 7' does not end it."""
    return re.split(r"(?<=\.)\s(?=[A-Z])", text, maxsplit=1)[0]


def _summary(cls: type) -> str:
    """The file's first paragraph, where the file holds this method alone."""
    module = sys.modules.get(cls.__module__)
    registered = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == cls.__module__]
    alone = sum("info" in vars(one) for one in registered) == 1
    text = _paragraphs(inspect.cleandoc(module.__doc__)) if module is not None and module.__doc__ and alone else []
    return text[0] if text else ""


# All cards on one page


def cards_page(cards: Iterable[Card], folder: Path) -> str:
    """Markdown: a table of all methods, then a card each, by family; links to sources are relative to `folder`."""
    order = get_args(Family)
    sorted_cards = sorted(cards, key=lambda one: (order.index(one.info.family), one.info.name))
    parts = [
        "# Methods",
        f"Made from the classes themselves by `{REMADE}`: edit those, not this page. What a method may see is all that "
        "it is shown; the rest is withheld from it. `tune` chooses among the values in the last column, and of deep "
        f"methods the learning rate and the decay of weights besides. BibTeX: `{SCRIPT} cite NAME`. To add a method: "
        "[add-a-method.md](add-a-method.md).",
        _table(COLUMNS, map(_row, sorted_cards)),
    ]
    for family in order:
        mine = [one for one in sorted_cards if one.info.family == family]
        if mine:
            parts += [f"## {family.capitalize()}", *(_markdown(one, folder) for one in mine)]
    return "\n\n".join(parts) + "\n"


def _row(one: Card) -> tuple[str, ...]:
    info = one.info
    return (f"[{info.name}](#{info.name})", _plain(info.title), one.year, info.family, info.needs, _plain(one.summary))


def _markdown(one: Card, folder: Path) -> str:
    info = one.info
    source = f"; [source]({Path(os.path.relpath(info.source, folder)).as_posix()})" if info.source else ""
    groups = f"; group {', '.join(info.groups)}" if info.groups else ""
    facts = [f"**{_plain(info.title)}**, {info.family}{groups}{source}.", f"Sees {one.sees}."]
    papers = [_plain(entry.sentence()) for entry in one.citations] or ([_plain(info.paper)] if info.paper else [])
    parts = [
        f"### {info.name}",
        " ".join(facts),
        *(f"*Paper:* {paper}" for paper in papers),
        f"> {_plain(one.formula)}" if one.formula else "",
        *map(_plain, one.notes),
        f"*Differs:* {_plain(one.differs)}" if one.differs else "",
        _parameters(info.declared) if info.declared else "No parameters.",
    ]
    return "\n\n".join(part for part in parts if part)


def _parameters(declared: Mapping[str, Parameter]) -> str:
    rows = [
        (f"`{one.name}`", f"`{one.default!r}`", _plain(one.doc), ", ".join(f"`{value!r}`" for value in one.search))
        for one in declared.values()
    ]
    return _table(("parameter", "default", "meaning, and where the default is from", "searched"), rows)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Text that Markdown leaves as it is, but for `code`."""
    parts = re.split(r"(`[^`]+`)", text)  # every second one is code
    return "".join(part if place % 2 else MARKDOWN.sub(r"\\\1", part) for place, part in enumerate(parts))
