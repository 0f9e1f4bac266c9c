"""A file of flags says what the same flags say on the command line, and what is wrong with it is told by key."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.commands import report, run, tune
from benchmark.commands.config_file import with_config
from benchmark.commands.main import COMMANDS, Parser


def parsed(words: list[str], command: Any = run) -> argparse.Namespace:
    """What a command understands of its words and of the file they name."""
    own, of_a_run = Parser(), Parser()
    command.add_arguments(own)
    run.add_arguments(of_a_run)
    return own.parse_args(with_config(words, own, of_a_run))


def said(words: list[str], command: Any = run) -> dict[str, Any]:
    found = vars(parsed(words, command))
    found.pop("config")
    return found


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        (tmp_path / "study.toml").write_text(text)
        return str(tmp_path / "study.toml")

    return write


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('datasets = ["imagenet", "coco"]\nbits = [16, 64]', "--datasets imagenet coco --bits 16 64"),
        ('datasets = "coco"\nbits = 16\nseeds = 3', "--datasets coco --bits 16 --seeds 3"),
        ("tune = true\ntrials = 12\nfolds = 2", "--tune --trials 12 --folds 2"),
        ("tune = false\nuntuned = true", "--untuned"),
        ('set = ["dph.gamma=0.5", "itq.iterations=3"]', "--set dph.gamma=0.5 --set itq.iterations=3"),
        ('set = "dph.gamma=0.5"', "--set dph.gamma=0.5"),
        ("[set]\ndph.gamma = 0.5\nitq.iterations = 3", "--set dph.gamma=0.5 --set itq.iterations=3"),
        ('[option]\nimagenet.imbalance = "zipf:0.5"', '--option imagenet.imbalance=\\"zipf:0.5\\"'),
        ('sweep = ["dph.gamma", 0.01, 1]', "--sweep dph.gamma 0.01 1"),
        ("[sweep]\ndph.gamma = [0.01, 1]", "--sweep dph.gamma 0.01 1"),
        ('results = "a b"\nname = "mine"\nreports = "r"', "--results 'a b' --name mine --reports r"),
        ("partial_weights = true\ndata_root = 'x'", "--partial-weights --data-root x"),
        ("timeout = 7.5\nmemory = '4G'", "--timeout 7.5 --memory 4G"),
        ("", ""),
    ],
)
def test_a_file_says_what_words_say(text: str, words: str, written: Callable[[str], str]) -> None:
    import shlex

    assert said(["--config", written(text)]) == said(shlex.split(words))


def test_every_flag_of_a_run_can_be_said_in_a_file(written: Callable[[str], str]) -> None:
    """Whatever flags there will be: a value is made up for each from what its flag takes."""
    parser = Parser()
    run.add_arguments(parser)
    for action in parser._actions:
        flag = action.option_strings[-1]
        if flag in ("--help", "--config"):
            continue
        value: Any = True if action.nargs == 0 else "5" if action.type not in (None, Path) else "a.b=c"
        words = [flag] if action.nargs == 0 else [flag, value]
        assert said(["--config", written(f"{flag[2:]} = {json.dumps(value)}")]) == said(words), flag


@pytest.mark.parametrize(
    ("text", "words", "name", "value"),
    [
        ("bits = [16, 64]", "--bits 32", "bits", [32]),
        ("bits = [16, 64]", "--bit 32", "bits", [32]),
        ('name = "a"', "--name=b", "name", "b"),
        ('set = ["dph.gamma=0.5"]', "--set dph.gamma=2", "params", ["dph.gamma=2"]),
        ("tune = true", "--untuned", "tune", False),
        ("tune = true", "--tuned x.json", "tune", False),
        ("only-failed = true", "--force", "only_failed", False),
    ],
)
def test_words_win_over_the_file(text: str, words: str, name: str, value: Any, written: Callable[[str], str]) -> None:
    file = written(f"seeds = [7]\n{text}")
    for given in (
        [*words.split(), "--config", file],
        [f"--config={file}", *words.split()],
        ["--c", file, *words.split()],
    ):
        found = parsed(given)
        assert getattr(found, name) == value
        assert found.seeds == [7]  # what no word takes the place of stays


def test_commands_ignore_the_keys_of_a_run_that_they_do_not_have(written: Callable[[str], str]) -> None:
    file = written('bits = [16]\nprofile = "quick"\ndry-run = true\nname = "mine"\ntrials = 3')
    assert parsed(["--config", file], report).profile == ["quick"]
    assert parsed(["--config", file], report).name == "mine"
    assert parsed(["--config", file], tune).trials == 3
    assert parsed(["--config", file], tune).profile == "quick"


def test_a_word_that_is_no_flag_is_not_swallowed(written: Callable[[str], str]) -> None:
    from benchmark.commands import why

    found = parsed(["dph coco", "--config", written("bits = [16]")], why)
    assert (found.cell, found.bits) == ("dph coco", [16])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bitz = [16]", "unknown key 'bitz'; did you mean 'bits'?"),
        ("frobnicate = 1", "unknown key 'frobnicate'; known: allow-overlap"),
        ('config = "x.toml"', "unknown key 'config'"),
        ('bits = ["many"]', "bits = ['many']: 'many' is not a whole number"),
        ("bits = [16.5]", "16.5' is not a whole number"),
        ("bits = []", "bits = []: expected at least one argument"),
        ("bits = [[16]]", "expected one value"),
        ("bits = true", "bits = true: true: expected a number"),
        ("seeds = [-1]", "'-1' is not a whole number of 0 or more"),
        ("tune = 'yes'", 'tune = "yes": expected true or false'),
        ("tune = 1", "expected true or false"),
        ("datasets = 3", "datasets = 3: 3: expected text"),
        ("datasets = ['coco', 3]", "expected text"),
        ("datasets = ['--force']", "does not begin with '-'"),
        ("profile = ['quick', 'paper']", "expected one value, no list"),
        ("[profile]\nname = 'quick'", "expected no table"),
        ("results = 2026-01-01", "expected text"),
        ("name = 'a/b'", "name = \"a/b\": 'a/b' is not a name"),
        ("tune = true\nuntuned = true", "not allowed with"),
        ("data-root = 'a'\ndata_root = 'b'", "given twice"),
        ("[set]\ndph.gamma = nan", "no finite number"),
        ("[sweep]\ndph.gamma = 1", "expected a list of values"),
        ("bits = [16", "not TOML"),
        ("bits = 1\nbits = 2", "not TOML"),
        (b"bits = '\xff'", "not TOML"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(
    text: Any, told: str, command: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "my study.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    for start in ([], ["tune"], ["report"]):
        code, out, err = command(*start, "--config", "my study.toml")
        assert (code, out) == (2, "")
        assert err.startswith("error: --config my study.toml: ")
        assert err.count("\n") == 1
        assert told in err
    assert [path.name for path in tmp_path.iterdir()] == ["my study.toml"]


@pytest.mark.parametrize(
    ("words", "told"),
    [("--config none.toml", "none.toml: does not exist"), ("--config .", ". is no file"), ("--config", "expected one")],
)
def test_a_file_that_is_none(words: str, told: str, command: Callable[..., Any]) -> None:
    code, _, err = command(*words.split())
    assert (code, err.count("\n")) == (2, 1)
    assert told.replace(". is", ".: is") in err


def test_commands_without_a_run_take_no_file(command: Callable[..., Any]) -> None:
    code, _, err = command("list", "--config", "x.toml")
    assert (code, "unrecognized arguments" in err) == (2, True)


def test_a_run_by_file_plans_the_cells_of_the_run_by_words(
    command: Callable[..., Any], own_features: Path, tmp_path: Path
) -> None:
    """Paths in it start from the folder of the command, not from that of the file."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "study.toml").write_text(
        'datasets = ["features:mine.npz"]\nmethods = ["itq", "lsh"]\nbits = [8]\n[set]\nitq.iterations = 7\n'
    )
    words = "--datasets features:mine.npz --methods itq lsh --bits 8 --set itq.iterations=7 --dry-run"
    expected = command(*words.split())
    assert expected[0] == 0
    assert expected[1].count("8 bits") == 2
    assert command("--config", "sub/study.toml", "--dry-run") == expected
    assert own_features.exists()


def test_main_knows_the_flag() -> None:
    assert all("--config" in command_flags(name) for name in ("run", "tune", "report", "why"))


def command_flags(name: str) -> set[str]:
    parser = Parser()
    COMMANDS[name].add_arguments(parser)
    return set(parser._option_string_actions)
