"""index.html: self-contained, escaped, and alive in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from benchmark.program import typed
from benchmark.report import render

EVIL = "<img src=x onerror=alert(1)>\"'</script>"


class Links(HTMLParser):
    """Everything a page would fetch, and the elements it has."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.images: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        if tag == "img":
            self.images.append(values)
        if tag != "a":
            self.fetched += [values[name] or "" for name in ("src", "href", "srcset") if name in values]


def parsed(index: Path) -> Links:
    links = Links()
    links.feed(index.read_text(encoding="utf-8"))
    return links


def test_the_page_fetches_nothing(rendered: Path) -> None:
    assert all(url.startswith("data:") for url in parsed(rendered / "index.html").fetched)


def test_headings_and_alternative_texts(rendered: Path) -> None:
    links = parsed(rendered / "index.html")
    assert links.tags.count("h1") == 1
    assert links.tags.index("h2") < links.tags.index("h3")
    shown = [image for image in links.images if image.get("src")]
    assert shown
    assert all(image.get("alt") for image in shown)


def test_names_from_plugins_are_escaped(synthetic, undrawn, tmp_path: Path) -> None:
    titles = {"method": EVIL, "dataset": EVIL}
    error = {"kind": "E", "message": EVIL, "traceback": ""}
    synthetic.cell("itq", "nus-mini", 16, titles=titles)
    synthetic.cell("lsh", "nus-mini", 16, titles=titles, status="failed", error=error, metrics={})
    html = render(synthetic.store, tmp_path).read_text(encoding="utf-8")
    assert "<img src=x" not in html
    links = parsed(tmp_path / "index.html")
    assert not [image for image in links.images if "onerror" in image]
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert data
    assert json.loads(data[1])["charts"][0]["series"][0]["title"] == f"{EVIL} (itq)"


def test_nothing_of_an_ordinary_report_fails_to_be_shown(rendered: Path) -> None:
    """What fails is named on the page instead of raised; so that nothing fails must be looked at."""
    html = (rendered / "index.html").read_text(encoding="utf-8")
    assert "could not be shown" not in html


def test_failures_audits_and_provenance_are_shown(rendered: Path) -> None:
    html = (rendered / "index.html").read_text(encoding="utf-8")
    assert "needs &lt;b&gt;labels&lt;/b&gt; &amp; more" in html
    assert "2 rows without a label" in html
    assert "torch 2.13.0" in html


def test_the_headline_names_the_leader_and_its_interval(rendered: Path) -> None:
    html = (rendered / "index.html").read_text(encoding="utf-8")
    headline = re.search(r'<p class="headline">(.*?)</p>', html, re.S)
    assert headline
    assert re.search(
        r"DPH has the highest mean MAP@100 of the 4 methods compared: 0\.\d{3}, 0\.\d{3} above HashNet \(95 % int",
        headline[1],
    )


def test_a_failure_explains_itself_with_its_whole_traceback(synthetic, undrawn, tmp_path: Path) -> None:
    traceback = (
        "Traceback (most recent call last):\n" + "".join(f"    line {n} <b>\n" for n in range(200)) + "KeyError: 7"
    )
    error = {"kind": "KeyError", "message": "KeyError: 7", "traceback": traceback}
    synthetic.cell("itq", "nus-mini", 16, status="failed", error=error, metrics={})
    html = render(synthetic.store, tmp_path).read_text(encoding="utf-8")
    shown = re.search(r"<pre>(.*?)</pre>", html, re.S)
    assert shown
    assert unescape(shown[1]) == traceback
    assert "<details><summary>whole traceback</summary>" in html
    assert f"Also by <code>{typed(['why', '000000000000'])}</code>" in html


def test_a_log_is_named_where_there_is_one(synthetic, undrawn, tmp_path: Path) -> None:
    error = {"kind": "E", "message": "E", "traceback": "Traceback"}
    synthetic.cell("itq", "nus-mini", 16, status="failed", error=error, metrics={})
    assert "<code>logs/" not in render(synthetic.store, tmp_path).read_text(encoding="utf-8")
    (key,) = synthetic.store.keys()
    synthetic.store.end_log(key, "Traceback")
    html = render(synthetic.store, tmp_path, force=True).read_text(encoding="utf-8")
    assert f"<code>logs/{key[:12]}….log</code>" in html


def test_collapsed_codes_name_their_remedy(synthetic, undrawn, tmp_path: Path) -> None:
    health = {"doubts": ["COLLAPSED to 3 codes"], "remedy": "lower the learning rate"}
    synthetic.cell("itq", "nus-mini", 16, health=health)
    assert "COLLAPSED to 3 codes: lower the learning rate" in render(synthetic.store, tmp_path).read_text()


def test_what_all_tables_share_is_said_once(rendered: Path) -> None:
    html = (rendered / "index.html").read_text(encoding="utf-8")
    visible = re.sub(r"<script.*?</script>", "", html, flags=re.S)
    assert len(re.findall(r"<table data-table=\"(?!problems)", visible)) > 5
    assert visible.count("Ties: expected; AP divided by: hits") == 1


def test_a_miniature_is_not_set_against_published_numbers(rendered: Path) -> None:
    assert not list((rendered / "tables").glob("published*"))


# --- in a browser ------------------------------------------------------------------------------------------

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1200,1600",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium with the page open from disk; every request and console message is recorded."""
    selenium = pytest.importorskip("selenium.webdriver", reason="needs selenium (the test extra)")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs Debian's chromium and chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    opened.get((rendered / "index.html").as_uri())
    yield opened
    opened.quit()


