"""The command: prints the comparison, writes it as CSV, and refuses folders without results."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from benchmark.commands.compare import add_arguments, run
from benchmark.errors import UsageError


def test_a_csv_of_names_that_look_like_formulas(synthetic, tmp_path: Path) -> None:
    """C15."""
    synthetic.cell("=cmd", "nus-mini", 16)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    root = str(synthetic.store.root)
    assert run(parser.parse_args([root, root, "--csv", str(tmp_path / "c.csv")])) == 0
    assert "\n'=cmd," in (tmp_path / "c.csv").read_text()
    with pytest.raises(UsageError, match="its folder does not exist"):
        run(parser.parse_args([root, root, "--csv", str(tmp_path / "no" / "c.csv")]))


def test_the_command_prints_and_writes(synthetic, tmp_path: Path, capsys) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.published_cell("itq", "nus", 16)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    root = str(synthetic.store.root)
    assert run(parser.parse_args([root, "published", "--csv", str(tmp_path / "c.csv")])) == 0
    told = capsys.readouterr().out
    assert "not compared: NUS-WIDE-mini (miniature), itq: a miniature is never set against published numbers" in told
    assert "1 cells in both" in told
    assert "0.3309" in (tmp_path / "c.csv").read_text()
    with pytest.raises(UsageError, match="no results"):
        run(parser.parse_args([root, str(tmp_path / "nowhere")]))
