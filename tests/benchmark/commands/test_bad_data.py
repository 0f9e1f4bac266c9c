"""Bad data: features files, class folders, lists, pairs, and a cache that was damaged."""

from __future__ import annotations

import os
import shlex
import shutil
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmark.commands import main
from tests.benchmark.commands.conftest import (
    HUGE,
    LONG,
    PICTURES,
    Case,
    Place,
    Setup,
    arrays,
    bad,
    cases,
    class_names,
    cut,
    features,
    fifo,
    fine,
    folder,
    link,
    lists,
    moved,
    npy,
    overwrite,
    pair_lines,
    pairs,
    pictures,
    run,
    text,
)

# Features files


def badly(name: str, told: str, *given: Setup, command: str = "run") -> Case:
    words = run() if command == "run" else f"{command} features:x.npz"
    return bad(f"features: {name}", words, told, *given)


ROWS = np.arange(12) % 3
FEATURES = [
    *(badly(f"without {name}", name, features(**{name: None})) for name in arrays()),
    badly("empty file", "x.npz", text("x.npz", "")),
    badly("text", "x.npz", text("x.npz", "hello")),
    badly("a bare array", "x.npz", npy("y.npy", np.zeros(3)), moved("y.npy", "x.npz")),
    badly("an archive of other things", "x.npz",
          lambda place: zipfile.ZipFile(place.path("x.npz"), "w").writestr("a.txt", "hello")),
    *(badly(f"cut at {share}", "x.npz", cut("x.npz", share)) for share in (0.01, 0.5, 0.99)),
    badly("a damaged member", "x.npz", lambda place: overwrite(place.path("x.npz"), 100)),
    badly("objects", "train_features", features(train_features=np.array([[{}]] * 12, object))),
    badly("object labels", "train_labels", features(train_labels=np.array(list("abcabcabcabc"), object))),
    *(badly(f"features {value}", "train_features", features(train_features=np.full((12, 4), value)))
      for value in (np.nan, np.inf, 1e300)),
    badly("one NaN in the queries", "row 2", features(query_features=np.where(np.eye(6, 4, -2) > 0, np.nan, 1.0))),
    badly("complex features", "train_features", features(train_features=np.ones((12, 4), complex))),
    badly("features of words", "train_features", features(train_features=np.full((12, 4), "x"))),
    badly("features of one dimension", "train_features", features(train_features=np.zeros(12))),
    badly("features of three dimensions", "train_features", features(train_features=np.zeros((12, 2, 2)))),
    badly("features of another width", "query_features", features(query_features=np.zeros((6, 5)))),
    badly("no columns", "train_features", features(train_features=np.zeros((12, 0)))),
    badly("no rows", "train_features", features(train_features=np.zeros((0, 4)), train_labels=np.zeros(0, int))),
    badly("no queries", "query_features", features(query_features=np.zeros((0, 4)), query_labels=np.zeros(0, int))),
    badly("labels of three dimensions", "train_labels", features(train_labels=np.zeros((12, 3, 1), int))),
    badly("labels without dimension", "train_labels", features(train_labels=np.array(3))),
    badly("labels one short", "train_labels", features(train_labels=ROWS[:11])),
    badly("labels 1.5", "train_labels", features(train_labels=ROWS + 0.5)),
    badly("labels NaN", "train_labels", features(train_labels=np.full(12, np.nan))),
    badly("labels of words", "train_labels", features(train_labels=np.array(["cat", "dog", "cow"])[ROWS])),
    badly("labels of dates", "train_labels", features(train_labels=np.full(12, "2020-01-01", "M8[D]"))),
    *(badly(f"class number {number}", str(number), features(train_labels=np.where(ROWS == 2, number, ROWS)))
      for number in (-2, 10**9, 2**62)),
    badly("class number 10^9 in the queries", str(10**9), features(query_labels=np.array([0, 1, 2, 0, 1, 10**9]))),
    badly("multi-hot with a 2", "train_labels", features(train_labels=2 * np.eye(3, dtype=int)[ROWS])),
    badly("multi-hot NaN", "train_labels", features(train_labels=np.full((12, 3), np.nan))),
    badly("multi-hot beside numbers", "labels", features(train_labels=np.eye(3, dtype=int)[ROWS])),
    badly("multi-hot of other widths", "query_labels",
          features(**{f"{p}_labels": np.eye(3 + (p == "query"), dtype=int)[np.arange(n) % 3]
                      for p, n in (("train", 12), ("query", 6), ("database", 12))})),
    *(badly(f"map_cutoff {value}", "map_cutoff", features(map_cutoff=np.array(value)))
      for value in (-1, 1.5, np.nan, "many", [1, 2], True, [])),
    badly("map_cutoff 10^30", "map_cutoff", features(map_cutoff=np.array(HUGE, object))),
    badly("two class names for three", "class_names", features(class_names=["cat", "dog"])),
    badly("one class name twice", "class_names", features(class_names=["cat", "dog", "cat"])),
    badly("an empty class name", "class_names", features(class_names=["cat", "", "dog"])),
    badly("one id short", "query_ids", features(query_ids=[str(row) for row in range(5)])),
    badly("in an audit too", "train_features", features(train_features=np.full((12, 4), np.nan)), command="audit"),
    badly("in preparation too", "train_labels", features(train_labels=ROWS[:11]), command="prepare"),
    bad("features: in tuning too", "tune --datasets features:x.npz --methods lsh", "train_labels",
        features(train_labels=ROWS[:11])),
    bad("features: in why too", "why --datasets features:x.npz --methods lsh", "x.npz", text("x.npz", "hello")),
    *(fine(f"features: labels of {kind}", "audit features:x.npz", "classes: 3", features(train_labels=ROWS.astype(kind),
           query_labels=ROWS[:6].astype(kind), database_labels=ROWS.astype(kind)))
      for kind in ("u1", "u2", "u4", "u8", "i1", "i2")),
    *(fine(f"features: rows of {kind}", run(), "1 cell:", features(train_features=np.ones((12, 4), kind)))
      for kind in ("f2", "f8", "i1", "u1")),
    fine("features: queries in the database", "audit features:x.npz", "6 of 6 query rows",
         features(query_ids=list("abcdef"), database_ids=list("abcdefghijkl")), code=1),
    fine("features: one row twice", "audit features:x.npz", "1 duplicate row ", features(query_ids=list("abcdee"))),
    fine("features: rows without a label", "audit features:x.npz", "rows in train without a label",
         features(train_labels=np.where(ROWS == 2, -1, ROWS))),
    fine("features: a cache that keeps nothing", run(), "1 cell:", text("../cache/checked", "a file"),
         text("../cache/hashes", "a file")),
    fine("features: hostile class names", "audit features:x.npz", "classes: 3",
         features(class_names=["$x_{$", "[/x]", "=1+1\n"])),
]  # fmt: skip

