"""What the documentation shows works: methods keep every promise, commands run in their order, links lead somewhere."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import benchmark.deep
import benchmark.shallow
from benchmark.commands import main
from benchmark.commands.main import COMMANDS, build_parser

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
EXAMPLE = ROOT / "examples" / "hashbench-example"
READ = [ROOT / "README.md", *PAGES, EXAMPLE / "README.md"]
METHODS = [
    pytest.param(block, id=f"{page.stem}-{name}")
    for page in PAGES
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    for name in re.findall(r'@register_method\("([^"]+)"', block)
]
OURS = re.compile(r"(?:hashbench|python run_all\.py|python -m benchmark)(?: (.*))?")
# What cannot be done here: names to be filled in, a cluster, a download, a server that never ends.
ELSEWHERE = re.compile(r"\b(DIR|FILE|NAME|URL|CELL)\b|tcp://|--download| serve ")


PATIENCE = 3600  # seconds for one command on a busy machine; none takes a minute on an idle one


class Piece(NamedTuple):
    """Something a page tells its reader to do."""

    kind: str  # a command, a file to write, or Python to run
    text: str
    name: str = ""


def pieces(page: Path) -> Iterator[Piece]:
    """In their order. A block of code is a file where the line above it ends with its name: `mine.py`:"""
    lines, above = iter(page.read_text().splitlines()), ""
    for line in lines:
        fence = re.fullmatch(r"```(\w*)", line)
        block = "\n".join(iter(lambda: next(lines), "```")) if fence else ""
        name = re.search(r"`([\w./-]+\.\w+)`[^`]*:$", above)
        if fence and fence[1] in ("python", "text", "toml") and name:
            yield Piece("file", block + "\n", name[1])
        elif fence and fence[1] == "python" and "@register_method" not in block:
            yield Piece("python", block)
        elif (fence and not fence[1]) or line.startswith("    "):
            for one in (block or line).splitlines():
                if re.match(r"(hashbench|python|pip|pytest|git)\b", one.strip()):
                    yield Piece("command", one.strip())
        above = line or above


COMMANDS_SHOWN = [(page, piece.text) for page in READ for piece in pieces(page) if piece.kind == "command"]
# Commands within a line of text or a table's cell, which may be cut short.
MENTIONED = [(page, text) for page in READ for text in re.findall(r"`(hashbench [^`]+)`", page.read_text())]


@pytest.mark.slow
@pytest.mark.parametrize("block", METHODS)
def test_a_method_of_the_documentation_keeps_every_promise(block, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(block)
    assert main(["check", str(tmp_path / "mine.py")]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("page", READ, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, place in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text().replace("\n", " ")):
        if target.startswith("http"):
            continue
        file = page.parent / target if target else page
        assert file.exists(), target
        headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE) if place else []
        assert not place or place in {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}, place


def test_there_are_pages():
    names = {page.name for page in PAGES}
    assert {"architecture.md", "add-a-method.md", "add-a-data-set.md", "data-formats.md", "metrics.md"} <= names
    assert {"quick-start.md", "protocol.md", "clusters.md", "reproduce-the-paper.md"} <= names
    assert len(METHODS) >= 4
    assert len(COMMANDS_SHOWN) > 50


def test_every_page_can_be_reached_from_the_readme():
    found, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page not in found and page.suffix == ".md":
            found.add(page)
            waiting += [page.parent / one for one in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())]
    assert not {page.name for page in PAGES} - {page.name for page in found}


@pytest.mark.parametrize(("page", "text"), COMMANDS_SHOWN + MENTIONED, ids=lambda one: str(one)[:60])
def test_every_word_of_a_command_is_known(page: Path, text: str):
    for part in text.split(" && "):
        ours = OURS.fullmatch(part)
        words = shlex.split(ours[1] or "", comments=True) if ours else []
        name = words[0] if words and not words[0].startswith("-") else "run"
        assert name in COMMANDS, part
        (commands,) = [one for one in build_parser(name)._actions if isinstance(one.choices, dict)]
        flags = {flag for action in commands.choices[name]._actions for flag in action.option_strings}
        assert {word for word in words if word.startswith("--")} <= flags | {"--version"}, part


def test_what_is_installed_and_measured_is_there():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for page in READ:
        text = page.read_text()
        named = re.findall(r"(?:hashbench|\.)\[(\w+)\]", text)
        assert set(named) <= set(extras), page
        assert all((ROOT / file).is_file() for file in re.findall(r"performance/\w+\.py", text)), page


def given(folder: Path, lab: Any) -> None:
    """What a reader has at home: pictures, features, and codes of some other program for coco's rows."""
    for name in ("photos", "my-pictures"):
        lab.pictures(name, noisy=False)
    from PIL import Image

    Image.open(folder / "photos" / "secret0" / "0.bmp").save(folder / "mine.jpg")
    rows = {"train": 60, "query": 20, "database": 80}
    random, points = np.random.default_rng(0), np.eye(4, 24)
    labels = {part: np.arange(number) % 4 for part, number in rows.items()}
    wide = {f"{part}_features": points[own] + random.normal(0, 0.3, (len(own), 24)) for part, own in labels.items()}
    lab.features("mine.npz", **wide, **{f"{part}_labels": own for part, own in labels.items()})
    splits = benchmark.get_dataset("coco").load()
    for short, part in (("q", splits.query), ("d", splits.database)):
        np.save(folder / f"{short}.npy", np.where(random.random((len(part), 64)) < 0.5, 1, -1).astype(np.int8))
        np.save(folder / f"{short}l.npy", part.labels)


