"""The leaderboard: rows are means of what counts, lead to cards, origins and commands, and filter in a browser."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.commands.main import main
from benchmark.execution.plan import stale_keys, unchecked
from benchmark.program import program
from benchmark.registry import load_plugin
from benchmark.report.leaderboard import leaderboard_rows, write_leaderboard
from benchmark.report.record_frame import record_frame
from benchmark.report.rerun import rerun
from benchmark.report.sheets import defaults, sheets
from tests.benchmark.conftest import Synthetic


def rows_of(
    synthetic: Synthetic, stale: tuple[str, ...] = (), told: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    records = {record.key: record for record in synthetic.store.records()}
    return leaderboard_rows(record_frame(list(records.values()), stale), records, unchecked=told)


def words_of(row: dict[str, Any]) -> list[str]:
    """The command of a row, without the program."""
    return shlex.split(row["command"])[len(shlex.split(program())) :]


def test_a_row_is_the_mean_over_seeds_and_the_best_comes_first(synthetic: Synthetic) -> None:
    synthetic.grid(bits=(16, 64), seeds=3)
    found = rows_of(synthetic)
    assert len(found) == 2 * 4 * 2
    for row in found:
        maps = [
            one.metrics["map"]
            for one in synthetic.store.records()
            if (one.cell["method"], one.cell["bits"]) == (row["method"], row["bits"])
            and row["dataset"].startswith(one.titles["dataset"])
        ]
        assert len(maps) == 3
        assert row["map"] == pytest.approx(np.mean(maps), abs=1e-12)
        assert row["spread"] == pytest.approx(np.std(maps, ddof=1), abs=1e-12)
        assert row["seeds"] == [0, 1, 2]
    first = [row["map"] for row in found[:4]]
    assert first == sorted(first, reverse=True)


def test_other_set_ups_are_other_rows(synthetic: Synthetic) -> None:
    for changes in (
        {},
        {"settings": "defaults", "profile": "quick-untuned"},
        {"profile": "paper"},
        {"params": {"gamma": 2}},
        {"backbone": "vgg16"},
    ):
        synthetic.cell("dph", "nus-mini", 16, **changes)
    found = rows_of(synthetic)
    assert len(found) == 5
    assert {row["settings"] for row in found} == {"tuned (shipped)", "not tuned"}
    assert {row["needs"] for row in found} == {"pairs"}


def test_settings_are_told_as_tables_tell_them(synthetic: Synthetic) -> None:
    for params in ({}, {"gamma": 2, "mode": "authors"}):
        synthetic.cell("dph", "nus-mini", 16, params=params)
    (sheet,) = sheets(record_frame(synthetic.store.records()).assign(params='{"gamma": 2, "mode": "authors"}'))
    assert {row["title"] for row in rows_of(synthetic)} == {"DPH", *defaults(sheet).cells["title"]}
    assert {row["title"] for row in rows_of(synthetic)} == {"DPH", "DPH (gamma=2, mode=authors)"}


def test_what_does_not_count_is_in_no_row_and_is_told(synthetic: Synthetic, tmp_path: Path) -> None:
    old = synthetic.cell("dph", "nus-mini", 16)
    synthetic.cell("itq", "nus-mini", 16)
    synthetic.cell("lsh", "nus-mini", 16, status="failed", metrics={}, error={"kind": "x", "message": "m"})
    (synthetic.store.cells / ("a" * 64 + ".json")).write_text("no record")
    page = write_leaderboard(synthetic.store, tmp_path / "out", [old.key]).read_text()
    assert "1 row of 1 record: means" in page
    assert "1 of 1 row<" in page
    assert "1 that cannot be read, 1 stale, 1 without a score" in page
    assert 'href="#card-itq"' in page
    assert 'id="card-itq"' in page
    assert 'href="#card-dph"' not in page


def test_a_row_of_an_absent_plugin_is_marked_as_not_checked(synthetic: Synthetic, tmp_path: Path) -> None:
    synthetic.cell("dph", "nus-mini", 16)
    synthetic.cell("gone", "nus-mini", 16)
    told = {record.key: unchecked(record) for record in synthetic.store.records()}
    found = {row["method"]: row["unchecked"] for row in rows_of(synthetic, told=told)}
    assert found == {"dph": "", "gone": "method 'gone' is not known here (--plugin FILE)"}
    page = write_leaderboard(synthetic.store, tmp_path / "out", unchecked=told).read_text()
    assert page.count(">not checked</span>") == 1


def test_no_results_make_a_page_too(synthetic: Synthetic, tmp_path: Path) -> None:
    assert "No results yet" in write_leaderboard(synthetic.store, tmp_path / "out").read_text()


def test_words_of_plugins_stay_words(synthetic: Synthetic, tmp_path: Path) -> None:
    synthetic.cell("<script>alert(1)</script>", "nus-mini", 16, protocol='"><b>')
    page = write_leaderboard(synthetic.store, tmp_path / "out").read_text()
    assert "<script>alert" not in page
    assert '"><b>' not in page


def test_a_link_in_its_place_is_replaced_not_followed(synthetic: Synthetic, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "leaderboard.html").symlink_to(tmp_path / "mine.txt")
    write_leaderboard(synthetic.store, tmp_path / "out")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert not (tmp_path / "out" / "leaderboard.html").is_symlink()


@pytest.mark.parametrize(
    "words",
    [
        "--methods itq lsh --bits 8 --seeds 0 3",
        "--methods itq --bits 8 --set itq.iterations=7",
        "--methods itq --bits 8 --untuned",
        "--methods lsh --bits 8 --profile mine.toml",
    ],
)
def test_the_command_of_a_row_asks_for_the_very_records(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], make_lab: Any
) -> None:
    """Their keys are what it would compute: every cell of it is done."""
    monkeypatch.chdir(tmp_path)
    make_lab(tmp_path).features("my data.npz")
    (tmp_path / "mine.toml").write_text("[training]\nsteps = 3\n")
    run = ["--datasets", "features:my data.npz", "--jobs", "1", "--no-report", *words.split()]
    assert main(run) == 0
    synthetic = Synthetic(tmp_path / "results")
    found = rows_of(synthetic, tuple(stale_keys(synthetic.store)))
    assert found
    for row in found:
        capsys.readouterr()
        assert main([*words_of(row), "--dry-run"]) == 0
        told = capsys.readouterr().out
        assert told.startswith(f"{len(row['seeds'])} cell")
        assert [line.split()[0] for line in told.splitlines() if " bits seed " in line] == ["done"] * len(row["seeds"])
        assert all(key in told for key in row["keys"])


OWN = """
from benchmark import get_method, register_method
from benchmark.data import NamedDataset
import numpy as np
from benchmark import Split, Splits, register_dataset