# Class folders


def in_folder(name: str, told: str, *given: Setup) -> Case:
    return bad(f"folder: {name}", run(datasets=["folder:d"]), told, *given)


FOLDERS = [
    in_folder("empty", "sub-folders", folder("d")),
    in_folder("one class", "sub-folders", pictures("d", ["cat"])),
    in_folder("a class without pictures", "cow", PICTURES, folder("d/cow")),
    in_folder("a class of text", "cow", PICTURES, text("d/cow/a.txt", "moo")),
    in_folder("capitals only", "capitals", pictures("d", ["cat", "CAT"])),
    in_folder("one picture per class", "query", pictures("d", each=1)),
    in_folder("a class of two lines", "lines", pictures("d", ["cat", "two\nlines"])),
    in_folder("a picture of two lines", "lines", PICTURES, moved("d/cat/a0.png", "d/cat/two\nlines.png")),
    bad("folder: prepared into a file", "prepare folder:d --no-features --lists x.npz", "x.npz", PICTURES),
    bad("folder: prepared below a file", "prepare folder:d --no-features --lists x.npz/l", "x.npz/l", PICTURES),
    bad("folder: prepared where nothing can be made", "prepare folder:d --no-features --lists /proc/none",
        "/proc/none", PICTURES),
    fine("folder: not ready", "prepare folder:d --dry-run", "not ready", folder("d"), code=1),
    *(fine(f"folder: a class called {name!r}", "audit folder:d", "classes: 2", pictures("d", ["cat", name]))
      for name in ("$x_{$", "[bold]", "=1+1", "-x", "@x", "a b", "жук", "\u202edna", "1", "n" * 255)),
    in_folder("a class that begins with a space", "' a'", pictures("d", ["cat", " a"])),
    bad("folder: a picture that is no UTF-8", "audit folder:d", "rename", PICTURES,
         lambda place: os.rename(place.path("d/cat/a0.png"), os.fsencode(place.path("d/cat")) + b"/\xff.png")),
    *(fine(f"folder: a picture called {name!r}", "audit folder:d", "classes: 2", PICTURES,
           moved("d/cat/a0.png", f"d/cat/{name}.png")) for name in ("a 1", "1", "$x", "-x", "жук", " a")),
    bad("folder: a cache that keeps no lists", run(datasets=["folder:d"]), "HASHBENCH_CACHE", PICTURES,
        text("../cache/splits", "a file")),
    fine("folder: a cache that keeps no hashes", "audit folder:d", "classes: 2", PICTURES,
         text("../cache/hashes", "a file"), text("../cache/index", "a file"), text("../cache/lists", "a file")),
    in_folder("a picture with a tab", "rename", PICTURES, moved("d/cat/a0.png", "d/cat/a\tb.png")),
    fine("folder: a link to the folder above", "audit folder:d", "classes: 2", PICTURES, link("d/cat/up", "..")),
    fine("folder: a link to nowhere", "audit folder:d", "classes: 2", PICTURES, link("d/cat/away", "nowhere")),
    *(fine(f"folder: {name} left out", "audit folder:d --skip-broken", "left out", PICTURES, given)
      for name, given in {
          "a broken picture": text("d/cat/bad.png", b"\x89PNG\r\n\x1a\nhello"),
          "an empty picture": text("d/cat/bad.png", b""),
          "text called a picture": text("d/cat/bad.png", "hello"),
          "a picture that is a link to nowhere": link("d/cat/bad.png", "nowhere"),
          "a picture that is a link to itself": link("d/cat/bad.png", "bad.png"),
      }.items()),
    fine("folder: a picture that is a pipe left out", "audit folder:d --skip-broken", "left out", PICTURES,
         fifo("d/cat/bad.png"), apart=True),
]  # fmt: skip

