"""Verdicts: a broken promise is told from one that could not be looked at, and the right one is blamed."""

from __future__ import annotations

import pytest

from benchmark.conformance.verdicts import Broken, CheckResult, Untested, blamed, error_text, promise, require


def test_a_promise_is_called_as_its_check() -> None:
    def check_keeps_its_word() -> None: ...

    assert promise(check_keeps_its_word) == "keeps_its_word"


def test_only_a_condition_that_fails_breaks() -> None:
    require(True, "not said")
    with pytest.raises(Broken, match=r"^said$"):
        require(False, "said")


def test_what_leaves_others_untested_breaks_the_one_that_is_blamed() -> None:
    cause = ZeroDivisionError("division by zero")

    def untested() -> None:
        raise Untested("fit failed") from cause

    with pytest.raises(Broken, match=r"^fit: ZeroDivisionError: division by zero$") as caught, blamed("fit"):
        untested()
    assert caught.value.__cause__ is cause
    with pytest.raises(Broken, match=r"^fit: nothing to fit on$"), blamed("fit"):
        raise Untested("nothing to fit on")


@pytest.mark.parametrize("error", [Broken("its own"), KeyError("x")])
def test_other_errors_pass_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, blamed("fit"):
        raise error
    assert caught.value is error


def test_a_row_is_tested_unless_it_says_so_and_shows_kind_and_words() -> None:
    assert CheckResult("x", kept=True).tested
    assert error_text(KeyError("x")) == "KeyError: 'x'"
    assert not issubclass(Untested, Broken)
