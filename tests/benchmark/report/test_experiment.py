"""The experimental setup: true of the records, cited, and LaTeX that compiles whatever titles say."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmark.report import render
from benchmark.report.experiment import experiment_files, setup_paragraphs
from benchmark.report.record_frame import record_frame
from benchmark.report.sheets import sheets


def made(synthetic) -> tuple[dict[str, str], list[str]]:
    records = {record.key: record for record in synthetic.store.records()}
    found = sheets(record_frame(records.values()))
    return experiment_files(found, records), setup_paragraphs(found, records)


def test_it_says_what_was_run(synthetic) -> None:
    files, (said,) = made(synthetic.grid(bits=(16, 64), seeds=2))
    for words in (
        "500 training items", "DPH [@cao2018dph]", "ITQ [@gong2011itq]", "at 16 and 64 bits", "mini-cnn",
        "profile quick", "2 seeds (0, 1)", "MAP@k is the mean", "exact expectation over all orders",
        "torch 2.13.0", "[@hashbench]",
    ):  # fmt: skip
        assert words in said, words
    assert r"DPH \cite{cao2018dph}" in files["experiment.tex"]
    assert "DPH [@cao2018dph]" in files["experiment.md"]


def test_a_grid_with_gaps_is_not_told_as_a_full_one(synthetic) -> None:
    for method, lengths in (("itq", (16, 32, 64)), ("lsh", (16,))):
        for bits in lengths:
            synthetic.cell(method, "nus-mini", bits)
    assert "Of 3 pairs of a data set and a code length, scores are missing of LSH in 2." in made(synthetic)[1][0]


def test_of_a_full_grid_nothing_is_missing(synthetic) -> None:
    assert "missing" not in made(synthetic.grid(bits=(16, 32)))[1][0]


def test_every_key_that_is_cited_has_its_entry_once(synthetic) -> None:
    files, _ = made(synthetic.grid(bits=(16,)))
    cited = {key for group in re.findall(r"\\cite{([^}]+)}", files["experiment.tex"]) for key in group.split(",")}
    entries = re.findall(r"@\w+{([^,]+),", files["references.bib"])
    assert cited
    assert cited <= set(entries)
    assert len(entries) == len(set(entries))


def test_a_split_is_told_by_its_whole_revision(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    (record,) = synthetic.store.records()
    assert f"split {record.revision})" in made(synthetic)[1][0]


def test_networks_are_spoken_of_where_there_are_some(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16, family="unsupervised")
    assert "Networks" not in made(synthetic)[1][0]
    synthetic.cell("dph", "nus-mini", 16, family="deep")
    assert "Networks are trained by the profile quick" in made(synthetic)[1][0]


def test_without_a_score_there_is_no_experiment(synthetic, undrawn, tmp_path: Path) -> None:
    error = {"kind": "E", "message": "no", "traceback": ""}
    synthetic.cell("itq", "nus-mini", 16, status="failed", error=error, metrics={})
    assert made(synthetic) == ({}, [])
    render(synthetic.store, tmp_path)
    assert not (tmp_path / "experiment.tex").exists()


def test_the_page_links_the_files(rendered: Path) -> None:
    html = (rendered / "index.html").read_text(encoding="utf-8")
    for name in ("experiment.md", "experiment.tex", "references.bib"):
        assert f'href="{name}"' in html
        assert (rendered / name).stat().st_size > 0


def test_it_compiles(synthetic, tmp_path: Path) -> None:
    if not shutil.which("pdflatex"):
        pytest.skip("needs pdflatex")
    synthetic.cell("itq", "nus-mini", 16, titles={"method": r"50%_#&{}~^\end{x} $5 ≤ 漢", "dataset": "a_b & c"})
    files, _ = made(synthetic)
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "experiment.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:].decode(errors="replace")


def test_one_method_is_run_and_two_are_compared(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    assert "we run ITQ" in made(synthetic)[1][0]
    synthetic.cell("lsh", "nus-mini", 16)
    assert "we compare ITQ" in made(synthetic)[1][0]


def test_the_rate_of_the_hash_layer_is_told(synthetic) -> None:
    """Of a network whose hash layer alone is trained the rate of the backbone was printed, a tenth of its own."""
    profile = {"training": {"learning_rate": 0.001, "hash_rate": 10.0, "train": "last"}}
    synthetic.cell("dph", "nus-mini", 16, parts={"profile": profile})
    text = made(synthetic)[1][0]
    assert "learning rate 0.001, the hash layer at 10 times the learning rate" in text
    assert "where settings, or factors that are a method's own, do not say otherwise" in text


@pytest.mark.parametrize(("cores", "words"), [(1, "; x, 1 core."), (2, "; x, 2 cores."), (None, "; x.")])
def test_cores_are_counted_where_they_are_known(synthetic, cores: int | None, words: str) -> None:
    """ "None cores" stood where a record of another program knew the processor alone."""
    machine = {"processor": "x", "cores": cores}
    synthetic.cell("itq", "nus-mini", 16, provenance={"versions": {"torch": "2"}, "machine": machine, "ended": ""})
    assert words in made(synthetic)[1][0]
