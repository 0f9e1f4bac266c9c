"""The command: prints the comparison, writes it as CSV, and refuses folders without results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from benchmark.commands.compare import add_arguments, run
from benchmark.errors import UsageError
from tests.benchmark.conftest import Synthetic


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
    assert "1 cell in both" in told
    assert "0.3309" in (tmp_path / "c.csv").read_text()
    with pytest.raises(UsageError, match="no results"):
        run(parser.parse_args([root, str(tmp_path / "nowhere")]))


def test_cells_of_one_folder_only_are_counted(synthetic: Synthetic, tmp_path: Path, capsys: Any) -> None:
    other = Synthetic(tmp_path / "other")
    for bits in (16, 32, 48):
        synthetic.cell("itq", "nus-mini", bits)
    synthetic.cell("lsh", "nus-mini", 16, status="failed", metrics={}, error={"kind": "x", "message": "m"})
    other.cell("itq", "nus-mini", 16, parts={"sources": {"method": "of another version"}})
    other.cell("dph", "nus-mini", 16)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    folders = [str(one.store.root) for one in (synthetic, other)]
    assert run(parser.parse_args(folders)) == 0
    assert capsys.readouterr().out.endswith("\nnot compared: 2 cells in A only and 1 cell in B only\n")
    assert run(parser.parse_args([folders[0], folders[0]])) == 0
    assert "not compared" not in capsys.readouterr().out
