"""What can be said of a promise: kept, broken, or not tested because another one is broken."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Reason = str | None  # why a promise does not apply


class Broken(AssertionError):
    """A promise that a plugin does not keep."""


class Untested(AssertionError):
    """A promise that cannot be looked at, because another one is broken."""


@dataclass(frozen=True)
class CheckResult:
    """One promise: kept (a message says why it did not apply), broken, or not tested because another is broken."""

    name: str
    kept: bool
    message: str = ""
    tested: bool = True


def promise(check: Callable[..., Any]) -> str:
    """What a check is called in a row."""
    return check.__name__.removeprefix("check_")


def require(condition: bool, message: str) -> None:
    """Say what is broken, unless the condition holds."""
    if not condition:
        raise Broken(message)


def error_text(error: BaseException) -> str:
    """An error as a row shows it."""
    return f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def blamed(what: str) -> Iterator[None]:
    """What leaves other promises untested is what breaks this one."""
    try:
        yield
    except Untested as error:
        cause = error.__cause__
        raise Broken(f"{what}: {error if cause is None else error_text(cause)}") from cause
