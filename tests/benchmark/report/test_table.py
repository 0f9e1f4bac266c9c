"""One source, three formats: they say the same, escape what plugins named, and the LaTeX compiles."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.report.score_tables import rank_places
from benchmark.report.table import (
    WIDEST,
    Column,
    Entry,
    Table,
    csv_cell,
    document,
    frame_csv,
    number,
    tex,
    text,
    to_csv,
    to_latex,
    to_markdown,
)

NASTY = r"50% of_x & <b>|#1$ {é ≤ 漢} ~^\end{table}"


def example(title: str = "Scores") -> Table:
    rows = [
        [text("A"), number(0.123456, place=1, mark="*"), number(None, note="not run")],
        [text(NASTY), number(0.1, spread=0.01, place=2), number(0.2, note="not run")],
        [text("Chance"), number(0.05), number(0.05)],
    ]
    columns = [Column("Method", numeric=False), Column("16 bits", "Set"), Column("32 bits", "Set")]
    return Table("example", title, "A caption.", columns, rows, foot=1)


def test_csv_holds_full_precision_spread_and_notes() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(example()))))
    assert rows[0]["Set 16 bits"] == "0.123456"
    assert rows[0]["Set 32 bits"] == ""
    assert rows[0]["notes"] == "Set 32 bits: not run"
    assert rows[1]["Set 16 bits std"] == "0.01"
    assert rows[1]["Method"] == NASTY


@given(st.one_of(st.text(max_size=8), st.sampled_from(["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "＝1"])))
def test_text_that_a_spreadsheet_would_run_is_quoted(words: str) -> None:
    """C15: in tables, in the csv of figures and in that of compare."""
    import pandas as pd

    for content in (
        to_csv(Table("n", "t", "c", [Column(words, numeric=False)], [[text(words)]])),
        frame_csv(pd.DataFrame({words: [words]})),
    ):
        for (cell,) in csv.reader(io.StringIO(content, newline="")):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
            expected = re.sub("\r\n?", "\n", words).strip()
            assert cell.strip().removeprefix("'").strip() == expected.removeprefix("'").strip()


@given(st.one_of(st.integers(-9, 9), st.floats(-1e9, 1e9)))
def test_numbers_are_left_alone(value: float) -> None:
    """C15: a negative number is no formula."""
    import pandas as pd

    assert csv_cell(value) == value
    (_, (cell,)) = csv.reader(io.StringIO(frame_csv(pd.DataFrame({"x": [value]}))))
    assert float(cell) == value
    (_, (cell,)) = csv.reader(io.StringIO(frame_csv(pd.DataFrame({"x": [value]}), digits=6)))
    assert float(cell) == pytest.approx(value, rel=1e-5)


def test_what_is_not_there_is_empty_in_csv() -> None:
    import pandas as pd

    assert frame_csv(pd.DataFrame({"a": [1.0, None], "b": ["x", None]})) == "a,b\n1.0,x\n,\n"


def test_markdown_has_as_many_cells_in_every_row() -> None:
    lines = [line for line in to_markdown(example()).splitlines() if line.startswith("|")]
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
    assert set(cells) == {4}
    assert "**0.1235**\\*" in lines[2]
    assert "<u>0.1000</u> ± 0.0100" in lines[3]
    assert "<b>" not in to_markdown(example())


def test_latex_marks_best_second_spread_and_footnote() -> None:
    latex = to_latex(example())
    assert r"\textbf{0.1235}\rlap{$^{*}$}" in latex
    assert r"\underline{0.1000}\,{\tiny$\pm$.0100}" in latex
    assert r"--\rlap{$^{a}$}" in latex
    assert latex.count(r"\midrule") == 2
    assert latex.count(r"\end{table") == 1  # the one in a title is text, not markup


@given(st.text(max_size=40))
def test_tex_leaves_no_active_character(raw: str) -> None:
    escaped = tex(raw)
    left = re.sub(r"\\[&%$#_{}]|\\[a-zA-Z]+|\$\\?[a-zA-Z<>|\-]+\$|\{\}", "", escaped)
    assert not set(left) & set("&%$#_{}~^\\")
    assert all(ord(character) < 256 for character in escaped)


def test_a_table_too_wide_for_paper_is_named_where_the_others_are_shown() -> None:
    broad = Table("broad", "T", "C", [Column(str(n)) for n in range(WIDEST + 1)], [])
    told = document([example("plain"), broad])
    assert rf"\input{{{example('plain').name}.tex}}" in told
    assert "% too wide for paper: broad.csv" in told
    assert r"\input{broad.tex}" not in told


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex (Debian: texlive-latex-recommended)")
def test_every_table_compiles_with_plain_pdflatex(rendered: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    shutil.copytree(rendered / "tables", folder)
    (folder / "example.tex").write_text(to_latex(example(NASTY)), encoding="utf-8")
    (folder / "nasty.tex").write_text(document([example(NASTY)]), encoding="utf-8")
    for name in ("all", "nasty"):
        words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
        done = run(words, cwd=folder, capture_output=True, text=True, check=False, errors="replace")
        assert done.returncode == 0, done.stdout[-2000:]
        assert "Overfull \\hbox" not in done.stdout


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=2, max_size=8))
def test_best_and_second_include_all_ties_at_the_printed_precision(values: list[float | None]) -> None:
    placed = rank_places([number(value) for value in values])
    printed = sorted({f"{value:.4f}" for value in values if value is not None}, reverse=True)
    for value, entry in zip(values, placed, strict=True):
        alone = sum(other is not None for other in values) < 2
        expected = 0 if value is None or alone else {0: 1, 1: 2}.get(printed.index(f"{value:.4f}"), 0)
        assert entry.place == expected


def test_footnotes_are_lettered_once_each() -> None:
    rows = [[Entry("a", note=f"reason {i % 30}")] for i in range(60)]
    notes = Table("n", "t", "c", [Column("x")], rows).notes()
    assert len(notes) == len(set(notes.values())) == 30
    assert list(notes.values())[25:28] == ["z", "aa", "ab"]
