"""`serve`: a picture in, its neighbours out; on this machine only, of bounded size, and nobody names a path."""

from __future__ import annotations

import argparse
import http.client
import io
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmark.commands import serve
from benchmark.errors import UsageError
from benchmark.execution.model import Model
from benchmark.execution.store import Store


@pytest.fixture(scope="module")
def server(picture_cells: Path) -> Iterator[serve.PictureServer]:
    """Both cells over the folder of pictures, on any free port."""
    words = {"database": str(picture_cells / "l"), "images": None, "index": "scan", "stale": False}
    args = argparse.Namespace(cells=["itq", "lsh"], **words)
    cells = serve.searched_cells(args, Store(picture_cells / "results"))
    with serve.make_server(cells, 3, 0) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()


def asked(server: Any, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str, Any]:
    connection = http.client.HTTPConnection(serve.HOST, server.server_port, timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


def test_what_two_cells_have_in_common_is_said_once_and_what_a_miniature_knows_first(
    picture_cells: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(picture_cells / "l", tmp_path / "l")
    (tmp_path / "l" / "bad.png").write_bytes(b"no picture")
    store = Store(picture_cells / "results")
    drawn = [replace(record, miniature=True) for record in store.records()]
    monkeypatch.setattr("benchmark.execution.model.find_record", lambda cell, store: drawn.pop())
    encode, heard = Model.chunks, []
    monkeypatch.setattr(Model, "chunks", lambda *given: heard.append(capsys.readouterr().err) or encode(*given))
    words = {"database": str(tmp_path / "l"), "images": None, "index": "scan", "stale": False}
    assert len(serve.searched_cells(argparse.Namespace(cells=["itq", "lsh"], **words), store)) == 2
    assert heard[0].count("drawn digits") == 1
    after = "".join([*heard[1:], capsys.readouterr().err])
    assert (after.count("drawn digits"), after.count("left out: ")) == (0, 1)


def test_a_picture_is_answered_by_both_cells_with_distances_and_times(server: Any, picture_cells: Path) -> None:
    status, text, headers = asked(server, "POST", "/search", (picture_cells / "l" / "blue" / "05.png").read_bytes())
    assert (status, headers["X-Content-Type-Options"]) == (200, "nosniff")
    assert text.count("<section>") == 2
    assert text.index("itq") < text.index("lsh")
    assert text.count('<li data-distance="0">') >= 2
    assert text.count("data:image/png") == 6
    assert text.count("searched in") == 2
    assert "blue/05.png" in text


def test_it_listens_on_the_loopback_address_only_and_says_where_else_it_is_refused(server: Any) -> None:
    assert server.server_address[0] == "127.0.0.1"
    status, text, headers = asked(server, "GET", "/")
    assert (status, "Drop a picture" in text) == (200, True)
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert asked(server, "GET", "/", Host="evil.example")[0] == 403
    assert asked(server, "POST", "/search", b"x", Host="evil.example")[0] == 403
    assert asked(server, "POST", "/search", b"x", Origin="http://evil.example")[0] == 403
    assert asked(server, "POST", "/search", b"x", Origin=f"http://localhost:{server.server_port}")[0] == 400


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/search/../x", "/l/red/00.png", "/%2e%2e/", "//x", "/search?a=/etc"]
)
def test_no_path_leads_anywhere(server: Any, path: str) -> None:
    assert asked(server, "GET", path)[0] == 404
    assert asked(server, "POST", path, b"x")[0] == 404


def test_what_is_no_picture_too_large_or_of_no_size_is_refused(server: Any) -> None:
    status, text, _ = asked(server, "POST", "/search", b"<svg onload=alert(1)>")
    assert (status, text.startswith("this is no picture that can be read")) == (400, True)
    assert asked(server, "POST", "/search", None, Content_Length=str(serve.LARGEST + 1))[0] == 413
    for size in ("-1", "many", "1e3", ""):
        assert asked(server, "POST", "/search", None, Content_Length=size)[0] == 411
    assert asked(server, "PUT", "/search", b"x")[0] == 501


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_unpacked() -> None:
    from PIL import Image

    bomb = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(bomb, "PNG")
    with pytest.raises(UsageError, match="too many pixels"):
        serve.decoded_upload(bomb.getvalue())


def test_bad_words_cost_a_line(command: Any, picture_cells: Path, server: Any) -> None:
    words = ("--database", picture_cells / "l", "--results", picture_cells / "results")
    for cells, more, told in (
        (["a", "b", "c"], (), "3 cells, expected one or two"),
        (["itq"], ("--port", 70_000), "expected 0 to 65535"),
        (["itq"], ("--port", server.server_port), "give another --port"),
    ):
        code, _, err = command("serve", *cells, *words, *more)
        assert (code, err.count("\n"), told in err) == (2, 1, True)


def test_signals_end_it_and_its_port_is_free_again(lab: Any, picture_cells: Path) -> None:
    words = ["serve", "itq", "--database", picture_cells / "l", "--results", picture_cells / "results", "--port"]
    port = 0
    for number in (signal.SIGINT, signal.SIGTERM):
        process = lab.start(*words, port)
        (port,) = map(int, lab.wait_for(lambda: re.findall(r"http://127.0.0.1:(\d+)/", lab.told()), process=process))
        body = (picture_cells / "l" / "red" / "02.png").read_bytes()
        assert asked(SimpleNamespace(server_port=port), "POST", "/search", body)[0] == 200
        process.send_signal(number)
        assert process.wait(30) == 0
        assert lab.told().endswith("\nended\n")
        assert "Traceback" not in lab.told()


def test_a_browser_that_goes_away_is_no_traceback_and_others_are(server: Any, capsys: Any) -> None:
    for error, told in ((ConnectionResetError(), 0), (BrokenPipeError(), 0), (KeyError("x"), 1)):
        try:
            raise error
        except (OSError, KeyError):
            server.handle_error(None, ("127.0.0.1", 1))
        assert capsys.readouterr().err.count("Traceback") == told


def test_a_browser_shows_the_neighbours_of_what_is_chosen_and_what_is_dropped(
    server: Any, picture_cells: Path, tmp_path: Path
) -> None:
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium (the test extra)")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs Debian's chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        browser.get(f"http://127.0.0.1:{server.server_port}/")
        chooser = browser.find_element("id", "file")
        chooser.send_keys(str(picture_cells / "l" / "red" / "02.png"))
        assert answered(browser, 1) == ["itq", "lsh"]
        assert shown(browser, "naturalWidth") == [32] * 6
        assert browser.execute_script("return document.querySelector('#out').innerText").count("distance 0") >= 2
        browser.execute_script(DROP, list((picture_cells / "l" / "blue" / "03.png").read_bytes()))
        assert answered(browser, 2) == ["itq", "lsh"]
        assert "blue/03.png" in browser.find_element("id", "out").text
        (tmp_path / "bad.png").write_bytes(b"no picture")
        chooser.send_keys(str(tmp_path / "bad.png"))
        assert answered(browser, 3) == []
        assert browser.find_element("id", "out").text.startswith("this is no picture that can be read")
        expected = ("favicon", "400")  # that there is no icon, and that the last picture was refused
        assert not [one for one in browser.get_log("browser") if not any(word in one["message"] for word in expected)]
    finally:
        browser.quit()


DROP = """
const data = new DataTransfer();
data.items.add(new File([new Uint8Array(arguments[0])], "dropped.png", {type: "image/png"}));
document.getElementById("zone").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
"""


def answered(browser: Any, times: int) -> list[str]:
    """The method of each list, as soon as the page has been answered so many times."""
    end = time.monotonic() + 60
    while browser.execute_script("return Number(document.getElementById('out').dataset.done) || 0") < times:
        assert time.monotonic() < end, "the page has not been answered"
        time.sleep(0.05)
    return [one.text.split()[0] for one in browser.find_elements("css selector", "#out h2")]


def shown(browser: Any, what: str) -> list[Any]:
    script = "return [...document.querySelectorAll('#out img')].map((one) => one[arguments[0]])"
    return [*np.array(browser.execute_script(script, what)).tolist()]
