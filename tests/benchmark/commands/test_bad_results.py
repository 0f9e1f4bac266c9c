"""Bad places for results and reports, damaged records, and hostile names that have got into results."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.commands import main
from tests.benchmark.commands.conftest import (
    LONG,
    Case,
    Place,
    Setup,
    bad,
    called,
    cases,
    features,
    fifo,
    fine,
    finished,
    folder,
    link,
    overwrite,
    run,
    split,
    text,
)

# Places for results and reports

WHERE = {  # where no results can be read or made
    "a file": ("x.npz", ()),
    "below a file": ("x.npz/r", ()),
    "a link to itself": ("loop", (link("loop", "loop"),)),
    "a pipe": ("pipe", (fifo("pipe"),)),
    "5,000 characters": (LONG, ()),
    "a folder whose cells are a file": ("r", (text("r/cells", "hello"),)),
}
READERS = {
    "run": run(),
    "run for true": split("run --datasets features:x.npz --methods lsh --bits 8 --no-report"),
    "why": split("why --datasets features:x.npz --methods lsh --bits 8"),
    "tune": split("tune --datasets features:x.npz --methods lsh --bits 8"),
    "verify": ["verify"],
    "report": ["report"],
}
PLACES = [
    *(bad(f"{command}: results in {name}", [*words, "--results", path], path[:50], *given)
      for command, words in READERS.items() for name, (path, given) in WHERE.items()
      if (command, path) != ("tune", "r")),  # its results lie one folder deeper
    *(bad(f"compare: A is {name}", ["compare", path, "published"], path[:50], *given)
      for name, (path, given) in WHERE.items()),
    *(bad(f"compare: B is {name}", ["compare", "results", path], path[:50], finished(), *given)
      for name, (path, given) in WHERE.items()),
    *(bad(f"{command}: results where nothing can be made", [*READERS[command], "--results", "/proc/none"],
          "/proc/none") for command in ("run for true", "tune")),
    *(bad(f"{command}: results that are not there", [*READERS[command], "--results", "nowhere"], "nowhere")
      for command in ("verify", "report", "why")),
    bad("verify: results that are a file", "verify --results x.npz", "is no folder"),
    bad("compare: A is not there", "compare nowhere published", "nowhere"),
    bad("compare: B is not there", "compare results nowhere", "nowhere", finished()),
    bad("compare: an empty folder", "compare things published", "things", folder("things")),
    bad("compare: no name", ["compare", "", "published"], "results"),
    *(bad(f"compare: csv in {name}", ["compare", "results", "results", "--csv", path], path[:50], finished())
      for name, path in {"a folder": "results", "a folder that is not there": "nowhere/c.csv", "a file": "x.npz/c.csv",
                         "a place where nothing can be made": "/proc/c.csv", "5,000 characters": LONG}.items()),
    *(bad(f"report: in {name}", ["report", "--reports", path], path[:50], finished())
      for name, path in {"a file": "x.npz", "below a file": "x.npz/r", "a place where nothing can be made": "/proc/r",
                         "5,000 characters": LONG}.items()),
    *(bad(f"run: report in {name}", [*READERS["run for true"][:-1], "--reports", path], path[:50])
      for name, path in {"a file": "x.npz", "below a file": "x.npz/r"}.items()),
    *(bad(f"{command}: a report called {name[:20]!r}", [*words, f"--name={name}"], "--name", finished())
      for command, words in {"report": ["report"], "run": run()}.items()
      for name in ("../../x", "/proc/none", "..", ".", "", LONG, "a/../../b")),
    *(bad(f"tune: winners in {name}",
          ["tune", "--datasets", "features:x.npz", "--methods", "lsh", "--bits", "8", "--out", path], path[:50])
      for name, path in {"a folder": ".", "below a file": "x.npz/t.json", "a place where nothing can be made":
                         "/proc/t.json", "5,000 characters": LONG}.items()),
    fine("verify: an empty folder", "verify --results d", "0 sound records", folder("d")),
]  # fmt: skip

# Results with one damaged record

Record = dict[str, Any]


def cell_file(results: Path, bits: int = 16) -> Path:
    """The record of that many bits."""
    found = {json.loads(path.read_text())["cell"]["bits"]: path for path in (results / "cells").glob("*.json")}
    return found[bits]


def sealed(record: Record) -> bytes:
    """A record as the store writes it: its own digest at its end."""
    body = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    return body[:-1] + b',"digest":"%s"}' % hashlib.sha256(body).hexdigest().encode()


def resealed(path: Path, change: Callable[[Record], Any]) -> None:
    """Change a record and give it the digest it would have had."""
    data = path.read_bytes()
    record = json.loads(data)
    del record["digest"]
    assert sealed(record) == data, "records are sealed otherwise by now: mend `sealed` in this file"
    change(record)
    path.write_bytes(sealed(record))


def without(*names: str) -> Callable[[Path], None]:
    return lambda path: resealed(path, lambda record: [record.pop(name) for name in names])


def having(**values: Any) -> Callable[[Path], None]:
    return lambda path: resealed(path, lambda record: record.update(values))


def instead(make: Callable[[Path], Any]) -> Callable[[Path], None]:
    return lambda path: (path.unlink(), make(path))


def payload(change: Callable[[Path], Any]) -> Callable[[Path], None]:
    return lambda path: change(next(path.parent.glob(f"{path.stem}.*.npz")))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "empty": lambda path: path.write_bytes(b""),
    "of text": lambda path: path.write_text("hello"),
    "not UTF-8": lambda path: path.write_bytes(b"\xff\xfe" + path.read_bytes()),
    "with one bit changed": lambda path: overwrite(path, 50, b"!"),
    "of somebody else": lambda path: path.write_text('{"name": "my notes"}'),
    "that is a list": lambda path: path.write_bytes(b"[]"),
    "under another key": lambda path: resealed(path, lambda record: record.update(key="0" * 64)),
    "without its cell": without("cell"),
    "without its status": without("status"),
    "without its metrics": without("metrics"),
    "without its parts": without("parts"),
    "without its key": without("key"),
    "of a newer schema": having(schema=99),
    "whose cell is a list": having(cell=[1, 2]),
    "whose bits are a word": lambda path: resealed(path, lambda record: record["cell"].update(bits="many")),
    "whose metrics are words": having(metrics={"map": "good"}),
    "of an unknown status": having(status="splendid"),
    "that is a folder": instead(lambda path: path.mkdir()),
    "that is a pipe": instead(lambda path: os.mkfifo(path)),
    "that is a link to itself": instead(lambda path: path.symlink_to(path.name)),
    "whose words are one word": having(asked="features:x.npz"),
    "whose error is a word": having(error="it broke"),
    "whose times are a list": having(seconds=[1, 2]),
    "whose provenance is nothing": having(provenance=None),
    "whose payload is gone": payload(lambda path: path.unlink()),
    "whose payload is cut short": payload(lambda path: path.write_bytes(path.read_bytes()[:100])),
    "whose payload lies elsewhere": lambda path: resealed(
        path, lambda record: record["payload"].update(file="../../x.npz")),
    "whose payload is a word": having(payload="hello"),
}  # fmt: skip


def damaged(change: Callable[[Path], Any], only: bool = False) -> Setup:
    """Results with a damaged record beside a sound one, or all alone."""

    def write(place: Place) -> None:
        results = place.results()
        sound = cell_file(results, 8)
        change(cell_file(results))
        if only:
            for path in sound.parent.glob(f"{sound.stem}.*"):
                path.unlink()

    return write


DAMAGED = [
    *(fine(f"verify: a record {name}", "verify", "1 sound record, 1 damaged", damaged(change), code=1)
      for name, change in DAMAGES.items()),
    *(fine(f"run: a record {name}", run("--bits 8 16"), "1 done", damaged(change))
      for name, change in DAMAGES.items()),
    *(fine(f"why: a record {name}", "why --datasets features:x.npz --methods lsh --bits 8 16", "lsh x 16 bits",
           damaged(change)) for name, change in DAMAGES.items()),
    *(fine(f"compare: a record {name}", "compare results other", " in both: ", damaged(change), finished("other"))
      for name, change in DAMAGES.items()),
    *(fine(f"report: a record {name}", "report", "index.html", damaged(change, only=True))
      for name, change in DAMAGES.items() if "payload" not in name),
    fine("verify: says that a schema is newer", "verify --keep", "schema", damaged(having(schema=99)), code=1),
    fine("verify: says what is missing", "verify --keep", "metrics", damaged(without("metrics")), code=1),
    fine("verify: damage that cannot be set aside", "verify", "1 sound record, 1 damaged: 1 left in place",
         damaged(DAMAGES["cut short"]), text("results/quarantine", "a file"), code=1),
    fine("verify: damage where nothing can be locked", "verify --keep", "1 sound record, 1 damaged: 1 left in place",
         damaged(DAMAGES["cut short"]), lambda place: shutil.rmtree(place.path("results/locks"), ignore_errors=True),
         text("results/locks", "a file"), code=1),
    fine("verify: foreign files beside records", "verify", "2 sound records", finished(),
         text("results/cells/README.md", "mine"), text("results/notes.txt", "mine"), folder("results/cells/d")),
    fine("report: a manifest of another shape", "report", "index.html", damaged(DAMAGES["empty"], only=True),
         text("reports/default/manifest.json", '{"files": {"a": 1}, "digest": 5}')),
    fine("report: a manifest of numbers", "report", "index.html", damaged(DAMAGES["empty"], only=True),
         text("reports/default/manifest.json", '{"files": [1, 2], "figures": []}')),
]  # fmt: skip

# Hostile names that have got into results: every later report must still be made


def rekeyed(path: Path, change: Callable[[Record], Any]) -> None:
    """Change what a record was made from, and move it and its payload to the key it would then have had."""
    record = json.loads(path.read_bytes())
    del record["digest"]
    change(record)
    parts = record["parts"] | {"cell": record["cell"]}
    key = hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    old = record["payload"]["file"]
    record |= {"parts": parts, "key": key, "payload": record["payload"] | {"file": key + old[old.index(".") :]}}
    path.with_name(old).rename(path.with_name(record["payload"]["file"]))
    path.unlink()
    path.with_name(f"{key}.json").write_bytes(sealed(record))


def named(method: str = "lsh", dataset: str = "x", title: str = "LSH", reason: str = "", **params: Any) -> Any:
    """A change of a record: what its cell is called, how it ended, and its parameters."""

    def change(record: Record) -> None:
        record["cell"] |= {"method": method, "dataset": dataset, "params": params, "bits": 8}
        record["titles"] = {"method": title, "dataset": dataset}
        if reason:
            record |= {"status": "failed", "error": {"kind": "x", "message": reason, "traceback": ""}}

    return change


def renamed(**names: Any) -> Setup:
    """Results of one cell that is called otherwise."""

    def write(place: Place) -> None:
        results = place.results()
        other = cell_file(results)
        for path in list(other.parent.glob(f"{other.stem}.*")):
            path.unlink()
        rekeyed(cell_file(results, 8), named(**names))

    return write


def swept(parameter: str = "gamma", **names: Any) -> Setup:
    """Results of two cells that differ in one parameter: what a sweep leaves, and a figure is drawn of."""

    def write(place: Place) -> None:
        results = place.results()
        for path, value in ((cell_file(results), 0.5), (cell_file(results, 8), 0.25)):
            rekeyed(path, named(**names, **{parameter: value}))

    return write


HOSTILE = ("$x_{$", "a/b", "[/x]", "\\input{x} & % # _ ~", "<script>x</script>", "=1+1", "\u202edna", "two\nlines")
REPORTS = [
    fine("report: title $x_{$", "report", "index.html", renamed(title="$x_{$"), slow=True),
    fine("report: data set $x_{$", "report", "index.html", renamed(dataset="$x_{$"), slow=True),
    fine("report: swept method a/b", "report", "index.html", swept(method="a/b", title="a/b"), slow=True),
    fine("report: swept method of 5,000 characters", "report", "index.html", swept(method=LONG, title=LONG), slow=True),
    fine("report: swept parameter $x_{$", "report", "index.html", swept("$x_{$"), slow=True),
    *(fine(f"report: a failure called {name!r}", "report", "index.html",
           renamed(title=name, dataset=name, method=name, reason=name)) for name in (*HOSTILE, LONG)),
    *(fine(f"compare: names {name!r}", "compare results results", "1 cell in both", renamed(dataset=name, title=name))
      for name in HOSTILE),
    *(fine(f"verify: names {name!r}", "verify", "1 sound record", renamed(dataset=name, title=name, method=name))
      for name in HOSTILE),
]  # fmt: skip


@pytest.mark.parametrize("case", cases([*PLACES, *DAMAGED, *REPORTS]))
def test_bad_results_are_told_in_a_line_or_understood(case: Case, tell: Callable[[Case], None]) -> None:
    tell(case)


@pytest.mark.slow
def test_hostile_class_names_do_not_stop_a_report(place: Place, quick_figures: None) -> None:
    features(class_names=["$x_{$", "[/x]", "=1+1"])(place)
    words = ["run", "--datasets", "features:x.npz", "--methods", "lsh", "--bits", "8", "--jobs", "1"]
    assert main(words) == 0
    assert (place.folder / "reports" / "default" / "index.html").is_file()


@pytest.mark.parametrize("name", ["=1+1", "+1+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_of_a_csv_is_a_formula(place: Place, capsys: pytest.CaptureFixture[str], name: str) -> None:
    renamed(dataset=name, method=name, title=name, **{name: name})(place)
    code, _out, err = called(["compare", "results", "results", "--csv", "c.csv"], capsys)
    assert code == 0, err
    with (place.folder / "c.csv").open(newline="") as handle:
        cells = [cell for row in csv.reader(handle) for cell in row]
    assert any(name.strip() in cell for cell in cells)
    for cell in cells:
        with contextlib.suppress(ValueError):
            float(cell)
            continue
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), cell
