"""The command line: words in, exit code out. One file per command beside this one, each with HELP, add_arguments, run.

Without a command the grid is run. Exit codes: 0 all ok, 1 some cells failed, 2 bad input (one line, nothing
written), 130 interrupted. Everything is parsed and checked before any work starts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from benchmark import __version__
from benchmark.commands import audit, check, compare, list, prepare, report, run, score, tune, verify, why
from benchmark.errors import InvalidCodes, UsageError

COMMANDS: dict[str, Any] = {
    "run": run,
    "list": list,
    "report": report,
    "check": check,
    "audit": audit,
    "verify": verify,
    "why": why,
    "score": score,
    "prepare": prepare,
    "compare": compare,
    "tune": tune,
}


class Parser(argparse.ArgumentParser):
    """argparse with our error format and exit code."""

    def error(self, message: str) -> Any:
        raise UsageError(f"{message}; see '{self.prog} --help'")


def main(words: Sequence[str] | None = None) -> int:
    """Entry point of run_all.py and of the `hashbench` script."""
    words = [*(sys.argv[1:] if words is None else words)]
    try:
        full = _with_default_action(words)
        parsed = build_parser(full[0]).parse_args(full)
        parsed.words = words
        return int(parsed.handler(parsed))
    except (UsageError, InvalidCodes) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `run_all.py list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _with_default_action(words: Sequence[str]) -> Sequence[str]:
    """`run` is the default action; `--check FILE` is an old way to say `check FILE`."""
    if words[:1] == ["--check"]:
        return ["check", *words[1:]]
    if words and (words[0] in COMMANDS or words[0] in ("-h", "--help", "--version")):
        return words
    return ["run", *words]


def build_parser(chosen_command: str) -> Parser:
    """The parser, with the arguments of the chosen command only."""
    parser = Parser(prog="run_all.py", description="Benchmark hashing methods. Without a command: run the grid.")
    parser.add_argument("--version", action="version", version=f"hashbench {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        if name == chosen_command:
            module.add_arguments(command)
        command.set_defaults(handler=module.run, parser=command)
    return parser