# List files


def in_list(name: str, told: str, train: str | bytes | None = None, **others: str | bytes) -> Case:
    return bad(f"lists: {name}", run(datasets=["lists:l"]), told, lists(train, **others))


LISTS = [
    bad("lists: an empty folder", run(datasets=["lists:l"]), "train.txt", folder("l")),
    *(bad(f"lists: without {part}", run(datasets=["lists:l"]), part, lists(),
          lambda place, part=part: place.path(f"l/{part}.txt").unlink()) for part in ("train", "query", "database")),
    bad("lists: a folder called train.txt", run(datasets=["lists:l"]), "train.txt", folder("l/train.txt")),
    bad("lists: a pipe called train.txt", run(datasets=["lists:l"]), "train.txt", fifo("l/train.txt")),
    in_list("empty", "empty", ""),
    in_list("blank", "empty", "\n \n\t\n"),
    in_list("UTF-16", "UTF-16", "a2.png 0\n".encode("utf-16")),
    in_list("not UTF-8", "line 2", b"a2.png 0\n\xff.png 1\n"),
    in_list("a zero byte", "line 2", b"a2.png 0\na3\0.png 1\n"),
    in_list("old Mac line ends", "line 1", "a2.png 0\ra3.png 1\r"),
    in_list("a picture", "train.txt", b"\x89PNG\r\n\x1a\n\0\0"),
    in_list("no labels", "line 1", "a2.png\n"),
    in_list("labels of words", "cat", "a2.png cat\n"),
    in_list("labels with a comma", "line 1", "a2.png,0\n"),
    in_list("labels 0.5", "0.5", "a2.png 0.5\n"),
    in_list("two formats", "line 2", "a2.png 0\na3.png 0 1\n"),
    in_list("two formats, the other way", "line 2", "a2.png 0 1\na3.png 0\n"),
    in_list("two widths", "line 2", "a2.png 0 1\na3.png 0 1 0\n"),
    in_list("a label 2", "'2'", "a2.png 0 1\na3.png 0 2\n"),
    in_list("formats that differ between lists", "format", "a2.png 0 1\na3.png 1 0\n"),
    in_list("widths that differ between lists", "labels", "a2.png 0 1\n", query="a0.png 0 1 0\n",
            database="a3.png 0 1\n"),
    *(in_list(f"class number {number}", f"{number}", f"a2.png {number}\n") for number in (-2, 10**9)),
    in_list("class number 10^30", "class number 1000", f"a2.png {HUGE}\n"),
    in_list("class number 10^9 in the queries", "query.txt", query=f"a0.png {10**9}\n"),
    in_list("a path that leaves the folder", "'..'", "../a2.png 0\n"),
    in_list("an absent picture", "b2.png", "b2.png 0\n"),
    *(bad(f"lists: an absent query, {words[0]}", words, "query.txt line 2: b2.png", lists(query="a0.png 0\nb2.png 1\n"))
      for words in (["audit", "lists:l"], run(datasets=["lists:l"]))),
    fine("lists: an absent query left out", "audit lists:l --skip-broken", "1 row of query left out",
         lists(query="a0.png 0\nb2.png 1\n")),
    fine("lists: none of their pictures", "audit lists:l", "refused by a run: lists:", lists(),
         *(lambda place, row=row: place.path(f"l/a{row}.png").unlink() for row in range(6))),
    bad("lists: a picture that is a link to nowhere", run(datasets=["lists:l"]), "1 of 10 list rows have an image that",
        lists(), lambda place: place.path("l/a0.png").unlink(), link("l/a0.png", "nowhere")),
    fine("lists: a picture that is a link to nowhere left out", "audit lists:l --skip-broken", "left out", lists(),
         lambda place: place.path("l/a0.png").unlink(), link("l/a0.png", "nowhere")),
    in_list("a path of 5,000 characters", "nnnnn", f"{LONG}.png 0\n"),
    in_list("a path through a file", "a2.png/a.png", "a2.png/a.png 0\n"),
    bad("lists: a path of two meanings", run(datasets=["lists:l"]), "a9.png", pictures("l/one", ["s"], 1),
        lists("away/s/a9.png 0\n"), moved("l/one/s/a0.png", "l/one/s/a9.png"),
        lambda place: shutil.copytree(place.path("l/one"), place.path("l/two"))),
    *(bad(f"lists: class names {name}", run(datasets=["lists:l"]), "class names", class_names(content))
      for name, content in {"too few": "cat\n", "twice": "cat\ncat\n",
                            "with a blank line": "cat\n\ndog\n", "not UTF-8": b"cat\n\xff\n", "empty": "",
                            "in UTF-16": "cat\ndog\n".encode("utf-16"), "a zero byte": b"cat\n\0\n"}.items()),
    bad("lists: class names in a folder", run(datasets=["lists:l"]), "classes.txt", lists(), folder("l/classes.txt")),
    bad("lists: class names in a pipe", run(datasets=["lists:l"]), "classes.txt", lists(), fifo("l/classes.txt")),
    *(fine(f"lists: {name}", "audit lists:l", "classes: 2", lists(content)) for name, content in {
        "Windows line ends": "a2.png 0\r\na3.png 1\r\n", "a byte order mark": "\ufeffa2.png 0\na3.png 1\n",
        "tabs": "a2.png\t0\na3.png\t1\n", "no last line end": "a2.png 0\na3.png 1",
        "another machine's folders": "/home/someone/data/l/a2.png 0\na3.png 1\n",
        "Windows paths": "C:\\data\\l\\a2.png 0\na3.png 1\n", "other digits": "a2.png ٠\na3.png ١\n",
        "a sign": "a2.png +0\na3.png +1\n", "rows without a label": "a2.png 0\na3.png -1\n",
    }.items()),
    fine("lists: a class without pictures", "audit lists:l", "classes: 3", class_names("cat\ndog\ncow\n")),
    fine("lists: queries in the database", "audit lists:l", "2 of 2 query rows", lists(database="a0.png 0\na1.png 1"),
         code=1),
    *(fine(f"lists: a class called {name!r}", "audit lists:l", "classes: 2", class_names(f"cat\n{name}\n"))
      for name in ("$x_{$", "[/x]", "=1+1", "жук", "\u202edna", LONG)),
]  # fmt: skip