@register_method("board-planes", title="Planes", needs="similarity", family="supervised")
class Planes(get_method("lsh")):
    pass

@register_dataset("board-dots", title="Dots")
class Dots(NamedDataset):
    protocol, map_cutoff, backbone, revision = "drawn", 10, None, "1"

    def __init__(self, argument=None, data_root=None):
        super().__init__()

    def check(self): pass

    def load(self):
        labels = np.arange(30) % 3
        rows = np.eye(3, 8, dtype="float32")[labels]
        return Splits(*(Split(features=rows + part, labels=labels) for part in (0, 1, 2)))
"""


@pytest.mark.parametrize("recorded", [True, False])
def test_what_came_by_a_plugin_is_named_with_its_file(
    recorded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_lab: Any
) -> None:
    """Of records of earlier versions, too, where the plugin is given; a process that has never seen the file obeys."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own board.py").write_text(OWN)
    lab = make_lab(tmp_path)
    run = ["--datasets", "board-dots", "--methods", "board-planes", "lsh", "--no-report", "--plugin", "own board.py"]
    assert lab.command(*run, "--bits", "8").code == 0
    synthetic = Synthetic(tmp_path / "results")
    if not recorded:
        for record in synthetic.store.records():
            record.titles = {name: record.titles[name] for name in ("method", "dataset")}
            synthetic.store.commit(record, synthetic.store.payload(record))
        load_plugin("own board.py")
    found = {row["method"]: row for row in rows_of(synthetic)}
    assert found["board-planes"]["needs"] == "pairs"
    assert found["lsh"]["needs"] == "no labels"
    for row in found.values():
        told = lab.command(*words_of(row), "--dry-run").text
        assert [line.split()[0] for line in told.splitlines() if " bits seed " in line] == ["done"]


