"""`report`: a name stays inside its folder, filters confine, what cannot be written is one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmark.commands.main import main

BAD = ["../../x", "a/b", "..", ".", "", "  ", "...", "a\\b", "/tmp/x", "a\0b", "a\nb", "x" * 101, "🔥" * 90]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_would_leave_the_folder_is_refused(synthetic, tmp_path: Path, name: str, capsys) -> None:
    """B13: --name ../../x wrote outside the reports folder."""
    synthetic.cell("itq", "nus-mini", 16)
    words = ["report", "--results", str(synthetic.store.root), "--reports", str(tmp_path / "reports"), "--name", name]
    before = sorted(tmp_path.rglob("*"))
    assert main(words) == 2
    assert "is not a name" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_report_is_confined_to_what_was_named(synthetic, undrawn, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("benchmark.execution.plan.stale_keys", lambda store, *_: set())
    synthetic.grid(bits=(16, 32))
    out = tmp_path / "reports"
    words = ["report", "--results", str(synthetic.store.root), "--reports", str(out)]
    assert main([*words, "--methods", "itq", "lsh", "--bits", "16"]) == 0
    text = (out / "default/tables/map-quick-mini-cnn.md").read_text()
    assert "ITQ" in text
    assert "DPH" not in text
    assert "32 bits" not in text
    assert "confined to methods: itq, lsh; bits: 16." in (out / "default/index.html").read_text()


def test_whom_to_highlight_can_be_said(synthetic, undrawn, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("benchmark.execution.plan.stale_keys", lambda store, *_: set())
    synthetic.grid(bits=(16, 32))
    out = tmp_path / "reports"
    words = ["report", "--results", str(synthetic.store.root), "--reports", str(out)]
    assert main([*words, "--highlight", "itq", "lsh", "hashnet", "--bits", "16"]) == 0
    html = (out / "default/index.html").read_text()
    assert re.search(r"t-SNE of codes @ 16 bits, \d+ classes, for HashNet and ITQ and LSH", html)
    assert "Highlighted by request; pale: DPH." in html
    assert main([*words, "--highlight", "itqq"]) == 2
    assert "--highlight itqq: no result shown is of this method; there are: dph" in capsys.readouterr().err


def test_a_file_where_a_folder_is_meant_is_a_sentence(synthetic, tmp_path: Path, capsys) -> None:
    """E: OSErrors on the command line."""
    synthetic.cell("itq", "nus-mini", 16)
    (tmp_path / "file").write_text("")
    words = ["report", "--results", str(synthetic.store.root), "--reports", str(tmp_path / "file")]
    assert main(words) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--methods", "nope"], "unknown method 'nope'"),
        (["--methods", "sdh"], "no result in .* has these --methods"),
        (["--bits", "7", "--seeds", "0"], "no result in .* has these --bits, --seeds"),
        (["--profile", "paper"], "no result in .* has these --profile"),
        (["--datasets", "coco"], "no result in .* has these --datasets"),
        (["--bits", "0"], "'0' is not a whole number"),
    ],
)
def test_a_report_of_nothing_is_refused(synthetic, undrawn, tmp_path: Path, capsys, words, told) -> None:
    """A word that was mistyped wrote an empty report, and called that a success."""
    synthetic.cell("itq", "nus-mini", 16)
    given = ["report", "--results", str(synthetic.store.root), "--reports", str(tmp_path / "reports")]
    assert main([*given, *words]) == 2
    assert re.search(told, capsys.readouterr().err)
    assert not (tmp_path / "reports").exists()


def test_a_method_that_has_results_and_no_file_any_more_can_be_named(
    synthetic, undrawn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And whether its code is still what it was nobody can tell, which is told."""
    synthetic.cell("long-gone", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 16)
    words = ["report", "--results", str(synthetic.store.root), "--reports", str(tmp_path / "reports")]
    assert main([*words, "--methods", "long-gone"]) == 0
    told = "not checked: 1 record: method &#39;long-gone&#39; is not known here (--plugin FILE)"
    assert told in (tmp_path / "reports/default/index.html").read_text()
    assert told.replace("&#39;", "'") in capsys.readouterr().out


def test_what_is_not_checked_is_told_of_what_is_shown(synthetic, undrawn, tmp_path: Path, capsys) -> None:
    """A report of one method warned of records of another that it did not show."""
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("gone", "nus-mini", 16)
    words = ["report", "--results", str(synthetic.store.root), "--reports", str(tmp_path / "reports")]
    told = "not checked: 1 record: method 'gone' is not known here"
    page = tmp_path / "reports/default/index.html"
    assert main(words) == 0
    assert told in capsys.readouterr().out
    assert "not checked: 1 record" in page.read_text()
    assert main([*words, "--methods", "itq"]) == 0
    assert "not checked" not in capsys.readouterr().out
    assert "not checked" not in page.read_text()