# Pairs files


def in_pairs(name: str, told: str, **changes: Any) -> Case:
    return bad(f"pairs: {name}", run(datasets=["pairs:p.npz"]), told, pairs(**changes))


def in_pair_lines(name: str, told: str, content: str | bytes, **others: str | bytes) -> Case:
    return bad(f"pairs: lines {name}", run(datasets=["pairs:l/p.txt"]), told, pair_lines(content, **others))


PAIRS = [
    in_pairs("none", "train_pairs", train_pairs=None),
    in_pairs("no values", "train_similar", train_similar=None),
    in_pairs("no labels to score by", "query_labels", query_labels=None),
    in_pairs("an empty list", "train_pairs", train_pairs=np.zeros((0, 2), int), train_similar=np.zeros(0, int)),
    in_pairs("triples", "train_pairs", train_pairs=np.zeros((2, 3), int)),
    in_pairs("real numbers", "train_pairs", train_pairs=[[0.0, 1.5], [0.0, 1.0]]),
    in_pairs("words", "train_pairs", train_pairs=[["a", "b"], ["c", "d"]]),
    in_pairs("objects", "train_pairs", train_pairs=np.array([[{}, 1], [0, 1]], object)),
    in_pairs("a row that does not exist", "12", train_pairs=[[0, 12], [0, 1]]),
    in_pairs("row 10^30", "train_pairs", train_pairs=np.array([[0, HUGE], [0, 1]], object)),
    in_pairs("a row below 0", "-1", train_pairs=[[0, -1], [0, 1]]),
    in_pairs("one value for two", "train_similar", train_similar=[1]),
    in_pairs("a value 2", "train_similar", train_similar=[1, 2]),
    in_pairs("a value NaN", "train_similar", train_similar=[1.0, np.nan]),
    in_pairs("a contradiction", "contradicts", train_pairs=[[0, 1], [1, 0]]),
    in_pairs("features NaN", "train_features", train_features=np.full((12, 4), np.nan)),
    in_pairs("labels of words", "query_labels", query_labels=list("abcabc")),
    in_pairs("class number 10^9", str(10**9), query_labels=np.array([0, 1, 2, 0, 1, 10**9])),
    fine("pairs: unsigned numbers", "audit pairs:p.npz", "classes: 3",
         pairs(train_pairs=np.array([[0, 3], [0, 1]], np.uint8), query_labels=ROWS[:6].astype(np.uint8),
               database_labels=ROWS.astype(np.uint8))),
    bad("pairs: text called npz", run(datasets=["pairs:p.npz"]), "p.npz", text("p.npz", "a b 1")),
    in_pair_lines("none", "empty", ""),
    in_pair_lines("two columns", "line 1", "a2.png a3.png\n"),
    in_pair_lines("four columns", "line 2", "a2.png a3.png 1\na2.png a3.png 1 1\n"),
    in_pair_lines("a value 2", "'2'", "a2.png a3.png 2\n"),
    in_pair_lines("a value of words", "yes", "a2.png a3.png yes\n"),
    in_pair_lines("not UTF-8", "p.txt", b"\xff a3.png 1\n"),
    in_pair_lines("UTF-16", "p.txt", "a2.png a3.png 1\n".encode("utf-16")),
    in_pair_lines("an absent picture", "b2.png", "a2.png b2.png 1\n"),
    in_pair_lines("a contradiction", "line 2", "a2.png a3.png 1\na3.png a2.png 0\n"),
    in_pair_lines("a path that leaves the folder", "'..'", "a2.png ../a3.png 1\n"),
    in_pair_lines("a bad list of queries", "query.txt", "a2.png a3.png 1\n", query="a0.png\n"),
    bad("pairs: lines without queries", run(datasets=["pairs:l/p.txt"]), "does not exist", text("l/p.txt", "a b 1\n")),
]  # fmt: skip