@pytest.mark.parametrize(("started", "name"), [("hashbench", "hashbench"), ("run_all.py", "python run_all.py")])
def test_commands_are_said_by_the_name_that_was_typed(
    started: str, name: str, synthetic: Synthetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [started])
    assert f"run <code>{name}</code>" in write_leaderboard(synthetic.store, tmp_path / "empty").read_text()
    assert rerun([synthetic.cell("dph", "coco", 16)]).command.startswith(f"{name} --datasets coco")
    others = synthetic.cell("dph", "coco", 32, settings="codes only")
    assert rerun([others]).command.endswith(f"file them by {name} add-codes")


# In the browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    selenium = pytest.importorskip("selenium.webdriver", reason="needs selenium (the test extra)")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs Debian's chromium and chromium-driver")
    folder = tmp_path_factory.mktemp("board")
    made = Synthetic(folder / "results").grid(bits=(16, 64), seeds=2)
    made.cell("dph", "nus-mini", 16, settings="defaults", backbone="vgg16", protocol="published lists")
    page = write_leaderboard(made.store, folder / "out")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    opened.get(page.as_uri())
    yield opened
    opened.quit()


CHOOSE = """const one = document.querySelector(`[data-field="${arguments[0]}"]`);
one.value = arguments[1]; one.dispatchEvent(new Event("change"));"""


def visible(browser: Any, column: int) -> list[str]:
    script = """return [...document.querySelector("table").tBodies[0].rows].filter((row) => !row.hidden)
        .map((row) => row.cells[arguments[0]].textContent.trim())"""
    return browser.execute_script(script, column)


@pytest.mark.parametrize(
    ("field", "value", "column", "rows"),
    [
        ("dataset", "ImageNet-mini (miniature)", 6, 8),
        ("protocol", "published lists", 7, 1),
        ("backbone", "mini-cnn", 8, 16),
        ("bits", "64", 5, 8),
        ("needs", "pairs", 10, 9),
        ("settings", "not tuned", 11, 1),
    ],
)
def test_every_filter_keeps_what_it_says(browser: Any, field: str, value: str, column: int, rows: int) -> None:
    browser.execute_script(CHOOSE, field, value)
    assert visible(browser, column) == [value] * rows
    assert browser.find_element("id", "count").text == f"{rows} of 17 rows"
    browser.execute_script(CHOOSE, field, "")
    assert len(visible(browser, column)) == 17


def test_filters_hold_together_and_words_too(browser: Any) -> None:
    browser.execute_script(CHOOSE, "bits", "16")
    browser.execute_script(CHOOSE, "needs", "pairs")
    browser.find_element("id", "words").send_keys("hashnet")
    assert visible(browser, 0) == ["HashNet", "HashNet"]
    browser.refresh()


def test_sorting(browser: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    head = browser.find_elements("css selector", "thead button")[2]
    head.send_keys(Keys.ENTER)
    down = [float(text.split()[0]) for text in visible(browser, 2)]
    assert down == sorted(down, reverse=True)
    head.send_keys(Keys.ENTER)
    assert [float(text.split()[0]) for text in visible(browser, 2)] == sorted(down)


@pytest.mark.parametrize("link", ["#card-dph", "#made-1"])
def test_a_row_leads_to_its_card_and_its_origin(browser: Any, link: str) -> None:
    browser.execute_script("document.querySelector(`td a[href='${arguments[0]}']`).click()", link)
    browser.execute_async_script("setTimeout(arguments[0], 100)")
    target = browser.find_element("css selector", link)
    assert target.get_attribute("open") is not None
    assert len(target.text) > 40


def test_a_row_tells_how_to_rerun_it(browser: Any) -> None:
    browser.execute_script("document.querySelector('td details').open = true")
    assert browser.find_element("css selector", "td code").text.startswith(f"{program()} --datasets")


def test_nothing_scrolls_sideways_on_a_phone(browser: Any) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    )
    wide, narrow = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= narrow


def test_no_console_error_and_no_network_request(browser: Any) -> None:
    """Last: everything above has been clicked by now."""
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert any(url.startswith("file:") for url in urls)
    assert not [url for url in urls if not url.startswith(("file:", "data:", "chrome:", "about:"))]
