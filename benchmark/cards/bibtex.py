"""BibTeX entries that stand in other text, such as a docstring: found, taken apart, written one field a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchmark.errors import UsageError

START = re.compile(r"^[ \t]*@(\w+)\{\s*([^\s,{}=]+)\s*,", re.MULTILINE)
FIELD = re.compile(r"[\s,]*([A-Za-z][\w-]*)\s*=\s*")
VENUES = ("booktitle", "journal", "school", "institution", "publisher", "howpublished")


@dataclass(frozen=True)
class Citation:
    """One entry: `@kind{key, name = {value}, ...}`, values without their outer braces, in the order given."""

    kind: str
    key: str
    fields: Mapping[str, str]

    def bibtex(self) -> str:
        """The entry as a file of references has it."""
        width = max(map(len, self.fields), default=0)
        lines = [f"  {name:{width}} = {{{value}}}," for name, value in self.fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def sentence(self) -> str:
        """The same for people: authors, title, venue, year, as far as they are there."""
        venue = next((self.fields[name] for name in VENUES if name in self.fields), "")
        placed = ", ".join(part for part in (venue, self.fields.get("year", "")) if part)
        told = ". ".join(part for part in (self._authors(), self.fields.get("title", ""), placed) if part)
        return re.sub(r"[{}]", "", told) + "."

    def _authors(self) -> str:
        """'Doe, Jane and Roe, R.' -> 'Jane Doe, R. Roe'."""
        names = [name.strip() for name in self.fields.get("author", "").split(" and ")]
        return ", ".join(" ".join(reversed(re.split(r",\s*", name, maxsplit=1))) for name in names if name)


def references(citations: Iterable[Citation]) -> str:
    """The text of a file of references: each key once, as several methods may share a paper."""
    once = {one.key: one for one in citations}
    return "".join(f"{one.bibtex()}\n\n" for one in once.values()).removesuffix("\n")


def separated(text: str, where: str) -> tuple[str, list[Citation]]:
    """The text without its entries, and the entries; `where` it stands, for the message about one that never ends."""
    prose, entries, end = "", [], 0
    for start in START.finditer(text):
        if start.start() < end:
            continue  # a line inside the entry before
        prose += text[end : start.start()]
        end = _closed(text, start.end(), f"{where}: the BibTeX entry '{start[2]}'")
        fields = {name.lower(): " ".join(value.split()) for name, value in _fields(text[start.end() : end - 1])}
        entries.append(Citation(start[1].lower(), start[2], fields))
    return prose + text[end:], entries


def _closed(text: str, place: int, what: str) -> int:
    """Where the brace that was open before `place` is closed; just behind it."""
    depth = 1
    for brace in re.compile(r"(?<!\\)[{}]").finditer(text, place):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    raise UsageError(f"{what} has no closing brace")


def _fields(body: str) -> Iterator[tuple[str, str]]:
    """(name, value) of `title={A {B} C}, year=2016, note="x"`."""
    place = 0
    while found := FIELD.match(body, place):
        place = found.end()
        opening = body[place : place + 1]
        if opening == "{":
            end = _closed(body, place + 1, found[1])
            yield found[1], body[place + 1 : end - 1]
        elif opening == '"':
            end = body.find('"', place + 1) + 1 or len(body)
            yield found[1], body[place + 1 : end - 1]
        else:
            end = body.find(",", place) if "," in body[place:] else len(body)
            yield found[1], body[place:end].strip()
        place = end