# A damaged cache is made again

GARBAGE = {
    "empty": b"", "text": b"hello", "a list": b"[]", "an object": b"{}", "null": b"null", "no UTF-8": b"\xff\xfe",
    "an archive cut short": b"PK\3\4" + b"\0" * 40, "numbers": b'{"sha256": 5, "changed": 5, "folders": 5}',
}  # fmt: skip


def garbled(words: str, content: bytes) -> Setup:
    """Run these words once, then replace the content of all that was cached."""

    def write(place: Place) -> None:
        for path in (*place.folder.rglob("*"), place.folder):
            os.utime(path, (1e9, 1e9))  # an index of folders is kept when they have settled
        assert main(shlex.split(words)) == 0
        for path in [path for path in place.cache.rglob("*") if path.is_file()]:
            path.write_bytes(content)

    return write


CACHES = [
    fine(
        f"{command}: a cache of {name}",
        command,
        "classes: ",
        lists(),
        PICTURES,
        garbled(command, content),
        slow="folder" in command,
    )
    for command in ("audit lists:l", "audit folder:d", "audit features:x.npz", "audit folder:d --skip-broken")
    for name, content in GARBAGE.items()
]


@pytest.mark.parametrize("case", cases([*FEATURES, *FOLDERS, *LISTS, *PAIRS, *CACHES]))
def test_bad_data_are_told_in_a_line_or_understood(case: Case, tell: Callable[[Case], None]) -> None:
    tell(case)
