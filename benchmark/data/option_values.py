"""Values given by `--option DATASET.NAME=VALUE`: each is what its data set expects, or one line that says so."""

from __future__ import annotations

from typing import Any

from benchmark.errors import UsageError

MOST = 10**9  # beyond the rows of any data set


def whole_number(option: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """A whole number between `least` and `most`; `option` is DATASET.NAME, for the error."""
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not least <= value <= most:
        raise UsageError(f"{option}={value!r}: expected a whole number from {least:,} to {most:,}")
    return int(value)


def cut_off(option: str, value: Any) -> int:
    """k of MAP@k; "all", or 0, for the whole database, which is told by 0 from here on."""
    try:
        return 0 if value == "all" else whole_number(option, value)
    except UsageError as error:
        raise UsageError(f"{error}, or all") from None


def yes_or_no(option: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{option}={value!r}: expected true or false")
    return value


def word(option: str, value: Any, *known: str) -> str:
    """A text; one of the known ones where some are given."""
    if not isinstance(value, str) or (known and value not in known):
        raise UsageError(f"{option}={value!r}: expected {' or '.join(known) or 'a word'}")
    return value
