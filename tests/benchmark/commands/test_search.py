"""`search`: a picture's own code is nearest to itself, a page shows what was found, and bad input costs a line."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmark import load_model
from benchmark.commands.search import print_kind
from benchmark.data.cache import telling
from benchmark.evaluation.codes import unpack
from benchmark.execution.store import Store

Search = Callable[..., tuple[int, str, str]]


@pytest.fixture
def search(command: Callable[..., Any], picture_cells: Path, tmp_path: Path) -> Search:
    """Search by the kept itq for a picture of the lists, in a copy of the folder."""
    shutil.copytree(picture_cells / "l", tmp_path / "l", copy_function=shutil.copy2)

    def call(*words: Any, query: str = "l/red/00.png", cell: str = "itq 8") -> tuple[int, str, str]:
        return command("search", cell, "--query", query, "--results", picture_cells / "results", *words)

    return call


def found(out: str) -> list[tuple[int, str]]:
    """(distance, name) of the lines that were printed."""
    return [(int(one[0]), one[1]) for one in re.findall(r"^ *\d+  distance +(\d+)  (\S+)", out, re.MULTILINE)]


@pytest.mark.parametrize("index", ["scan", "lookup", "multi"])
def test_the_nearest_to_a_picture_is_itself_and_the_page_shows_it(search: Search, tmp_path: Path, index: str) -> None:
    code, out, err = search("--database", "l", "--top", 5, "--index", index)
    assert (code, err) == (0, "")
    pairs = found(out)
    assert len(pairs) == 5
    assert pairs == sorted(pairs)
    assert (0, "red/00.png") in pairs
    page = (tmp_path / "search.html").read_text()
    assert page.count("data:image/png;base64,") == 6
    assert page.count("<i>red</i>") + page.count("<i>blue</i>") == 5
    assert not re.search(r"(src|href)=\"(?!data:)", page)


def test_a_radius_holds_exactly_what_is_that_near(search: Search) -> None:
    everything = found(search("--database", "l", "--top", 100)[1])
    assert len(everything) == 24
    assert found(search("--database", "l", "--radius", 2)[1]) == [one for one in everything if one[0] <= 2]


def test_the_cells_own_database_is_found_with_labels_and_pictures(search: Search, picture_cells: Path) -> None:
    code, out, _ = search("--database", "codes", "--top", 20)
    store = Store(picture_cells / "results")
    record = next(one for one in store.records() if one.cell["method"] == "itq")
    arrays = {part: unpack(store.payload(record)[f"{part}_codes"], 8) for part in ("query", "database")}
    expected = (arrays["query"][0] != arrays["database"]).sum(axis=1)
    assert code == 0
    assert [distance for distance, _ in found(out)] == sorted(expected.tolist())


def test_a_file_of_codes_is_searched_with_names_and_pictures_where_they_are_known(
    search: Search, picture_cells: Path, tmp_path: Path
) -> None:
    names = [name for _, name in found(search("--database", "l", "--top", 24)[1])]
    model = load_model("itq 8", results=picture_cells / "results")
    codes = model.encode([str(tmp_path / "l" / name) for name in names])
    np.savez("codes.npz", codes=np.packbits(codes > 0, axis=1), bits=8, names=np.array(names))
    code, out, err = search("--database", "codes.npz", "--images", "l", "--top", 3)
    assert (code, err, len(found(out))) == (0, "", 3)
    assert (tmp_path / "search.html").read_text().count("data:image/png") == 4
    assert search("--database", "codes.npz", "--top", 3)[0] == 0
    assert (tmp_path / "search.html").read_text().count(">no picture<") == 3
    np.savez("codes.npz", codes=~np.packbits(codes > 0, axis=1), bits=8, names=np.array(names))
    code, out, err = search("--database", "codes.npz", "--images", "l")
    assert (code, out, "they are of another model, or the pictures have changed" in err) == (2, "", True)


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "faiss"])
def test_whatever_encode_writes_is_searched_and_codes_of_another_model_are_refused_where_the_file_says_so(
    search: Search, command: Callable[..., Any], picture_cells: Path, kind: str
) -> None:
    if kind == "faiss":
        pytest.importorskip("faiss")
    words = ("encode", "itq 8", "--results", picture_cells / "results", "--images", "l", "--out", f"c.{kind}")
    assert command(*words)[0] == 0
    expected = found(search("--database", "l", "--top", 5)[1])
    code, out, err = search("--database", f"c.{kind}", "--top", 5)
    assert (code, found(out)) == (0, expected)
    assert ("does not say which model made its codes" in err) == (kind != "npz")
    code, out, err = search("--database", f"c.{kind}", cell="lsh 8")
    assert code == (2 if kind == "npz" else 0)
    assert ("not by 'lsh l 8 bits seed 0'" in err) == (kind == "npz")


@pytest.mark.parametrize("index", ["scan", "lookup", "multi"])
def test_without_faiss_the_answer_is_the_same(search: Search, monkeypatch: pytest.MonkeyPatch, index: str) -> None:
    pytest.importorskip("faiss")
    words = ("--database", "l", "--top", 7, "--index", index)
    expected = found(search(*words)[1])
    known = importlib.util.find_spec
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "faiss" else known(name, *more)
    )
    code, out, err = search(*words)
    assert (code, err, found(out)) == (0, "", expected)


def test_what_changed_in_a_folder_is_told_and_only_that_is_encoded_again(search: Search, tmp_path: Path) -> None:
    assert search("--database", "l")[2] == ""
    (tmp_path / "l" / "red" / "02.png").unlink()
    (tmp_path / "l" / "red" / "new.png").write_bytes((tmp_path / "l" / "blue" / "01.png").read_bytes())
    (tmp_path / "l" / "broken.jpg").write_bytes(b"no picture")
    heard: list[tuple[str, int, int]] = []
    with telling(lambda *told: heard.append(told)):
        code, out, err = search("--database", "l", "--top", 100)
    assert code == 0
    assert "the folder has changed since its codes were kept: 2 new, 0 changed, 1 gone" in err
    assert "left out: image l/broken.jpg is no image" in err
    assert {name for _, name in found(out)} >= {"red/new.png", "blue/01.png"}
    assert len(found(out)) == 24
    assert {total for what, _, total in heard if "encoding" in what} == {2}
    heard.clear()
    with telling(lambda *told: heard.append(told)):
        again = search("--database", "l", "--top", 100)
    assert found(again[1]) == found(out)
    assert "changed" not in again[2]
    assert not any("encoding" in what for what, _, _ in heard)


@pytest.mark.parametrize(
    ("words", "more", "told"),
    [
        (("--database", "l"), {"query": "no.png"}, "--query no.png: no such file"),
        (("--database", "l"), {"query": "bad.png"}, "bad.png is no image that can be read"),
        (("--database", "l"), {"cell": "zebra"}, "matches 'zebra'"),
        (("--database", "l"), {"cell": "8"}, "means 2 cells"),
        (("--database", "nowhere"), {}, "--database nowhere: no such folder or file"),
        (("--database", "bad.png"), {}, "a folder of images, a file of codes (.npz, .npy, .csv, .faiss, .mat"),
        (("--database", "wide.npy"), {}, "makes codes of 8 bits"),
        (("--database", "empty"), {}, "there is no image in this folder"),
        (("--database", "l", "--out", "no/x.html"), {}, "--out no/x.html: its folder does not exist"),
    ],
)
def test_bad_input_costs_a_line(search: Search, tmp_path: Path, words: Any, more: Any, told: str) -> None:
    (tmp_path / "bad.png").write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    np.save("wide.npy", np.ones((3, 16), np.int8))
    code, _, err = search(*words, **more)
    assert (code, err.count("\n")) == (2, 1)
    assert told in err
    assert not (tmp_path / "search.html").exists()


@pytest.mark.parametrize(("miniature", "word", "told"), [(True, "mine", 1), (True, "codes", 0), (False, "mine", 0)])
def test_a_model_of_a_miniature_says_that_it_knows_no_photographs(
    miniature: bool, word: str, told: int, capsys: pytest.CaptureFixture[str]
) -> None:
    record: Any = SimpleNamespace(miniature=miniature)
    print_kind([record, record], word)
    assert capsys.readouterr().err.count("drawn digits") == told
