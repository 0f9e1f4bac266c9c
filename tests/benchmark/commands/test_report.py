"""`report`: a name stays inside its folder, filters confine, what cannot be written is one sentence."""

from __future__ import annotations

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
    assert "confined to methods: itq, lsh." in (out / "default/index.html").read_text()


def test_a_file_where_a_folder_is_meant_is_a_sentence(synthetic, tmp_path: Path, capsys) -> None:
    """E: OSErrors on the command line."""
    synthetic.cell("itq", "nus-mini", 16)
    (tmp_path / "file").write_text("")
    words = ["report", "--results", str(synthetic.store.root), "--reports", str(tmp_path / "file")]
    assert main(words) == 2
    assert "cannot be written" in capsys.readouterr().err
