"""What the documentation shows works: every method in it keeps every promise, every file it links is there."""

import re
from pathlib import Path

import pytest

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
