"""Names for people and names for files: one line each, not too long, and no two alike in one report.

Titles come from plugins and from people's own files, so they may hold anything. Here they are made fit to stand in a
sentence, a legend or a file name; what is escaped for LaTeX, HTML or CSV is escaped where that is written.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import PurePath
from typing import NamedTuple, TypeVar

from benchmark.evaluation.metrics import map_name

LONGEST = 80  # letters of a title
LONGEST_REASON = 300
LONGEST_SLUG = 48  # three of them and a suffix fit into a file name
UNNAMED = "unnamed"
# They turn the rest of a line around, or hide.
DIRECTIONS = {0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF}
Key = TypeVar("Key", bound=Hashable)


def clean(text: object, longest: int = LONGEST) -> str:
    """One line without control, direction or unpaired surrogate characters; what is too long loses its middle."""
    kept = (" " if _breaks(character) else character for character in str(text) if ord(character) not in DIRECTIONS)
    return shortened(" ".join("".join(kept).split()), longest)


def _breaks(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs")


def shortened(text: str, longest: int) -> str:
    """At most `longest` characters, the middle left out: the ends tell names apart."""
    if len(text) <= longest:
        return text
    head = (longest - 1) * 2 // 3
    return f"{text[:head].rstrip()}…{text[head + 1 - longest :].lstrip()}"


def slug(text: str) -> str:
    """A file name of lower-case letters, digits and single dashes; a long one ends with the hash of all of it."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    found = "-".join(part for part in plain.split("-") if part) or UNNAMED
    return found if len(found) <= LONGEST_SLUG else f"{found[: LONGEST_SLUG - 9].rstrip('-')}-{short_hash(text, 8)}"


def short_hash(text: str, length: int = 6) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:length]


def unique_slugs(wanted: Mapping[Key, str]) -> dict[Key, str]:
    """Each thing's file name; those that would share one get the hash of what they are."""
    slugs = {one: slug(text) for one, text in wanted.items()}
    alike = {one for group in _clashes(slugs) for one in group}
    return {one: f"{name}-{short_hash(repr(one))}" if one in alike else name for one, name in slugs.items()}


def unique_names(names: Iterable[str]) -> list[str]:
    """The same names in order, a number behind each that has been taken."""
    taken: set[str] = set()
    found = []
    for name in names:
        free, number = name, 2
        while free in taken:
            free, number = f"{name}-{number}", number + 1
        taken.add(free)
        found.append(free)
    return found


def method_titles(titles: Mapping[str, str]) -> dict[str, str]:
    """Method -> title; methods that share a title show their names too."""
    labels = {name: title or clean(name) or UNNAMED for name, title in titles.items()}
    for group in _clashes(labels):
        labels |= {name: f"{labels[name]} ({clean(name, 40)})" for name in group}
    return _numbered(labels)


class DatasetIdentity(NamedTuple):
    """What makes two data sets two."""

    dataset: str
    protocol: str
    revision: str
    cutoff: int | None


class DatasetNames(NamedTuple):
    """What a data set is called: its title, and the words it was asked for by (`features:/a/feats.npz`)."""

    title: str
    spec: str = ""


def dataset_labels(found: Mapping[DatasetIdentity, DatasetNames]) -> dict[DatasetIdentity, str]:
    """A label for each data set, no two alike: the title, and only where titles clash what tells them apart."""
    labels = {one: names.title or clean(one.dataset) or UNNAMED for one, names in found.items()}
    for group in _clashes(labels):
        labels |= _path_endings({one: found[one].spec for one in group})
    tellers: tuple[Callable[[DatasetIdentity], str], ...] = (
        lambda one: clean(one.dataset, 40),
        lambda one: clean(one.protocol, 40),
        lambda one: "" if one.cutoff is None else map_name(one.cutoff),
        lambda one: clean(one.revision)[:6],
        lambda one: clean(one.revision),
    )
    for tell in tellers:
        for group in _clashes(labels):
            if len({tell(one) for one in group}) > 1:
                labels |= {one: f"{labels[one]}, {tell(one)}" for one in group if tell(one)}
    return _numbered(labels)


def _path_endings(specs: Mapping[DatasetIdentity, str]) -> dict[DatasetIdentity, str]:
    """The shortest endings that tell paths apart: a/feats and b/feats. Data without a path keep their titles."""
    paths = {one: PurePath(spec.partition(":")[2]) for one, spec in specs.items() if spec.partition(":")[2]}
    different = set(paths.values())
    if len(different) < 2:
        return {}
    bare = {path: path.with_suffix("") for path in different}
    names = bare if len(set(bare.values())) == len(different) else {path: path for path in different}
    for depth in range(1, 1 + max(len(path.parts) for path in different)):
        endings = {path: "/".join(names[path].parts[-depth:]) for path in different}
        if len(set(endings.values())) == len(different):
            break
    return {one: clean(endings[path]) or UNNAMED for one, path in paths.items()}


def _clashes(labels: Mapping[Key, str]) -> list[list[Key]]:
    """Groups of things that share a label."""
    groups: dict[str, list[Key]] = {}
    for one, label in labels.items():
        groups.setdefault(label, []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def _numbered(labels: dict[Key, str]) -> dict[Key, str]:
    """The last resort: a number behind what nothing else tells apart."""
    return dict(zip(labels, unique_names(labels.values()), strict=True))
