"""How things are said to people, wherever they are said: counted things, and what a mistyped word may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
