"""The report as a whole: it is complete, it skips what has not changed, it survives odd results."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from subprocess import run

from benchmark.report import render


def test_first_report_has_map_table_and_three_curves_per_dataset(rendered: Path) -> None:
    names = {path.name for path in (rendered / "tables").iterdir()}
    assert {"map-quick-mini-cnn.csv", "map-quick-mini-cnn.md", "map-quick-mini-cnn.tex", "all.tex"} <= names
    drawn = {path.name for path in (rendered / "figures").iterdir()}
    for dataset in ("imagenet-mini", "nus-mini"):
        for curve in ("radius", "recall", "top-n", "strip", "map"):
            for suffix in ("pdf", "png", "csv"):
                assert f"{curve}-{dataset}-quick-mini-cnn.{suffix}" in drawn


def test_csv_holds_the_means_of_the_records(synthetic, undrawn, tmp_path: Path) -> None:
    made = [synthetic.cell("itq", "nus-mini", 16, seed) for seed in range(3)]
    render(synthetic.store, tmp_path / "out")
    with (tmp_path / "out/tables/map-quick-mini-cnn.csv").open() as handle:
        row = next(csv.DictReader(handle))
    values = [record.metrics["map"] for record in made]
    assert abs(float(row["NUS-WIDE-mini (miniature) 16 bits"]) - sum(values) / 3) < 1e-12
    mean = sum(values) / 3
    assert (
        abs(float(row["NUS-WIDE-mini (miniature) 16 bits std"]) - (sum((v - mean) ** 2 for v in values) / 2) ** 0.5)
        < 1e-12
    )


def test_nothing_is_written_when_nothing_changed(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.grid(bits=(16,))
    index = render(synthetic.store, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert render(synthetic.store, tmp_path / "out") == index
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}


def test_only_changed_figures_are_redrawn(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.grid(bits=(16,))
    render(synthetic.store, tmp_path / "out")
    figures = tmp_path / "out/figures"
    before = {path.name: path.stat().st_mtime_ns for path in figures.glob("*.png")}
    synthetic.cell("sdh", "nus-mini", 16)
    render(synthetic.store, tmp_path / "out")
    after = {path.name: path.stat().st_mtime_ns for path in figures.glob("*.png")}
    changed = {name for name in before if before[name] != after[name]}
    assert changed
    assert all("nus" in name or "cd" in name or "overview" in name for name in changed)


def test_empty_store_gives_a_page_that_says_so(synthetic, undrawn, tmp_path: Path) -> None:
    index = render(synthetic.store, tmp_path / "out")
    assert "No results" in index.read_text()


def test_importing_the_report_loads_neither_pandas_nor_matplotlib() -> None:
    code = "import sys, benchmark.report; sys.exit(any(m in sys.modules for m in ('pandas', 'matplotlib', 'torch')))"
    assert run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_no_result_supports_any_more_is_removed(synthetic, undrawn, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    gone = synthetic.cell("itq", "imagenet-mini", 16)
    render(synthetic.store, tmp_path / "out")
    assert list((tmp_path / "out/figures").glob("*imagenet-mini*"))
    (synthetic.store.cells / f"{gone.key}.json").unlink()
    render(synthetic.store, tmp_path / "out")
    assert not list((tmp_path / "out/figures").glob("*imagenet-mini*"))
    assert list((tmp_path / "out/figures").glob("*nus-mini*"))


def test_a_lost_payload_costs_its_curves_not_the_report(synthetic, undrawn, tmp_path: Path) -> None:
    kept, lost = synthetic.cell("itq", "nus-mini", 16), synthetic.cell("lsh", "nus-mini", 16)
    (synthetic.store.cells / synthetic.store.read(lost.key).payload["file"]).unlink()
    render(synthetic.store, tmp_path / "out")
    recall = (tmp_path / "out/figures/recall-nus-mini-quick-mini-cnn.csv").read_text()
    assert "itq" in recall
    assert "lsh" not in recall
    table = (tmp_path / "out/tables/map-quick-mini-cnn.csv").read_text()
    assert str(kept.metrics["map"]) in table
    assert str(lost.metrics["map"]) in table


def test_results_where_everything_failed_still_make_a_report(synthetic, undrawn, tmp_path: Path) -> None:
    error = {"kind": "MemoryError", "message": "", "traceback": ""}
    synthetic.cell("itq", "nus-mini", 16, status="oom", error=error, metrics={}, titles={"method": "ITQ"})
    html = render(synthetic.store, tmp_path / "out").read_text()
    assert "oom" in html
    assert "No cell has a score" in html


def test_no_two_tables_figures_or_charts_of_a_report_share_a_title(synthetic, undrawn, tmp_path: Path) -> None:
    """A2: sheets that differ in weights only; a reader must see which is which."""
    import json
    import re

    for weights in ("w1", "w2"):
        for method in ("dph", "itq", "lsh"):
            for dataset in ("nus-mini", "imagenet-mini"):
                synthetic.cell(method, dataset, 16, parts={"weights": weights})
    html = render(synthetic.store, tmp_path).read_text()
    titles = re.findall(r'<h3 id="[^"]+">(.*?)</h3>', html) + re.findall(r'data-title="(.*?)"', html)
    assert len(titles) > 20
    assert len(set(titles)) == len(titles)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])
    charts = [(chart["dataset"], chart["kind"], chart["bits"]) for chart in data["charts"]]
    assert len(set(charts)) == len(charts)
    assert len({one["label"] for one in data["browser"]}) == len(data["browser"]) == 4
