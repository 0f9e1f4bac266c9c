"""How things are said to people, wherever they are said: counted things, lists in sentences, and what
a mistyped word may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

NAMED = 6  # of a list, one by one


def closest(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Of the known words those that one may have meant, the likest first: two letters that changed places before all
    else, which difflib takes for as far off as other letters."""
    wanted, names = word.lower(), list(known)
    swapped = {f"{wanted[:at]}{wanted[at + 1]}{wanted[at]}{wanted[at + 2 :]}" for at in range(len(wanted) - 1)}
    close = [*(name for name in names if name in swapped), *difflib.get_close_matches(wanted, names, n=most)]
    return list(dict.fromkeys(close))[:most]


def counted(number: int, thing: str, several: str = "") -> str:
    """'1 record', '2 records', '1,000 queries' (which needs `several`, having no plain s)."""
    return f"{number:,} {thing if number == 1 else several or f'{thing}s'}"


def some_listed(words: Sequence[str]) -> str:
    """The first of them by name; of more, the number."""
    more = [f"{len(words) - NAMED} more"] if len(words) > NAMED else []
    return listed([*words[:NAMED], *more])


def listed(words: Sequence[object]) -> str:
    """`a, b and c`."""
    texts = [str(word) for word in words]
    return " and ".join(part for part in (", ".join(texts[:-1]), texts[-1] if texts else "") if part)


def sentence(words: str) -> str:
    """With a capital at the beginning, all else as it is."""
    return f"{words[:1].upper()}{words[1:]}"
