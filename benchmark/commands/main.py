"""The command line: words in, exit code out. One file per command beside this one, each with HELP, add_arguments, run.

Without a command the grid is run. Exit codes: 0 all ok, 1 some cells failed, 2 bad input (one line, nothing
written), 130 interrupted. Everything is parsed and checked before any work starts.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from benchmark import __version__
from benchmark.commands import (
    add_codes,
    audit,
    check,
    cite,
    compare,
    config_file,
    encode,
    keep,
    list,
    merge,
    prepare,
    prune,
    report,
    run,
    score,
    search,
    serve,
    tune,
    verify,
    why,
)
from benchmark.errors import InvalidCodes, UsageError
from benchmark.program import program, typed
from benchmark.wording import closest

COMMANDS: dict[str, Any] = {
    "run": run,
    "list": list,
    "cite": cite,
    "report": report,
    "check": check,
    "audit": audit,
    "verify": verify,
    "why": why,
    "score": score,
    "add-codes": add_codes,
    "search": search,
    "serve": serve,
    "prepare": prepare,
    "compare": compare,
    "merge": merge,
    "tune": tune,
    "keep": keep,
    "encode": encode,
    "prune": prune,
}


class Parser(argparse.ArgumentParser):
    """argparse with our error format and exit code."""

    def error(self, message: str) -> Any:
        raise UsageError(f"{message}; see '{self.prog} --help'")


def main(words: Sequence[str] | None = None) -> int:
    """Entry point of the script `hashbench`, of run_all.py and of `python -m benchmark`."""
    words = [*(sys.argv[1:] if words is None else words)]
    _show_any_name()
    try:
        _check_system()
        full = _with_file(_with_default_action(words))
        parsed, strange = build_parser(full[0]).parse_known_args(full)
        if strange:
            parsed.parser.error(f"unrecognized arguments: {' '.join(strange)}")
        parsed.words = words
        with _warnings_in_a_line():
            return int(parsed.handler(parsed))
    except KeyboardInterrupt as stop:  # what is kept, and how to go on, where a command says so
        print("; ".join(["interrupted", *map(str, stop.args)]), file=sys.stderr)
        return 130
    except BrokenPipeError:  # `run_all.py list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (UsageError, InvalidCodes, OSError, MemoryError) as error:
        print(f"error: {one_line(_sentence(error))}", file=sys.stderr)
        return 2
    except Exception:
        traceback.print_exc()
        told = "please report it with the lines above and these words"
        print(f"this is a bug of hashbench {__version__}: {told}: {one_line(typed(words))}", file=sys.stderr)
        return 1


def _check_system() -> None:
    """Cells are forked and locked in ways of Unix; the evaluator from Python runs anywhere."""
    if sys.platform == "win32":
        raise UsageError("hashbench runs cells on Linux and macOS; on Windows run it in WSL, which is Linux")


def _sentence(error: BaseException) -> str:
    """The last resort for what no command has put into words itself: the file, and what the system says of it."""
    if isinstance(error, MemoryError):
        told = f" ({error})" if str(error) else ""
        return f"there is not enough memory for this{told}; give it less data, or run it on a larger machine"
    if isinstance(error, OSError):
        places = " and ".join(str(one) for one in (error.filename, error.filename2) if one is not None)
        return f"{places}: {error.strerror}" if places else str(error) or type(error).__name__
    return str(error)


def one_line(text: str) -> str:
    """The text as one line that does nothing to a terminal: what is not printable is escaped."""
    return "".join(part if part.isprintable() else ascii(part)[1:-1] for part in text)


@contextlib.contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """A warning is for users here: what it says, not the line of code that says it."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"warning: {one_line(str(message))}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


def _show_any_name() -> None:
    """A file's name may be no UTF-8, and a terminal's alphabet may be small: such letters are shown escaped."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _with_default_action(words: Sequence[str]) -> Sequence[str]:
    """`run` is the default action; `--check FILE` is an old way to say `check FILE`."""
    if words[:1] == ["--check"]:
        return ["check", *words[1:]]
    if words and (words[0] in COMMANDS or words[0] in ("-h", "--help", "--version")):
        return words
    if words and not words[0].startswith("-"):  # no flag of a run either
        raise UsageError(_no_command(words[0]))
    return ["run", *words]


def _no_command(word: str) -> str:
    close = closest(word, COMMANDS)
    hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(COMMANDS)}; a run begins with a flag"
    return f"unknown command '{word}': {hint}"


def _with_file(words: Sequence[str]) -> Sequence[str]:
    """What the file of `--config` says, as words."""
    command, *rest = words
    if command not in COMMANDS or not any(word.startswith(config_file.FLAG[:3]) for word in rest):
        return words
    own, of_a_run = Parser(prog=command), Parser(prog="run")
    COMMANDS[command].add_arguments(own)
    run.add_arguments(of_a_run)
    return [command, *config_file.with_config(rest, own, of_a_run)]


def build_parser(chosen_command: str) -> Parser:
    """The parser, with the arguments of the chosen command only."""
    about = "Benchmark hashing methods. Without a command: run the grid."
    parser = Parser(prog=program(), description=about)
    parser.add_argument("--version", action="version", version=f"hashbench {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        if name == chosen_command:
            module.add_arguments(command)
        command.set_defaults(handler=module.run, parser=command)
    return parser
