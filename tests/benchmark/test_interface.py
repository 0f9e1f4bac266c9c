"""The interface for notebooks: frames, tables and a report of a results folder."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

import pytest

from benchmark.errors import UsageError
from benchmark.interface import Results, results


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Keys that are called stale; none unless a test says so."""
    keys: set[str] = set()
    monkeypatch.setattr("benchmark.interface.stale_keys", lambda store, *_: keys)
    return keys


def test_the_table_holds_the_means_over_seeds(synthetic, fresh) -> None:
    made = [synthetic.cell("itq", "nus-mini", 16, seed) for seed in range(2)]
    synthetic.cell("itq", "nus-mini", 16, params={"iterations": 3}, quality=0.99)
    synthetic.cell("lsh", "imagenet-mini", 32)
    table = Results(synthetic.store).table("map")
    assert list(table.index) == ["ITQ", "LSH"]
    assert table.columns.names == ["dataset", "bits"]
    mean = sum(record.metrics["map"] for record in made) / 2
    assert table.loc["ITQ", ("NUS-WIDE-mini (miniature)", 16)] == pytest.approx(mean)
    assert table.isna().sum().sum() == 2


def test_settings_that_may_not_be_compared_are_rows_apart(synthetic, fresh) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 16, profile="paper")
    table = Results(synthetic.store.root).table()
    assert table.index.names == ["setting", "method"]
    assert len(table) == 2


def test_stale_results_are_in_the_frame_and_in_no_table(synthetic, fresh) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    old = synthetic.cell("lsh", "nus-mini", 16)
    fresh.add(old.key)
    found = results(synthetic.store.root)
    assert len(found) == 1
    assert dict(zip(found.frame()["method"], found.frame()["current"], strict=True)) == {"itq": True, "lsh": False}
    assert list(found.table().index) == ["ITQ"]


def test_filters_take_a_value_or_several(synthetic, fresh, undrawn, tmp_path: Path) -> None:
    synthetic.grid(bits=(16, 32))
    found = Results(synthetic.store)
    assert set(found.frame(methods=["itq", "lsh"], bits=16)["method"]) == {"itq", "lsh"}
    assert set(found.frame(bits=16)["bits"]) == {16}
    page = found.report(tmp_path / "out", methods="itq")
    assert "This report is confined to methods: itq." in page.read_text()
    assert "LSH" not in page.read_text()


def test_what_is_wrong_is_said(synthetic, fresh, tmp_path: Path) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    with pytest.raises(UsageError, match="does not exist"):
        results(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"no score 'mpa'; there are: .*map"):
        Results(synthetic.store).table("mpa")
    with pytest.raises(UsageError, match="no score 'ties'"):
        Results(synthetic.store).table("ties")
    with pytest.raises(UsageError, match="unknown filter 'method'"):
        Results(synthetic.store).frame(method="itq")


def test_a_notebook_shows_the_table(synthetic, fresh) -> None:
    assert "0 cells" in Results(synthetic.store)._repr_html_()
    synthetic.cell("itq", "nus-mini", 16, titles={"method": "<b>", "dataset": "NUS"})
    html = Results(synthetic.store)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert repr(Results(synthetic.store)).endswith(": 1 cells)")


def test_an_empty_folder_gives_empty_things(synthetic, fresh) -> None:
    found = Results(synthetic.store)
    assert len(found) == 0
    assert found.frame().empty
    assert found.table().empty


def test_importing_it_loads_neither_pandas_nor_torch() -> None:
    code = "import sys, benchmark.interface; sys.exit(any(m in sys.modules for m in ('pandas', 'torch')))"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
