"""A run in a file: `--config FILE.toml` becomes words of the command line, before anything is parsed.

A key is a flag without its dashes, a value what the flag takes, and what a key may be is read off the parser: there is
no second list of flags. A flag among the words takes the place of its key, and so does one that excludes it. Paths
mean what they mean on the command line: relative ones start from the folder that the command is given in.
"""

from __future__ import annotations

import argparse
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.errors import UsageError
from benchmark.wording import closest

FLAG = "--config"
NOT_IN_A_FILE = ("help", "config")
TEXTS = (None, Path)  # types of flags that take no numbers


def add_config(parser: argparse.ArgumentParser) -> None:
    told = (
        "a TOML file with flags of a run as keys, e.g. bits = [16, 64]; flags given here win over its keys, and "
        "relative paths in it start, as those given here, from the present folder"
    )
    parser.add_argument(FLAG, metavar="FILE", help=told)


def with_config(words: Sequence[str], parser: argparse.ArgumentParser, of_a_run: argparse.ArgumentParser) -> list[str]:
    """The words of a command and those of its file; `of_a_run` knows every key that a file may have."""
    file = _named_file(words)
    if file is None or FLAG not in parser._option_string_actions:
        return [*words]
    known, mine = _flags(of_a_run), _flags(parser)
    given = flags_given(words, parser)
    found: list[str] = []
    whole: list[str] = []
    for key, value in _content(file).items():
        name = key.replace("_", "-")
        if name not in known:
            raise UsageError(f"{FLAG} {file}: unknown key '{key}'; {_hint(name, known)}")
        whole += _checked_words(file, key, value, of_a_run, known[name])
        if name in mine and not given & _excluded_by(parser, mine[name]):
            found += _checked_words(file, key, value, parser, mine[name])
    _refuse_contradictions(file, whole, of_a_run)
    return [*words, *found]  # behind them: before them, `--bits 16` would swallow the first word that is no flag


def _named_file(words: Sequence[str]) -> str | None:
    """What the words name as their file."""
    finder = argparse.ArgumentParser(add_help=False, exit_on_error=False)  # takes --conf, as commands do
    finder.add_argument(FLAG)
    try:
        named: str | None = finder.parse_known_args([*words])[0].config
    except argparse.ArgumentError:  # nothing behind it, which the command's own parser says better
        return None
    return named


def _content(file: str) -> dict[str, Any]:
    """What a file says, key by key."""
    if not os.path.isfile(file):
        fault = "is no file" if os.path.lexists(file) else "does not exist"
        raise UsageError(f"{FLAG} {file}: {fault}; give a TOML file with flags of a run as keys")
    try:
        content = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{FLAG} {file}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # no TOML, or no UTF-8
        raise UsageError(f"{FLAG} {file}: not TOML: {error}") from error
    spelled = [key.replace("_", "-") for key in content]
    twice = next((key for key in content if spelled.count(key.replace("_", "-")) > 1), None)
    if twice is not None:
        raise UsageError(f"{FLAG} {file}: key '{twice}' is given twice, with - and with _; leave one of them out")
    return content


def _flags(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Key -> flag."""
    named = {word[2:]: action for word, action in parser._option_string_actions.items() if word.startswith("--")}
    return {name: action for name, action in named.items() if name not in NOT_IN_A_FILE}


def _hint(name: str, known: Mapping[str, Any]) -> str:
    close = closest(name, known)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(sorted(known))}"


def flags_given(words: Sequence[str], parser: argparse.ArgumentParser) -> set[str]:
    """The flags among the words, as they are called in full."""
    full = set()
    for word in words:
        start = word.partition("=")[0]
        if start.startswith("--") and len(start) > 2:
            full |= {start} if start in parser._option_string_actions else _abbreviated(start, parser)
    return full


def _abbreviated(start: str, parser: argparse.ArgumentParser) -> set[str]:
    return {word for word in parser._option_string_actions if word.startswith(start)}


def _excluded_by(parser: argparse.ArgumentParser, action: argparse.Action) -> set[str]:
    """The flags that take the place of this one: itself, and those that it cannot stand beside."""
    beside = [group._group_actions for group in parser._mutually_exclusive_groups if action in group._group_actions]
    return {word for one in [action, *(other for group in beside for other in group)] for word in one.option_strings}


def _checked_words(
    file: str, key: str, value: Any, parser: argparse.ArgumentParser, action: argparse.Action
) -> list[str]:
    """The words that say this, tried on the parser: what is wrong with them is told with the file and the key."""
    try:
        words = [*_words(value, action)]
        parser.parse_known_args(words)
    except UsageError as error:
        told = str(error).partition("; see '")[0].removeprefix(f"argument {action.option_strings[-1]}: ")
        raise UsageError(f"{FLAG} {file}: {key} = {_shown(value)}: {told}") from None
    return words


def _words(value: Any, action: argparse.Action) -> Iterator[str]:
    flag = action.option_strings[-1]
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError("expected true or false")
        yield from [flag] if value else []
    elif isinstance(value, Mapping):
        yield from _table_words(value, action)
    elif isinstance(action, argparse._AppendAction) and action.nargs is None:
        for one in value if isinstance(value, list) else [value]:
            yield f"{flag}={_word(one, action)}"
    elif action.nargs == "+":
        yield from (flag, *(_word(one, action) for one in (value if isinstance(value, list) else [value])))
    else:
        yield f"{flag}={_word(value, action)}"


def _table_words(table: Mapping[str, Any], action: argparse.Action) -> Iterator[str]:
    """[set] dph.gamma = 0.5 -> --set=dph.gamma=0.5, and [sweep] dph.gamma = [0, 1] -> --sweep dph.gamma 0 1."""
    if not isinstance(action, argparse._AppendAction):
        raise UsageError("expected no table")
    for target, value in _leaves(table, ""):
        if action.nargs is None:
            yield f"{action.option_strings[-1]}={target}={_json(value)}"
        elif isinstance(value, list):
            yield from (action.option_strings[-1], target, *map(_json, value))
        else:
            raise UsageError(f"{target}: expected a list of values")


def _leaves(table: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _json(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise UsageError(f"{value} is no finite number, text, true, false or list of them") from None


def _word(value: Any, action: argparse.Action) -> str:
    """One value as one word."""
    many, several = action.nargs == "+", isinstance(action, argparse._AppendAction)
    if isinstance(value, str):
        if many and value.startswith("-"):  # it would be read as a flag
            raise UsageError(f"{value!r}: expected a value that does not begin with '-'")
        return value
    if isinstance(value, list):
        raise UsageError(
            "expected one value, or a list of values" if many or several else "expected one value, no list"
        )
    if isinstance(value, bool) and several:
        return _json(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (action.type in TEXTS and not several):
        raise UsageError(f"{_shown(value)}: expected {'text' if action.type in TEXTS else 'a number'}")
    return str(value)


def _shown(value: Any) -> str:
    text = _json(value) if isinstance(value, (str, bool, int)) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse_contradictions(file: str, words: Sequence[str], parser: argparse.ArgumentParser) -> None:
    """Keys that exclude each other."""
    try:
        parser.parse_known_args([*words])
    except UsageError as error:
        raise UsageError(f"{FLAG} {file}: {str(error).partition('; see ')[0]}") from None
