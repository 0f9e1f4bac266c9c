"""What the README shows works as shown."""

import re
from pathlib import Path

import pytest

from benchmark.commands.main import main

README = (Path(__file__).parents[1] / "README.md").read_text()


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, re.S)


def test_the_method_in_25_lines_keeps_every_promise(tmp_path, capsys):
    code = next(block for block in blocks() if "@register_method" in block)
    assert len(code.strip().splitlines()) <= 25
    file = tmp_path / "squares.py"
    file.write_text(code)
    assert main(["check", str(file)]) == 0, capsys.readouterr().out


def test_the_evaluator_in_a_few_lines_runs():
    code = next(block for block in blocks() if "evaluate(" in block)
    names: dict[str, object] = {}
    exec(code, names)
    assert 0 <= names["scores"].map <= 1


def test_it_stays_what_a_newcomer_needs():
    assert len(README.splitlines()) <= 140


@pytest.mark.slow
def test_the_run_from_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(next(block for block in blocks() if "benchmark.run(" in block), {})
    assert (tmp_path / "reports" / "mine" / "index.html").is_file()