def column(browser: Any, table: str, index: int) -> list[str]:
    script = """return [...document.querySelector(`table[data-table="${arguments[0]}"]`).tBodies[0].rows]
        .filter((row) => !row.hidden).map((row) => row.cells[arguments[1]].dataset.value)"""
    return browser.execute_script(script, table, index)


def test_sorting_by_keyboard(browser: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    table = "map-quick-mini-cnn"
    head = browser.find_elements("css selector", f'table[data-table="{table}"] thead tr:last-child th button')[1]
    head.send_keys(Keys.ENTER)
    down = [float(value) for value in column(browser, table, 1) if value]
    head.send_keys(Keys.ENTER)
    up = [float(value) for value in column(browser, table, 1) if value]
    assert down == sorted(down, reverse=True)
    assert up == sorted(up)
    assert len(up) == 4
    assert column(browser, table, 1)[-1] == ""  # the skipped cell stays last
    cell = browser.execute_script("return document.querySelector('table[data-table] tfoot td').textContent")
    assert cell == "Chance"


def test_the_page_opens_with_the_picture(browser: Any) -> None:
    """Above every table, loaded, and named."""
    script = """const image = document.querySelector("#opening img");
        const [picture, table] = [image, document.querySelector("table")].map((one) => one.getBoundingClientRect());
        return [image.naturalWidth, picture.bottom <= table.top, image.alt]"""
    width, above, words = browser.execute_script(script)
    assert width > 500
    assert above
    assert words.startswith("MAP@100 against the number of bits")


def visible_tables(browser: Any) -> list[str]:
    script = """return [...document.querySelectorAll("table[data-table]")].filter((one) => one.offsetParent)
        .map((one) => one.dataset.table)"""
    return browser.execute_script(script)


def test_tables_of_one_kind_are_folded_behind_tabs(browser: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    first, second = "map-quick-mini-cnn", "groups-quick-mini-cnn"
    assert first in visible_tables(browser)
    assert second not in visible_tables(browser)
    tab = browser.find_element("id", f"tab-{second}")
    tab.click()
    assert second in visible_tables(browser)
    assert first not in visible_tables(browser)
    assert tab.get_attribute("aria-selected") == "true"
    tab.send_keys(Keys.ARROW_LEFT)
    assert first in visible_tables(browser)
    browser.execute_script(f"location.hash = '{second}'")
    browser.execute_async_script("setTimeout(arguments[0], 50)")
    assert second in visible_tables(browser)
    browser.find_element("id", f"tab-{first}").click()


def test_on_paper_no_table_is_folded(browser: Any) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = visible_tables(browser)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert {"map-quick-mini-cnn", "groups-quick-mini-cnn"} <= set(shown)


def test_filtering(browser: Any) -> None:
    table = "map-quick-mini-cnn"
    box = browser.find_element("css selector", f'input[data-filter="{table}"]')
    box.send_keys("itq")
    assert column(browser, table, 0) == ["ITQ"]
    box.clear()
    box.send_keys(" ")
    assert len(column(browser, table, 0)) == 5


def test_the_query_can_be_switched_in_the_retrieval_browser(browser: Any) -> None:
    def shown() -> str:
        return browser.find_element("id", "results-left").text

    queries = browser.find_elements("css selector", "#browser-queries button")
    queries[0].click()
    first = shown()
    queries[1].click()
    assert shown() != first
    assert queries[1].get_attribute("aria-pressed") == "true"
    assert browser.find_element("id", "score-left").text.startswith("P@10 = ")
    assert len(browser.find_elements("css selector", "#results-right li")) == 10
    assert "Class names instead of images" in browser.find_element("id", "browser-why").text


def test_the_explorer_shows_one_line_per_ticked_method(browser: Any) -> None:
    def lines() -> int:
        return len(browser.find_elements("css selector", "#chart polyline"))

    assert lines() == 4
    browser.find_element("css selector", "#chart-legend input").click()
    assert lines() == 3
    browser.execute_script(
        "const s = document.getElementById('chart-kind'); s.value = 'P@N'; s.dispatchEvent(new Event('change'))"
    )
    assert "N" in browser.find_element("css selector", "#chart svg").text


def test_figures_zoom_and_close(browser: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.find_element("css selector", "button.zoom").send_keys(Keys.ENTER)
    dialog = browser.find_element("id", "zoomed")
    assert dialog.get_attribute("open") is not None
    browser.find_element("id", "zoom-close").click()
    assert dialog.get_attribute("open") is None


def test_copy_latex_says_so(browser: Any) -> None:
    browser.find_element("css selector", "button[data-copy]").click()
    status = browser.find_element("css selector", "[data-status]")
    for _ in range(50):
        if status.text:
            break
        browser.execute_async_script("setTimeout(arguments[0], 50)")
    assert status.text == "copied"


def test_nothing_scrolls_sideways_on_a_phone(browser: Any) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
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


def test_one_cell_is_one_cell(synthetic, undrawn, tmp_path: Path) -> None:
    """ "1 cells" stood in the provenance of every report of one."""
    old = synthetic.cell("itq", "nus-mini", 16)
    render(synthetic.store, tmp_path)
    assert "<summary>1 cell, " in (tmp_path / "index.html").read_text()
    render(synthetic.store, tmp_path, stale=[old.key])
    page = (tmp_path / "index.html").read_text()
    assert ": 1 cell</li>" in page
    assert "1 cells" not in page


def test_queries_of_several_labels_are_not_said_to_share_none(synthetic, undrawn, tmp_path: Path) -> None:
    """They are drawn by their first class: two with other first classes may both have a third."""
    for method in ("itq", "lsh"):
        synthetic.cell(method, "nus-mini", 16)
    render(synthetic.store, tmp_path)
    assert "no two with the same first class" in (tmp_path / "index.html").read_text()
