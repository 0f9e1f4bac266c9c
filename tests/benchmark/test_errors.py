"""Errors that are interface: of the built-in kinds people catch, and what the command line makes of them."""

from __future__ import annotations

import pickle

import pytest

from benchmark.commands import main
from benchmark.errors import InvalidCodes, TrainingFailed, UsageError


@pytest.mark.parametrize(
    ("kind", "base"), [(UsageError, ValueError), (InvalidCodes, ValueError), (TrainingFailed, RuntimeError)]
)
def test_they_are_caught_by_those_who_know_nothing_of_us_and_travel_between_processes(
    kind: type[Exception], base: type[Exception]
) -> None:
    with pytest.raises(base):
        raise kind("what, where, expected")
    back = pickle.loads(pickle.dumps(kind("what")))
    assert type(back) is kind
    assert str(back) == "what"


@pytest.mark.parametrize("kind", [UsageError, InvalidCodes])
def test_bad_input_is_one_line_and_exit_code_2(
    kind: type[Exception], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> int:
        raise kind("first line\nsecond line")

    monkeypatch.setattr("benchmark.commands.list.run", fails)
    assert main(["list"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: first line")
    assert len(told.err.splitlines()) == 1
