"""What the documentation shows works: every method in it keeps every promise, every file it links is there."""

import re
from pathlib import Path

import pytest

import benchmark.deep
import benchmark.shallow
from benchmark.commands import main

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
METHODS = [
    pytest.param(block, id=f"{page.stem}-{name}")
    for page in PAGES
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    for name in re.findall(r'@register_method\("([^"]+)"', block)
]


@pytest.mark.slow
@pytest.mark.parametrize("block", METHODS)
def test_a_method_of_the_documentation_keeps_every_promise(block, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(block)
    assert main(["check", str(tmp_path / "mine.py")]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_there_are_pages():
    assert {"architecture.md", "add-a-method.md"} <= {page.name for page in PAGES}
    assert len(METHODS) >= 4


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
