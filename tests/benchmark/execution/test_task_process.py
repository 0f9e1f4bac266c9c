"""What a task tells of its steps while it is at work."""

from __future__ import annotations

import time

import pytest

from benchmark.execution.supervise import Limits, supervise
from benchmark.execution.task_process import raised, tell_runner

NO_LIMITS = Limits()


def test_a_task_tells_of_its_steps_and_not_too_often() -> None:
    code = "from benchmark.execution.supervise import tell_runner\nimport time\nbegin = time.monotonic()\nnumber = 0\n"
    code += "while time.monotonic() - begin < 1:\n    number += 1\n    tell_runner('counting', number, 10**9)\n"
    code += "tell_runner('over')"
    heard: list[tuple[str, int, int | None]] = []
    ending = supervise(exec, code, NO_LIMITS, told=lambda *step: heard.append(step))
    assert ending.status == "ok"
    assert heard[-1] == ("over", 0, None)
    counts = [done for what, done, total in heard[:-1] if (what, total) == ("counting", 10**9)]
    assert len(counts) == len(heard) - 1
    assert 2 <= len(counts) <= 6
    assert counts == sorted(set(counts))


def test_telling_outside_a_task_and_in_its_children_is_no_error() -> None:
    tell_runner("to nobody", 1, 2)
    code = "import os\nfrom benchmark.execution.supervise import tell_runner\n"
    code += "if os.fork() == 0:\n    tell_runner('child')\n    os._exit(0)\nos.wait()"
    heard: list[str] = []
    assert supervise(exec, code, NO_LIMITS, told=lambda what, *_: heard.append(what)).status == "ok"
    assert heard == []


def test_a_silent_task_is_said_to_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark.execution.supervise.ALIVE_SECONDS", 0.2)
    heard: list[tuple[str, int, int | None]] = []
    supervise(time.sleep, 1, NO_LIMITS, told=lambda *step: heard.append(step))
    assert set(heard) == {("", 0, None)}
    assert len(heard) >= 2


def test_a_task_that_never_stops_telling_is_stopped() -> None:
    code = "from benchmark.execution.supervise import tell_runner\nnumber = 0\n"
    code += "while True:\n    number += 1\n    tell_runner(str(number))"
    assert supervise(exec, code, Limits(seconds=0.5), told=lambda *_: None).status == "timeout"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_exception_in_a_sentence() -> None:
    assert raised(Mute()) == ("failed", "Mute", "Mute: (its message cannot be had)")
    assert raised(ValueError("two\nlines")) == ("failed", "ValueError", "ValueError: two lines")
    assert raised(KeyError()) == ("failed", "KeyError", "KeyError")