@pytest.fixture(scope="module")
def shared_cache(make_lab: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Readers extract the miniature's features once, not page by page."""
    return make_lab(tmp_path_factory.mktemp("pages")).cache


def shortened(words: list[str]) -> list[str]:
    """A grid that is not cut to a few cells is only planned."""
    run = not words or words[0].startswith("-") or words[0] == "run"
    whole = run and not {"--help", "--version"} & {*words} and not {"--methods", "--bits"} <= {*words}
    return [*words, "--dry-run"] if whole and "--dry-run" not in words else words


@pytest.mark.slow
@pytest.mark.parametrize("page", READ[:-1], ids=lambda page: page.stem)
def test_what_a_page_shows_runs_in_its_order(page: Path, lab: Any, shared_cache: Path):
    """In one folder from top to bottom, as a reader would; only what needs other machines or real data is left out."""
    lab.cache = shared_cache
    given(lab.folder, lab)
    for piece in pieces(page):
        if piece.kind == "file":
            target = lab.folder / piece.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(piece.text)
        elif piece.kind == "python" and "my_package" not in piece.text:
            compile(piece.text, page.name, "exec")
            if "dask_jobqueue" not in piece.text:
                (lab.folder / "block.py").write_text(piece.text)
                done = lab.command(program=lab.folder / "block.py", seconds=PATIENCE)
                assert done.code == 0, f"{piece.text}\n{done.text}"
        elif piece.kind == "command" and not ELSEWHERE.search(piece.text):
            for part in piece.text.split(" && "):
                run_one(part, lab)


def run_one(text: str, lab: Any) -> None:
    ours, script = OURS.fullmatch(text), re.fullmatch(r"python (\w+\.py)", text)
    if ours:
        done = lab.command(*shortened(shlex.split(ours[1] or "", comments=True)), seconds=PATIENCE)
    elif script:
        done = lab.command(program=lab.folder / script[1], seconds=PATIENCE)
    else:  # pip, pytest, performance/: .ci/run and tests of their own do these
        return
    assert done.code == 0, f"{text}\n{done.text}"


@pytest.mark.slow
def test_the_example_package_is_installed_listed_checked_and_run(lab: Any):
    """By pip, for real, into a folder of its own that sees this suite."""
    site = lab.folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(site)]
    source = lab.folder / "copy"
    shutil.copytree(EXAMPLE, source)
    installed = subprocess.run([*pip, str(source)], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    listed = lab.command("list", on_path=(site,))
    assert re.search(r"^ +folded +Folded", listed.text, re.MULTILINE)
    assert re.search(r"^ +rings +Rings", listed.text, re.MULTILINE)
    shown = [OURS.fullmatch(piece.text) for piece in pieces(EXAMPLE / "README.md")]
    for words in [shlex.split(one[1]) for one in shown if one]:
        done = lab.command(*words, on_path=(site,))
        assert done.code == 0, done.text
        assert words[0] != "check" or "every promise is kept" in done.text
        assert words[0] != "list" or "of a fold, in standard deviations" in done.text
    records = {(one["cell"]["method"], one["cell"]["bits"]): one for one in lab.records().values()}
    assert len(records) == 4
    record, other = records["folded", 16], records["lsh", 16]
    assert record["metrics"]["map"] > other["metrics"]["map"] + 0.2  # what folding is for
    assert (lab.folder / "reports" / "default" / "index.html").is_file()
    assert "hashbench_example.folding" in json.dumps(record["parts"])  # its helper's code is a part of the key
    assert record["provenance"]["packages"] == {"hashbench-example": "0.1.0"}
    assert lab.command("report", "--leaderboard", on_path=(site,)).code == 0
    board = (lab.folder / "reports" / "default" / "leaderboard.html").read_text()
    assert board.count("<code>pip install hashbench-example==0.1.0</code>") == 4  # its data set serves lsh, too


@pytest.mark.parametrize("room", [benchmark.deep, benchmark.shallow], ids=lambda room: room.__name__)
def test_every_piece_that_a_method_is_written_with_stands_on_its_page(room):
    page = (ROOT / "docs" / "add-a-method.md").read_text()
    assert not [name for name in room.__all__ if not re.search(rf"`(\w+\.)*{name}[`(.]", page)]


def test_the_table_of_pieces_names_nothing_that_is_not_there():
    page = (ROOT / "docs" / "add-a-method.md").read_text()
    table = page.partition("## Pieces a loss")[2].partition("## What you need not write")[0]
    names = [
        name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`([\w.]+)", row)
    ]
    assert len(names) > 50
    for name in names:
        if name == "benchmark.deep.network.ClassMemory":
            from benchmark.deep.network import ClassMemory as found
        else:
            first, *rest = name.split(".")
            found = getattr(benchmark.deep, first, None) or getattr(benchmark.shallow, first, None)
            for part in rest:
                found = getattr(found, part)
        assert found is not None, name
