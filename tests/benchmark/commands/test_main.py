"""The last resorts of the command line: whatever happens, a user gets one line, and a bug gets its traceback."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from benchmark import UsageError
from benchmark.commands import list as list_command
from benchmark.commands.main import one_line


def raising(error: BaseException) -> Callable[[Any], int]:
    def run(args: Any) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (UsageError("one\ntwo\x1b[2J\u202e"), r"one\ntwo\x1b[2J\u202e"),
        (NotADirectoryError(20, "Not a directory", "x.npz/cells"), "x.npz/cells: Not a directory"),
        (OSError(18, "Invalid cross-device link", "a", None, "b"), "a and b: Invalid cross-device link"),
        (OSError("no words of the system"), "no words of the system"),
        (TimeoutError(), "TimeoutError"),
        (MemoryError("11.2 GiB"), "not enough memory for this (11.2 GiB)"),
        (MemoryError(), "not enough memory for this;"),
    ],
)
def test_what_no_command_put_into_words_is_one_line(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, error: BaseException, told: str
) -> None:
    """E: an OSError that reaches main names its file; no message breaks its line or moves the cursor."""
    monkeypatch.setattr(list_command, "run", raising(error))
    code, out, err = command("list")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert told in err
    assert err.count("\n") == 1


def test_a_bug_keeps_its_traceback_and_is_called_one(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_command, "run", raising(KeyError("ours")))
    code, _out, err = command("list", "a b")
    assert code == 1
    assert err.startswith("Traceback")
    last = err.splitlines()[-1]
    assert "bug of hashbench" in last
    assert last.endswith("hashbench list 'a b'")


def test_a_warning_is_one_line_without_our_code(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken plugin of some installed package was told with two lines of the registry's source."""

    def run(args: Any) -> int:
        print(warnings.formatwarning("plugin x cannot\nbe imported", UserWarning, "registry.py", 84), end="")
        return 0

    before = warnings.formatwarning
    monkeypatch.setattr(list_command, "run", run)
    assert command("list") == (0, "warning: plugin x cannot\\nbe imported\n", "")
    assert warnings.formatwarning is before


def test_an_interrupted_command(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_command, "run", raising(KeyboardInterrupt()))
    assert command("list") == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("started", "shown"),
    [
        ("run_all.py", "python run_all.py"),
        ("/usr/bin/hashbench", "hashbench"),
        ("/lib/benchmark/__main__.py", "python -m benchmark"),
        ("pytest", "hashbench"),
    ],
)
def test_help_and_errors_use_the_name_that_was_typed(
    command: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    started: str,
    shown: str,
) -> None:
    monkeypatch.setattr("sys.argv", [started])
    assert f"see '{shown} run --help'" in command("--frobnicate")[2]
    with pytest.raises(SystemExit):
        command("list", "--help")
    assert f"usage: {shown} list" in capsys.readouterr().out


def test_without_a_command_the_grid_is_run(command: Callable[..., Any]) -> None:
    assert "did you mean 'itq'" in command("--methods", "itqq")[2]


def test_a_mistyped_command_is_no_flag_of_a_run(command: Callable[..., Any]) -> None:
    assert command("repotr") == (2, "", "error: unknown command 'repotr': did you mean 'report'?\n")
    code, out, err = command("coco", "--bits", "8")
    assert (code, out) == (2, "")
    assert err.startswith("error: unknown command 'coco': known: run, list, cite,")


@pytest.mark.parametrize("text", ["plain", "жук ünïcode", "tab\tnul\0", "\udcff", "\u2028"])
def test_one_line_is_printable_and_loses_nothing(text: str) -> None:
    shown = one_line(text)
    assert shown.isprintable()
    assert shown.encode().decode("unicode_escape" if not text.isprintable() else "utf-8") == text


def test_a_system_that_cells_cannot_run_on_is_told_so(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    told = "error: hashbench runs cells on Linux and macOS; on Windows run it in WSL, which is Linux\n"
    assert command("list") == (2, "", told)
