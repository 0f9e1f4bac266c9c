"""Bad input to every command and format: one line that names what is wrong, exit code 2, and nothing written.

A case is a name, the words of a command line, the files they speak of, and what is expected: either the one line
(`bad`), or the right result (`fine`) where the input only looks bad. Cases are grouped by what they are about; the
test itself is at the end. Every case starts in a folder of its own that holds one sound file of features, `x.npz`.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import pty
import resource
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchmark
from benchmark.commands import main

SECONDS, APART_SECONDS = 30, 60  # after which a case counts as hung
ROOM = 6 << 30  # bytes that a case may take: a class number of 10^9 must not cost the machine its memory
LONG = "n" * 5000
HUGE = 10**30
Words = str | Sequence[str]


# What a case is


@dataclass(frozen=True)
class Place:
    """Where a case happens: an empty folder but for x.npz, a cache of its own, and results that others made."""

    folder: Path
    cache: Path
    finished: Callable[[], Path]  # a results folder with two sound cells, lsh on x at 8 and 16 bits

    def path(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def results(self, name: str = "results") -> Path:
        """A copy of the finished results."""
        return Path(shutil.copytree(self.finished(), self.path(name)))


Setup = Callable[[Place], Any]


@dataclass(frozen=True)
class Case:
    name: str
    words: list[str]
    told: str = ""  # what the one line on stderr names
    shown: str = ""  # what a right result says on stdout
    given: tuple[Setup, ...] = ()
    never: str = ""  # what no output may say
    code: int = 2
    env: Mapping[str, str] = field(default_factory=dict)
    apart: bool = False  # in a process of its own: it registers plugins, or dies


def bad(name: str, words: Words, told: str, *given: Setup, **more: Any) -> Case:
    """Must be refused by one line that holds `told`."""
    return Case(name, _split(words), told=told, given=given, **more)


def fine(name: str, words: Words, shown: str, *given: Setup, code: int = 0, **more: Any) -> Case:
    """Must give the right result, recognised by `shown`."""
    return Case(name, _split(words), shown=shown, given=given, code=code, **more)


def _split(words: Words) -> list[str]:
    return shlex.split(words) if isinstance(words, str) else list(words)


def run(more: Words = "", methods: str = "lsh", datasets: Sequence[str] = ("features:x.npz",)) -> list[str]:
    """A grid of one cell per method, shown and not run, with further words that go before its own."""
    grid = ["run", "--dry-run", "--datasets", *datasets, "--methods", *methods.split(), "--bits", "8"]
    return [*grid, *_split(more)]


# What a case may find in its folder


def text(name: str, content: str | bytes) -> Setup:
    """A file of these characters or bytes."""
    data = content.encode() if isinstance(content, str) else content
    return lambda place: place.path(name).write_bytes(data)


def folder(name: str) -> Setup:
    return lambda place: place.path(name).mkdir(parents=True, exist_ok=True)


def fifo(name: str) -> Setup:
    """A pipe that nobody ever writes to: whoever opens it waits for ever."""
    return lambda place: os.mkfifo(place.path(name))


def link(name: str, target: str) -> Setup:
    return lambda place: place.path(name).symlink_to(target)


def moved(old: str, new: str) -> Setup:
    return lambda place: place.path(old).rename(place.path(new))


def finished(name: str = "results") -> Setup:
    return lambda place: place.results(name)


def arrays() -> dict[str, Any]:
    """Three classes that anything can tell apart: 12 training rows, 6 queries, 12 database rows of 4 columns."""
    generator, found = np.random.default_rng(0), {}
    for part, rows in (("train", 12), ("query", 6), ("database", 12)):
        labels = np.arange(rows) % 3
        centres = 3 * np.eye(3, 4)[labels]
        found[f"{part}_features"] = (centres + generator.standard_normal((rows, 4))).astype(np.float32)
        found[f"{part}_labels"] = labels
    return found


def features(name: str = "x.npz", **changes: Any) -> Setup:
    """A features file with some of its arrays replaced, or left out where None."""
    return lambda place: _save(place.path(name), {**arrays(), **changes})


def _save(path: Path, found: Mapping[str, Any]) -> None:
    with path.open("wb") as handle:
        np.savez(handle, **{name: value for name, value in found.items() if value is not None})


def npy(name: str, array: Any) -> Setup:
    return lambda place: np.save(place.path(name), np.asarray(array), allow_pickle=True)


def npz(name: str, **found: Any) -> Setup:
    return lambda place: _save(place.path(name), found)


def mat(name: str, **found: Any) -> Setup:
    def write(place: Place) -> None:
        from scipy.io import savemat

        savemat(place.path(name), found)

    return write


def torch_file(name: str, make: Callable[[Any], Any]) -> Setup:
    def write(place: Place) -> None:
        import torch

        torch.save(make(torch), place.path(name))

    return write


def cut(name: str, share: float = 0.5) -> Setup:
    """The file ends too early."""

    def write(place: Place) -> None:
        path = place.path(name)
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])

    return write


def pictures(name: str, classes: Sequence[str] = ("cat", "dog"), each: int = 4) -> Setup:
    """Class folders with small pictures a0.png, a1.png, ..."""

    def write(place: Place) -> None:
        from PIL import Image

        for number, one in enumerate(classes):
            for row in range(each):
                pixels = np.full((4, 4, 3), 20 * number + row, np.uint8)
                Image.fromarray(pixels).save(place.path(f"{name}/{one}/a{row}.png"))

    return write


def lists(train: str | bytes | None = None, name: str = "l", **others: str | bytes) -> Setup:
    """Pictures a0.png to a5.png and three list files of class numbers; `train` and others replace lists."""

    def write(place: Place) -> None:
        pictures(name, (".",), 6)(place)
        rows = [f"a{row}.png {row % 2}" for row in range(6)]
        found: dict[str, str | bytes] = {"query": "\n".join(rows[:2]), "database": "\n".join(rows[2:])}
        found |= {"train": "\n".join(rows[2:])} | others | ({} if train is None else {"train": train})
        for part, content in found.items():
            text(f"{name}/{part}.txt", content)(place)

    return write


def class_names(content: str | bytes) -> Setup:
    return lambda place: (lists()(place), text("l/classes.txt", content)(place))


def pairs(**changes: Any) -> Setup:
    """A pairs file p.npz with some of its arrays replaced."""
    found = {**arrays(), "train_labels": None, "train_pairs": [[0, 3], [0, 1]], "train_similar": [1, 0]}
    return npz("p.npz", **{**found, **changes})


def pair_lines(content: str | bytes, **others: str | bytes) -> Setup:
    return lambda place: (lists(**others)(place), text("l/p.txt", content)(place))


def codes(**changes: Any) -> Setup:
    """qc, dc, ql, dl.npy: codes by which every query finds its own class first, so that MAP is 1."""
    labels = {"ql": np.arange(3), "dl": np.arange(6) % 3}
    book = np.where(np.arange(8) % 3 == np.arange(3)[:, None], 1, -1).astype(np.int8)
    found = {"qc": book[labels["ql"]], "dc": book[labels["dl"]], **labels, **changes}
    return lambda place: [npy(f"{name}.npy", array)(place) for name, array in found.items() if array is not None]


def score(more: Words = "", **files: str) -> list[str]:
    """Score qc.npy and its like, or the files given in their place; prints JSON."""
    names = {"query-codes": "qc", "database-codes": "dc", "query-labels": "ql", "database-labels": "dl"}
    words = [part for flag, short in names.items() for part in (f"--{flag}", files.get(short, f"{short}.npy"))]
    return ["score", *words, *_split(more)]


# Values of flags: what is no number, and numbers that are out of bounds

NO_WHOLE_NUMBERS = ("0", "-1", "1.5", "nan", "inf", "1e400", "x", "", "0x10")

FLAGS = [
    *(bad(f"bits {value!r}", run(["--bits", value]), "--bits") for value in NO_WHOLE_NUMBERS),
    *(bad(f"bits {value}", run(["--bits", str(value)]), str(value)) for value in (513, 10**9, HUGE)),
    bad("bits 1_000", run("--bits 1_000"), "1000"),
    bad("bits without a value", ["run", "--bits"], "--bits"),
    bad("one of several bits", run("--bits 8 16 no"), "no"),
    fine("bits twice count once", run("--bits 16 16"), "1 cells"),
    fine("bits between spaces", run(["--bits", " 5 "]), "5 bits"),
    fine("bits in other digits", run("--bits ١"), " 1 bits"),
    fine("512 bits", run("--bits 512"), "512 bits"),
    *(bad(f"seeds {value!r}", run(["--seeds", value]), "--seeds") for value in ("1.5", "nan", "x", "", "1e3")),
    *(bad(f"seeds {value}", run(["--seeds", str(value)]), str(value)) for value in (-1, HUGE)),
    fine("seeds twice count once", run("--seeds 0 0"), "1 cells"),
    fine("a seed with an underscore", run("--seeds 1_000"), "seed 1000"),
    *(bad(f"jobs {value!r}", run(["--jobs", value]), "--jobs") for value in NO_WHOLE_NUMBERS),
    *(bad(f"threads {value!r}", run(["--threads", value]), "--threads") for value in NO_WHOLE_NUMBERS[:4]),
    *(bad(f"timeout {value!r}", run([f"--timeout={value}"]), "--timeout")
      for value in ("nan", "inf", "-inf", "-1", "0", "1e400", "x", "", "5s")),
    *(bad(f"memory {value!r}", run([f"--memory={value}"]), "--memory")
      for value in ("-5G", "0", "nan", "inf", "1e400G", "much", "", "G", "5GG", "5T", "-1", "4 G M")),
    fine("memory in small letters", run("--memory 4g"), "1 cells"),
    *(bad(f"dask {value!r}", run(["--dask", value]), "--dask") for value in ("local:0", "local:-1", "local:x", "")),
    bad("force and only-failed", run("--force --only-failed"), "--only-failed"),
    *(bad(f"tune trials {value}", f"tune --datasets features:x.npz --methods lsh --trials={value}", "trials")
      for value in ("0", "-1", "1.5", "nan", "x")),
    *(bad(f"tune folds {value}", f"tune --datasets features:x.npz --methods lsh --folds={value}", "folds")
      for value in ("0", "1", "-3", "x", "13")),
    bad("tune a sweep", "tune --datasets features:x.npz --methods itq --sweep itq.iterations 1", "--sweep"),
    bad("tune what is tuned", "tune --datasets features:x.npz --methods itq --tuned t.json", "--tuned"),
    bad("tune 513 bits", "tune --datasets features:x.npz --methods lsh --bits 513", "513"),
    bad("tune timeout nan", "tune --datasets features:x.npz --methods lsh --timeout nan", "--timeout"),
]  # fmt: skip

COMMANDS = [
    bad("no such command", "frobnicate", "frobnicate"),
    bad("no such flag", "run --frobnicate", "--frobnicate"),
    bad("an empty word", ["run", ""], "unrecognized"),
    bad("a word of 5,000 characters", ["run", LONG], "nnnnn"),
    bad("a word of two lines", ["run", "one\ntwo"], "two"),
    bad("run twice", "run run", "arguments: run"),
    bad("list something", "list something", "something"),
    bad("check nothing", "check", "FILE"),
    bad("check an empty name", ["check", ""], "file"),
    bad("check a file that is not there", "check nowhere.py", "nowhere.py"),
    bad("check an unknown name", "check LSH", "did you mean 'lsh'"),
    bad("check a folder", "check things", "things", folder("things")),
    bad("check a folder called .py", "check d.py", "d.py", folder("d.py")),
    bad("check text", "check notes.txt", "notes.txt", text("notes.txt", "hello")),
    bad("check a file without a method", "check empty.py", "empty.py", text("empty.py", "")),
    bad("check a pipe", "check pipe.py", "pipe.py", fifo("pipe.py")),
    bad("check a name of 5,000 characters", ["check", f"{LONG}.py"], "nnnnn"),
    bad("check below a file", "check x.npz/m.py", "m.py"),
    bad("audit nothing", "audit", "DATASET"),
    bad("audit an unknown name", "audit cocco", "did you mean 'coco'"),
    bad("prepare nothing", "prepare", "DATASET"),
    bad("prepare an unknown name", "prepare nuss", "did you mean 'nus'"),
    bad("score nothing", "score", "--query-codes"),
    bad("compare one", "compare results", "required: B"),
    bad("why nothing matches", "why zebra --datasets features:x.npz --methods lsh --bits 8", "zebra"),
]

# Which methods, which data sets

NAMES = [
    bad("method in capitals", run(methods="LSH"), "did you mean 'lsh'"),
    bad("method misspelt", run(methods="itqq"), "did you mean 'itq'"),
    bad("methods with a comma", run(methods="lsh,itq"), "lsh,itq"),
    bad("method without a name", run(["--methods", ""]), "method ''"),
    bad("method of two lines", run(["--methods", "l\nsh"]), "sh"),
    bad("method of 5,000 characters", run(["--methods", LONG]), "nnnnn"),
    bad("methods without a value", ["run", "--methods"], "--methods"),
    bad("one of several methods", run(methods="lsh nope"), "nope"),
    *(bad(f"method {name!r}", run(["--methods", name]), name[1:])
      for name in ("$x$", "a/b", "[/x]", "=1+1", "@x", "\u202edna", "жук")),
    fine("methods twice count once", run(methods="lsh lsh"), "1 cells"),
    bad("data set without a name", run(datasets=[""]), "dataset ''"),
    bad("data set unknown", run(datasets=["[/x]"]), "[/x]"),
    bad("data set misspelt", run(datasets=["feature:x.npz"]), "did you mean 'features'"),
    bad("data set of 5,000 characters", run(datasets=[LONG]), "nnnnn"),
    *(bad(f"{kind} without a path", run(datasets=[f"{kind}:"]), f"{kind}:")
      for kind in ("features", "lists", "folder", "pairs")),
    bad("features without a colon", run(datasets=["features"]), "features:FILE.npz"),
    bad("a path where none is taken", run(datasets=["imagenet-mini:x"]), "imagenet-mini"),
    fine("data set twice counts once", run(datasets=["features:x.npz", "features:x.npz"]), "1 cells"),
    fine("data set under two paths counts once", run(datasets=["features:x.npz", "features:./x.npz"]), "1 cells"),
    *(bad(f"{kind}: that is not there", run(datasets=[f"{kind}:nowhere"]), "nowhere")
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: below a file", run(datasets=[f"{kind}:x.npz/y"]), "x.npz/y")
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: of 5,000 characters", run(datasets=[f"{kind}:{LONG}"]), "nnnnn")
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: a link to itself", run(datasets=[f"{kind}:loop"]), "loop", link("loop", "loop"))
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: a pipe", run(datasets=[f"{kind}:pipe"]), "pipe", fifo("pipe"))
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: a folder where a file is meant", run(datasets=[f"{kind}:d.npz"]), "d.npz", folder("d.npz"))
      for kind in ("features", "pairs")),
    *(bad(f"{kind}: a file where a folder is meant", run(datasets=[f"{kind}:x.npz"]), "x.npz")
      for kind in ("lists", "folder")),
    bad("features: of two lines", run(datasets=["features:no\nsuch.npz"]), "such.npz"),
    bad("features: that cannot be read", run(datasets=["features:/proc/self/mem"]), "/proc/self/mem"),
    bad("pairs: that cannot be read", run(datasets=["pairs:/proc/self/mem"]), "/proc/"),
    bad("audit features: below a file", "audit features:x.npz/y", "x.npz/y"),
    bad("audit features: a folder", "audit features:things", "things", folder("things")),
    bad("prepare folder: a file", "prepare folder:x.npz", "x.npz"),
    bad("report of data that is not there", "report --datasets features:nowhere.npz", "nowhere.npz", finished()),
    *(fine(f"a features file called {name!r}", run(datasets=[f"features:{name}.npz"]), "8 bits",
           moved("x.npz", f"{name}.npz"))
      for name in ("$x_{$", "[bold]", "=1+1", "-x", "@x", "a b", "жук", "\u202edna", "imagenet", "a:b", "two\nlines")),
    bad("data root that is not there", run("--data-root nowhere"), "nowhere"),
    bad("data root that is a file", run("--data-root x.npz"), "x.npz"),
    bad("data root below a file", run("--data-root x.npz/d"), "x.npz/d"),
    bad("data root of 5,000 characters", run(["--data-root", LONG]), "nnnnn"),
    bad("data root that is a link to itself", run("--data-root loop"), "loop", link("loop", "loop")),
    bad("data root without the data", run("--data-root .", datasets=["coco"]), "coco"),
    bad("data root of the environment", run(), "nowhere", env={"HASHBENCH_DATA": "nowhere"}),
    bad("cache below a file", run(), "HASHBENCH_CACHE", env={"HASHBENCH_CACHE": "x.npz/cache"}),
    bad("cache that is a file", run(), "HASHBENCH_CACHE", env={"HASHBENCH_CACHE": "x.npz"}),
    bad("cache where none can be made", run(), "HASHBENCH_CACHE", env={"HASHBENCH_CACHE": "/proc/none"}),
]  # fmt: skip

# Options of data sets

PICTURES = pictures("d")


def option(word: str, kind: str = "folder", argument: str = "d") -> list[str]:
    return run(["--option", word], datasets=[f"{kind}:{argument}"])


OPTIONS = [
    bad("option without a value", option("folder.map_cutoff"), "folder.map_cutoff", PICTURES),
    bad("option without a data set", option("map_cutoff=5"), "map_cutoff=5", PICTURES),
    bad("option of another data set", option("lists.map_cutoff=5"), "lists", PICTURES),
    bad("option without a name", option("folder.=5"), "folder", PICTURES),
    bad("option unknown", option("folder.cutoff=5"), "cutoff", PICTURES),
    bad("option of a data set without any", option("features.k=5", "features", "x.npz"), "'k'"),
    bad("option twice", run("--option folder.map_cutoff=5 --option folder.map_cutoff=6", datasets=["folder:d"]),
        "map_cutoff", PICTURES),
    *(bad(f"map_cutoff {value}", option(f"folder.map_cutoff={value}"), "map_cutoff", PICTURES)
      for value in ("0", "-1", "1.5", "NaN", "Infinity", "1e400", "many", "true", "null", "[5]", "")),
    *(bad(f"queries_per_class {value}", option(f"folder.queries_per_class={value}"), "queries_per_class", PICTURES)
      for value in ("0", "-1", "1.5", "NaN", "many", "true")),
    *(bad(f"split_seed {value}", option(f"folder.split_seed={value}"), "split_seed", PICTURES)
      for value in ("1.5", "NaN", "x", "null")),
    *(bad(f"skip_broken {value}", option(f"folder.skip_broken={value}"), "skip_broken", PICTURES)
      for value in ("maybe", "2", "null")),
    bad("imbalance without a size", option("folder.imbalance=paper"), "train_size", PICTURES),
    *(bad(f"imbalance {value}", run(f"--option folder.train_size=4 --option folder.imbalance={value}",
                                    datasets=["folder:d"]), "imbalance", PICTURES)
      for value in ("none", "5", "exponential", "exponential:0", "exponential:nan", "exponential:-2",
                    "exponential:1e400", "paper:3", "NaN", "true")),
    *(bad(f"train_size {value}", run(f"--option folder.train_size={value} --option folder.imbalance=balanced",
                                     datasets=["folder:d"]), "train_size", PICTURES)
      for value in ("-1", "1.5", "many", "1e400")),
    *(bad(f"lists map_cutoff {value}", option(f"lists.map_cutoff={value}", "lists", "l"), "map_cutoff", lists())
      for value in ("0", "x", "NaN")),
    bad("drop_overlap 7", option("lists.drop_overlap=7", "lists", "l"), "drop_overlap", lists()),
    *(bad(f"pairs map_cutoff {value}", option(f"pairs.map_cutoff={value}", "pairs", "p.npz"), "map_cutoff", pairs())
      for value in ("-5", "x")),
    fine("a cut-off beyond the database", option("lists.map_cutoff=1000000", "lists", "l"), "1 cells", lists()),
]  # fmt: skip

# Parameters of methods: --set, --sweep, --tuned

NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e400", "many", "true", "null", "[1]", '{"a":1}', "", "nan", '"5"')


def tuned(content: str | bytes) -> Setup:
    return text("t.json", content)


def winner(params: str, method: str = "itq", dataset: str = "x") -> Setup:
    return tuned(f'{{"winners": [{{"method": "{method}", "dataset": "{dataset}", "params": {params}}}]}}')


PARAMETERS = [
    bad("set without a method", run("--set gamma=1"), "gamma=1"),
    bad("set without a value", run("--set lsh.scaling"), "lsh.scaling"),
    bad("set without a name", run("--set lsh.=1"), "lsh"),
    bad("set of no method", run("--set .scaling=l2"), "scaling"),
    bad("set an unknown parameter", run("--set lsh.gama=1"), "gama"),
    bad("set of an unknown method", run("--set lhs.scaling=l2"), "lhs"),
    bad("set of a method that is not selected", run("--set itq.iterations=5"), "itq"),
    bad("set twice", run("--set itq.iterations=5 --set itq.iterations=6", "itq"), "itq.iterations"),
    *(bad(f"set iterations {value}", run(["--set", f"itq.iterations={value}"], "itq"), "iterations")
      for value in (*NO_NUMBERS, "1.5")),
    *(bad(f"set gamma {value}", run(["--set", f"dph.gamma={value}"], "dph"), "gamma") for value in NO_NUMBERS),
    *(bad(f"set scaling {value}", run(["--set", f"lsh.scaling={value}"]), "scaling")
      for value in ("5", "null", "true", "[1]", "sideways", "$x$", "two\nlines", LONG)),
    bad("set a mode that does not exist", run("--set dph.mode=other", "dph"), "mode"),
    bad("set three layers", run("--set agh.layers=3", "agh"), "layers"),
    fine("set the default", run("--set itq.iterations=50", "itq"), "itq x"),
    fine("set the default as a real number", run("--set itq.iterations=50.0", "itq"), "itq x"),
    fine("set none where none is allowed", run("--set ksh.width=null", "ksh"), "ksh x"),
    bad("why with an unknown parameter", "why --datasets features:x.npz --methods lsh --set lsh.gama=1", "gama"),
    bad("tune with an unknown parameter", "tune --datasets features:x.npz --methods lsh --set lsh.gama=1", "gama"),
    bad("tune with NaN", "tune --datasets features:x.npz --methods itq --set itq.iterations=NaN", "iterations"),
    bad("sweep without values", run("--sweep itq.iterations", "itq"), "--sweep"),
    bad("sweep without a name", run("--sweep itq 1 2", "itq"), "--sweep"),
    bad("sweep of another method", run("--sweep itq.iterations 1 2"), "itq"),
    bad("sweep of an unknown parameter", run("--sweep itq.rounds 1 2", "itq"), "rounds"),
    bad("sweep of an empty word", run(["--sweep", "", "1"], "itq"), "--sweep"),
    *(bad(f"sweep over {value}", run(["--sweep", "itq.iterations", "5", value], "itq"), "iterations")
      for value in ("NaN", "Infinity", "1e400", "many", "null", "[1]", "1.5", "")),
    fine("sweep twice over one value", run("--sweep itq.iterations 10 10", "itq"), "2 cells"),
    fine("sweep over 10 and 10.0", run("--sweep itq.iterations 10 10.0", "itq"), "2 cells"),
    bad("tuned that is not there", run("--tuned t.json"), "t.json"),
    bad("tuned that is a folder", run("--tuned t.json"), "t.json", folder("t.json")),
    bad("tuned below a file", run("--tuned x.npz/t.json"), "x.npz/t.json"),
    bad("tuned of 5,000 characters", run(["--tuned", LONG]), "nnnnn"),
    bad("tuned that is a link to itself", run("--tuned loop"), "loop", link("loop", "loop")),
    bad("tuned that is a pipe", run("--tuned t.json"), "t.json", fifo("t.json")),
    *(bad(f"tuned: {name}", run("--tuned t.json", "itq"), "t.json", tuned(content)) for name, content in {
        "empty": "", "no JSON": "hello", "not UTF-8": b"\xff\xfe{}", "a list": "[]", "a number": "5", "null": "null",
        "no winners": "{}", "winners a word": '{"winners": "all"}', "winners of numbers": '{"winners": [1, 2]}',
        "no parameters": '{"winners": [{"method": "itq", "dataset": "x"}]}',
        "parameters a list": '{"winners": [{"method": "itq", "dataset": "x", "params": [1]}]}',
        "deep": "[" * 100_000,
    }.items()),
    *(bad(f"tuned: iterations {value}", run("--tuned t.json", "itq"), "iterations",
          winner(f'{{"iterations": {value}}}'))
      for value in ("NaN", "Infinity", "1e400", '"many"', "null", "1.5", "true", "[1]")),
    bad("tuned: unknown parameter", run("--tuned t.json", "itq"), "rounds", winner('{"rounds": 5}')),
    bad("tuned: another method", run("--tuned t.json", "itq"), "itq", winner("{}", "sh")),
    bad("tuned: another data set", run("--tuned t.json", "itq"), "'x'", winner("{}", dataset="y")),
    bad("tuned: learning rate NaN", run("--tuned t.json", "dph"), "learning_rate",
        winner('{"learning_rate": NaN}', "dph")),
    bad("tuned: learning rate below 0", run("--tuned t.json", "dph"), "learning_rate",
        winner('{"learning_rate": -1}', "dph")),
    fine("tuned: the defaults", run("--tuned t.json", "itq"), "itq x", winner("{}")),
]  # fmt: skip

# Profiles


def profile(name: str, content: str | bytes, told: str = "") -> Case:
    return bad(f"profile: {name}", run("--profile p.toml", "dph"), told or "p.toml", text("p.toml", content))


PROFILES = [
    bad("profile that is not there", run("--profile p.toml"), "p.toml"),
    bad("profile unknown", run("--profile QUICK"), "QUICK"),
    bad("profile without a name", run(["--profile="]), "profile"),
    bad("profile that is a folder", run("--profile p.toml"), "p.toml", folder("p.toml")),
    bad("profile that is a pipe", run("--profile p.toml"), "p.toml", fifo("p.toml")),
    bad("profile below a file", run("--profile x.npz/p.toml"), "p.toml"),
    bad("profile of 5,000 characters", run(["--profile", LONG]), "nnnnn"),
    bad("profile that cannot be read", run("--profile /proc/self/mem"), "/proc/self/mem"),
    profile("no TOML", "[training\nsteps"),
    profile("not UTF-8", b'[training]\ntrain = "\xff"'),
    profile("a zero byte", b"\0"),
    profile("UTF-16", "[training]\nsteps = 5\n".encode("utf-16")),
    profile("another table", "[method]\nx = 1", "method"),
    profile("no table", "steps = 5", "steps"),
    profile("training a number", "training = 5", "training"),
    profile("training a list", "[[training]]\nsteps = 5", "training"),
    profile("unknown key", "[training]\nstep = 5", "step"),
    profile("key twice", "[training]\nsteps = 5\nsteps = 6"),
    *(profile(f"{key} = {value}", f"[training]\n{key} = {value}", key) for key, values in {
        "steps": ("0", "-1", "1.5", "nan", '"many"', "true", "[5]", "1979-05-27"),
        "batch": ("0", "-8", "2.5"),
        "learning_rate": ("nan", "inf", "1e400", "-1.0", '"fast"', "true"),
        "momentum": ("nan", "-0.1", "1.5"),
        "weight_decay": ("nan", "-1.0", "inf"),
        "decay": ("nan", "-1.0"), "decay_every": ("0",),
        "hash_rate": ("nan", "-1.0"), "deviation": ("-1.0", "inf"),
        "resize": ("-1",), "crop": ("-1",), "encode_batch": ("0",), "num_workers": ("-1",),
        "train": ('"none"', "3"), "augment": ("1", '"yes"'), "device": ('"tpu"', "0"),
        "backbone": ('"resnet-fifty"', "5"), "weights": ('"nowhere.pth"', "1"),
    }.items() for value in values),
    profile("a crop larger than its image", "[training]\nresize = 32\ncrop = 64", "crop"),
    fine("profile: empty", run("--profile p.toml"), "1 cells", text("p.toml", "")),
    fine("profile: a whole number as rate", run("--profile p.toml"), "1 cells",
         text("p.toml", "[training]\nlearning_rate = 1")),
]  # fmt: skip

# Backbones and weights


def weights(name: str, file: str, *given: Setup, told: str = "", more: str = "--backbone alexnet") -> Case:
    words = run(["--weights", file, *_split(more)], datasets=["folder:d"])
    return bad(f"weights: {name}", words, told or file, PICTURES, *given)


WEIGHTS = [
    bad("backbone unknown", run("--backbone alexnett", datasets=["folder:d"]), "did you mean 'alexnet'", PICTURES),
    bad("backbone without a name", run(["--backbone", ""], datasets=["folder:d"]), "backbone", PICTURES),
    bad(
        "backbone that detects",
        run("--backbone fasterrcnn_resnet50_fpn", datasets=["folder:d"]),
        "fasterrcnn_resnet50_fpn",
        PICTURES,
    ),
    bad("backbone of 5,000 characters", run(["--backbone", LONG], datasets=["folder:d"]), "nnnnn", PICTURES),
    bad("prepare with an unknown backbone", "prepare folder:d --backbone nope", "nope", PICTURES),
    weights("not there", "nowhere.pth"),
    weights("in small letters", "imagenet1k_v1"),
    weights("a name that torchvision lacks", "IMAGENET9K_V1"),
    weights("a folder", "w.pth", folder("w.pth")),
    weights("a pipe", "w.pth", fifo("w.pth")),
    weights("below a file", "x.npz/w.pth"),
    weights("of 5,000 characters", f"{LONG}.pth", told="nnnnn"),
    weights("an unknown suffix", "./w.txt", text("w.txt", "hello"), told="w.txt"),
    weights("text", "w.pth", text("w.pth", "hello")),
    weights("empty", "w.pth", text("w.pth", "")),
    weights("a pickle that runs code", "w.pth", text("w.pth", b"cos\nsystem\n(S'touch owned'\ntR.")),
    weights("a list", "w.pth", torch_file("w.pth", lambda torch: [torch.zeros(1)])),
    weights("no npz", "w.npz", text("w.npz", "hello")),
    weights("objects", "w.npz", npz("w.npz", a=np.array([{}, None], object))),
    weights("of another network", "w.npz", npz("w.npz", conv=np.zeros(3, np.float32))),
    weights("not finite", "w.npz", npz("w.npz", **{"features.0.bias": np.full(64, np.nan, np.float32)})),
    weights("cut short", "w.npz", npz("w.npz", a=np.zeros(1000)), cut("w.npz")),
    weights("for the miniature", "w.npz", npz("w.npz", a=np.zeros(3)), more="--backbone mini-cnn", told="mini-cnn"),
]

# Plugins

GOOD_METHOD = """
import numpy as np
from benchmark import register_method
@register_method({name!r}, title={title!r}, family={family!r})
class Method:
    def __init__(self, bits, seed=0): self.bits = bits
    def fit(self, train):
        {fit}
        return self
    def encode(self, split): return np.ones((len(split), self.bits), np.int8)
"""
DATASET = """
from benchmark import register_dataset
@register_dataset("mine", title="Mine")
class Mine:
    name = title = protocol = "mine"
    map_cutoff, miniature, backbone, revision = 10, False, None, "1"
    def __init__(self, argument=None, data_root=None): {init}
    def check(self): {check}
    def load(self): {load}
"""


def plugin(content: str | bytes, name: str = "m.py") -> Setup:
    return text(name, content)


def method(name: str = "mine", title: str = "Mine", family: str = "control", fit: str = "pass") -> Setup:
    return plugin(GOOD_METHOD.format(name=name, title=title, family=family, fit=fit))


def dataset(init: str = "pass", check: str = "pass", load: str = "raise ValueError('no rows today')") -> Setup:
    return plugin(DATASET.format(init=init, check=check, load=load))


PLUGINS = [
    *(bad(f"{command.split()[0]}: plugin that is not there", f"{command} --plugin absent.py", "absent.py")
      for command in ("run --dry-run", "list", "report", "audit coco", "why", "prepare coco", "tune")),
    bad("plugin without a value", "list --plugin", "--plugin"),
    bad("plugin that is a folder", "list --plugin m.py", "m.py", folder("m.py")),
    bad("plugin that is a pipe", "list --plugin m.py", "m.py", fifo("m.py")),
    bad("plugin below a file", "list --plugin x.npz/m.py", "m.py"),
    bad("plugin of 5,000 characters", ["list", "--plugin", LONG], "nnnnn"),
    bad("plugin that is a link to itself", "list --plugin loop.py", "loop.py", link("loop.py", "loop.py")),
    bad("plugin that is text", "list --plugin m.txt", "m.txt", plugin("hello", "m.txt")),
    *(bad(f"plugin: {name}", "list --plugin m.py", "m.py", plugin(content)) for name, content in {
        "a syntax error": "def f(:\n  pass",
        "an import that fails": "import no_such_module",
        "an error of two lines": "raise ValueError('one\\ntwo')",
        "an error without words": "raise ValueError",
        "an exit": "raise SystemExit(0)",
        "endless recursion": "def f(): return f()\nf()",
        "not UTF-8": b"x = '\xff'",
        "a zero byte": b"x = 1\0",
        "nothing registered": "x = 1",
        "no such argument": "from benchmark import register_method\n@register_method('a', colour=1)\nclass A: pass",
        "no name": "from benchmark import register_method\n@register_method()\nclass A: pass",
        "no class": "from benchmark import register_method\nregister_method('a', title='A', family='control')(5)",
    }.items()),
    bad("plugin: a name that is taken", "list --plugin m.py", "lsh", method("lsh"), apart=True),
    bad("plugin: an unknown family", "list --plugin m.py", "family", method(family="magic"), apart=True),
    *(bad(f"plugin: a method called {name!r}", "list --plugin m.py", "m.py", method(name), apart=True)
      for name in ("", "all", "two\nlines")),
    fine("plugin twice, with a hostile title", "list --plugin m.py m.py", "[/x] $y_{$", method(title="[/x] $y_{$"),
         apart=True),
    bad("plugin: a data set that cannot be built", run("--plugin m.py", datasets=["mine"]), "mine",
        dataset(init="raise ValueError('no luck')"), apart=True),
    bad("plugin: a data set whose check fails", run("--plugin m.py", datasets=["mine"]), "mine",
        dataset(check="raise KeyError('no luck')"), apart=True),
    bad("plugin: a data set that does not load", "audit mine --plugin m.py", "no rows today", dataset(), apart=True),
    *(fine(f"plugin: preparation names its cause, {name}",
           "run --plugin m.py --datasets mine --methods lsh --bits 8 --no-report", "no rows today", dataset(load=load),
           code=1, never="without a result", apart=True)
      for name, load in {"an exit": "raise SystemExit('no rows today')",
                         "an odd error": "raise type('Odd', (Exception,), {})('no rows today')"}.items()),
    fine("plugin: death by a signal without a name",
         "run --plugin m.py --datasets features:x.npz --methods mine --bits 8 --no-report", "signal 35",
         method(fit="import os; os.kill(os.getpid(), 35)"), code=1, apart=True),
    fine("check: a method that leaves in fit", "check m.py", "BROKEN", method(fit="import os; os._exit(0)"), code=1,
         apart=True),
]  # fmt: skip

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
    badly("a damaged member", "x.npz", lambda place: _overwrite(place.path("x.npz"), 100)),
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
      for value in (0, -1, 1.5, np.nan, "many", [1, 2], True, [])),
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
    *(fine(f"features: rows of {kind}", run(), "1 cells", features(train_features=np.ones((12, 4), kind)))
      for kind in ("f2", "f8", "i1", "u1")),
    fine("features: queries in the database", "audit features:x.npz", "6 of 6 query rows",
         features(query_ids=list("abcdef"), database_ids=list("abcdefghijkl")), code=1),
    fine("features: one row twice", "audit features:x.npz", "1 duplicate rows", features(query_ids=list("abcdee"))),
    fine("features: rows without a label", "audit features:x.npz", "rows in train have no label",
         features(train_labels=np.where(ROWS == 2, -1, ROWS))),
    fine("features: hostile class names", "audit features:x.npz", "classes: 3",
         features(class_names=["$x_{$", "[/x]", "=1+1\n"])),
]  # fmt: skip


def _overwrite(path: Path, start: int, data: bytes = b"\xff" * 40) -> None:
    with path.open("r+b") as handle:
        handle.seek(start)
        handle.write(data)


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
      for name in ("$x_{$", "[bold]", "=1+1", "-x", "@x", "a b", " a", "жук", "\u202edna", "1", "n" * 255)),
    fine("folder: a picture that is no UTF-8", "audit folder:d", "classes: 2", PICTURES,
         lambda place: os.rename(place.path("d/cat/a0.png"), os.fsencode(place.path("d/cat")) + b"/\xff.png")),
    *(fine(f"folder: a picture called {name!r}", "audit folder:d", "classes: 2", PICTURES,
           moved("d/cat/a0.png", f"d/cat/{name}.png")) for name in ("a 1", "1", "$x", "-x", "жук", "a\tb", " a")),
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
    *(in_list(f"class number {number}", f"{number}", f"a2.png {number}\n") for number in (-2, 10**9, HUGE)),
    in_list("class number 10^9 in the queries", "query.txt", query=f"a0.png {10**9}\n"),
    in_list("a path that leaves the folder", "'..'", "../a2.png 0\n"),
    in_list("an absent picture", "b2.png", "b2.png 0\n"),
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

# Codes to score


def scored(name: str, told: str, more: Words = "", **changes: Any) -> Case:
    return bad(f"score: {name}", score(more), told, codes(**changes))


def foreign(name: str, file: str, told: str, *given: Setup) -> Case:
    """Another file in the place of the query codes."""
    return bad(f"score: {name}", score(qc=file), told, codes(), *given)


ONES = np.ones((3, 8), np.int8)
PERFECT = '"map": 1.0'
SCORES = [
    foreign("not there", "nowhere.npy", "nowhere.npy"),
    foreign("a folder", "d.npy", "d.npy", folder("d.npy")),
    foreign("a pipe", "pipe.npy", "pipe.npy", fifo("pipe.npy")),
    foreign("below a file", "qc.npy/x.npy", "qc.npy/x.npy"),
    foreign("a name of 5,000 characters", f"{LONG}.npy", "nnnnn"),
    foreign("a link to itself", "loop.npy", "loop.npy", link("loop.npy", "loop.npy")),
    foreign("no name", "", "--query-codes"),
    foreign("an unknown suffix", "q.csv", "q.csv", text("q.csv", "1,1")),
    foreign("a name of two lines", "two\nlines.npy", "lines.npy"),
    *(foreign(f"text called {suffix}", f"q{suffix}", f"q{suffix}", text(f"q{suffix}", "hello\nworld"))
      for suffix in (".npy", ".npz", ".mat", ".pt", ".pth")),
    *(foreign(f"nothing called {suffix}", f"q{suffix}", f"q{suffix}", text(f"q{suffix}", ""))
      for suffix in (".npy", ".npz", ".mat", ".pt")),
    foreign("npy cut short", "qc.npy", "qc.npy", cut("qc.npy")),
    foreign("npz cut short", "q.npz", "q.npz", npz("q.npz", a=np.ones((30, 8))), cut("q.npz")),
    foreign("mat cut short", "q.mat", "q.mat", mat("q.mat", a=np.ones((30, 8))), cut("q.mat")),
    foreign("pt cut short", "q.pt", "q.pt", torch_file("q.pt", lambda t: t.ones(30, 8)), cut("q.pt")),
    foreign("npy of objects", "qc.npy", "qc.npy", npy("qc.npy", np.array([{}], object))),
    foreign("npz of objects", "q.npz", "q.npz", npz("q.npz", a=np.array([{}], object))),
    foreign("npz of nothing", "q.npz", "nothing", npz("q.npz")),
    foreign("npz of several", "q.npz", "a, b", npz("q.npz", a=ONES, b=ONES)),
    foreign("an array that is not there", "q.npz:c", "'c'", npz("q.npz", a=ONES, b=ONES)),
    foreign("an array without a name", "q.npz:", "q.npz", npz("q.npz", a=ONES, b=ONES)),
    foreign("MATLAB 7.3", "q.mat", "7.3", text("q.mat", b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + b"\0" * 400)),
    foreign("mat of a structure", "q.mat", "q.mat", mat("q.mat", a={"b": 1})),
    foreign("mat of words", "q.mat", "q.mat", mat("q.mat", a="hello")),
    foreign("pt of a list", "q.pt", "q.pt", torch_file("q.pt", lambda t: [1, 2])),
    foreign("pt of words", "q.pt", "q.pt", torch_file("q.pt", lambda t: {"a": "hello"})),
    foreign("a pickle that runs code", "q.pt", "q.pt", text("q.pt", b"cos\nsystem\n(S'touch owned'\ntR.")),
    scored("complex codes", "qc.npy", qc=np.ones((3, 8), complex)),
    scored("codes of words", "qc.npy", qc=np.full((3, 8), "x")),
    scored("codes of dates", "qc.npy", qc=np.full((3, 8), "2020-01-01", "M8[D]")),
    scored("codes without dimension", "query codes", qc=np.array(1)),
    scored("codes of one dimension", "query codes", qc=np.ones(8)),
    scored("codes of three dimensions", "query codes", qc=np.ones((3, 8, 1))),
    scored("no queries", "query codes", qc=np.ones((0, 8)), ql=np.zeros(0, int)),
    scored("no database", "database codes", dc=np.ones((0, 8)), dl=np.zeros(0, int)),
    scored("no bits", "query codes", qc=np.ones((3, 0)), dc=np.ones((6, 0))),
    scored("513 bits", "513", qc=np.ones((3, 513)), dc=np.ones((6, 513))),
    scored("other bits", "database codes", dc=np.ones((6, 16))),
    *(scored(f"codes {value}", "query codes", qc=np.full((3, 8), value)) for value in (0.5, np.nan, np.inf, 2.0)),
    scored("NaN has no sign", "query codes", "--binarize sign", qc=np.full((3, 8), np.nan)),
    scored("packed codes without --bits", "--bits", qc=np.full((3, 1), 7, np.uint8), dc=np.full((6, 1), 7, np.uint8)),
    scored("packed codes of other bits", "17", "--bits 17", qc=np.full((3, 1), 7, np.uint8)),
    scored("one label short", "query labels", ql=np.arange(2)),
    scored("one database label short", "database labels", dl=np.arange(5)),
    scored("labels of three dimensions", "labels", ql=np.zeros((3, 2, 2), int)),
    scored("labels without dimension", "labels", ql=np.array(1)),
    scored("labels 1.5", "labels", ql=np.arange(3) + 0.5),
    *(scored(f"labels {value}", "labels", ql=np.full(3, value)) for value in (np.nan, np.inf)),
    *(scored(f"database labels {value}", "labels", dl=np.full(6, value)) for value in (np.nan, np.inf)),
    scored("labels of words", "ql.npy", ql=np.array(["cat", "dog", "cow"])),
    *(scored(f"class number {number}", str(number), ql=np.array([0, 1, number])) for number in (-2, 10**9, 2**62)),
    scored("multi-hot of other widths", "labels", ql=np.eye(3, dtype=int), dl=np.ones((6, 4), int)),
    scored("multi-hot with a 2", "labels", ql=2 * np.eye(3, dtype=int), dl=np.ones((6, 3), int)),
    scored("nothing in common", "labels", ql=np.arange(3) + 10),
    scored("no labels at all", "labels", ql=np.full(3, -1), dl=np.full(6, -1)),
    *(scored(f"k {value}", "--k", f"--k={value}") for value in ("0", "-1", "1.5", "nan", "x")),
    *(scored(f"bits {value}", "--bits", f"--bits={value}") for value in ("0", "-1", "1.5", "x")),
    scored("bits 10^9", str(10**9), f"--bits {10**9}"),
    *(scored(f"n {value}", "--n", f"--n {value}") for value in ("0", "1 0", "x", "1.5", "")),
    *(scored(f"threads {value}", "--threads", f"--threads={value}") for value in ("0", "-1", "x")),
    *(scored(f"{flag} unknown", f"--{flag}", f"--{flag} magic")
      for flag in ("ties", "denominator", "empty", "kernel", "binarize")),
    *(scored(f"dask {value!r}", "--dask", ["--dask", value]) for value in ("local:0", "local:x", "")),
    scored("JSON into a folder that is not there", "nowhere", "--json nowhere/s.json"),
    scored("JSON into a folder", "--json", "--json ."),
    scored("JSON below a file", "ql.npy", "--json ql.npy/s.json"),
    scored("JSON where nothing can be made", "/proc", "--json /proc/s.json"),
    scored("JSON of 5,000 characters", "nnnnn", ["--json", LONG]),
    *(fine(f"score: labels of {kind}", score("--json -"), PERFECT,
           codes(ql=np.arange(3).astype(kind), dl=(np.arange(6) % 3).astype(kind)))
      for kind in ("u1", "u2", "u4", "u8", "i1", "f4", "f8")),
    fine("score: labels in a column", score("--json -"), PERFECT,
         codes(ql=np.arange(3)[:, None], dl=(np.arange(6) % 3)[:, None])),
    fine("score: labels in a row", score("--json -"), PERFECT, codes(ql=np.arange(3)[None], dl=np.arange(6)[None] % 3)),
    fine("score: multi-hot", score("--json -"), PERFECT,
         codes(ql=np.eye(3, dtype=np.uint8), dl=np.eye(3, dtype=np.uint8)[np.arange(6) % 3])),
    fine("score: multi-hot beside numbers", score("--json -"), PERFECT, codes(ql=np.eye(3, dtype=int))),
    fine("score: a class that no query has", score("--json -"), '"queries": 3', codes(dl=[0, 1, 2, 0, 1, 10**9])),
    fine("score: k beyond the database", score(f"--k {10**9} --json -"), PERFECT, codes()),
    fine("score: k of 10^30", score(f"--k {HUGE} --json -"), PERFECT, codes()),
    fine("score: n beyond the database", score(f"--n 3 {10**9} --json -"), PERFECT, codes()),
    fine("score: zeros and ones", score("--json -"), PERFECT,
         lambda place: (codes()(place), *(npy(f"{n}.npy", np.load(place.path(f"{n}.npy")) > 0)(place)
                                          for n in ("qc", "dc")))),
    fine("score: a tensor with a gradient", score("--json -", qc="q.pt"), PERFECT, codes(),
         lambda place: torch_file("q.pt", lambda t: t.tensor(np.load(place.path("qc.npy")).astype("f4"),
                                                             requires_grad=True))(place)),
    fine("score: a sparse matrix of MATLAB", score("--json -", ql="q.mat"), PERFECT,
         codes(dl=np.eye(3, dtype=int)[np.arange(6) % 3]),
         lambda place: mat("q.mat", a=_sparse(np.eye(3)))(place)),
    *(fine(f"score: a file called {name!r}", score("--json -", qc=f"./{name}.npy"), PERFECT, codes(),
           moved("qc.npy", f"{name}.npy")) for name in ("a:b", "$x_{$", "[bold]", "-x", "жук", "two\nlines")),
]  # fmt: skip


def _sparse(array: np.ndarray) -> Any:
    from scipy.sparse import csc_matrix

    return csc_matrix(array)


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
    "run for true": _split("run --datasets features:x.npz --methods lsh --bits 8 --no-report"),
    "why": _split("why --datasets features:x.npz --methods lsh --bits 8"),
    "tune": _split("tune --datasets features:x.npz --methods lsh --bits 8"),
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
      for command in ("verify", "report")),
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
    fine("why: results that are not there", [*READERS["why"], "--results", "nowhere"], "todo"),
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
    "with one bit changed": lambda path: _overwrite(path, 50, b"!"),
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
    *(fine(f"verify: a record {name}", "verify", "1 sound records, 1 damaged", damaged(change), code=1)
      for name, change in DAMAGES.items()),
    *(fine(f"run: a record {name}", run("--bits 8 16"), "1 done", damaged(change))
      for name, change in DAMAGES.items()),
    *(fine(f"why: a record {name}", "why --datasets features:x.npz --methods lsh --bits 8 16", "lsh x 16 bits",
           damaged(change)) for name, change in DAMAGES.items()),
    *(fine(f"compare: a record {name}", "compare results other", "cells in both", damaged(change), finished("other"))
      for name, change in DAMAGES.items()),
    *(fine(f"report: a record {name}", "report", "index.html", damaged(change, only=True))
      for name, change in DAMAGES.items() if "payload" not in name),
    fine("verify: says that a schema is newer", "verify --keep", "schema", damaged(having(schema=99)), code=1),
    fine("verify: says what is missing", "verify --keep", "metrics", damaged(without("metrics")), code=1),
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
    fine("report: title $x_{$", "report", "index.html", renamed(title="$x_{$")),
    fine("report: data set $x_{$", "report", "index.html", renamed(dataset="$x_{$")),
    fine("report: swept method a/b", "report", "index.html", swept(method="a/b", title="a/b")),
    fine("report: swept method of 5,000 characters", "report", "index.html", swept(method=LONG, title=LONG)),
    fine("report: swept parameter $x_{$", "report", "index.html", swept("$x_{$")),
    *(fine(f"report: a failure called {name!r}", "report", "index.html",
           renamed(title=name, dataset=name, method=name, reason=name)) for name in (*HOSTILE, LONG)),
    *(fine(f"compare: names {name!r}", "compare results results", "1 cells in both", renamed(dataset=name, title=name))
      for name in HOSTILE),
    *(fine(f"verify: names {name!r}", "verify", "1 sound records", renamed(dataset=name, title=name, method=name))
      for name in HOSTILE),
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
    fine(f"{command}: a cache of {name}", command, "classes: ", lists(), PICTURES, garbled(command, content))
    for command in ("audit lists:l", "audit folder:d", "audit features:x.npz", "audit folder:d --skip-broken")
    for name, content in GARBAGE.items()
]

CASES = [
    *FLAGS, *COMMANDS, *NAMES, *OPTIONS, *PARAMETERS, *PROFILES, *WEIGHTS, *PLUGINS, *FEATURES, *FOLDERS, *LISTS,
    *PAIRS, *SCORES, *PLACES, *DAMAGED, *REPORTS, *CACHES,
]  # fmt: skip


# The test


class Hung(BaseException):
    """A case took too long; not an Exception, so that nothing on its way keeps it."""


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """An end to what would last for ever or take all memory."""

    def ring(*_: Any) -> None:
        raise Hung(f"no answer after {SECONDS} seconds")

    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    memory = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, memory[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, memory)


def called(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, output and errors of a command in this process; whatever it raises is printed as Python would."""
    with bounded():
        try:
            code = main(list(words))
        except Exception:
            traceback.print_exc()
            code = -1
    caught = capsys.readouterr()
    return code, caught.out, caught.err


PROGRAM = [sys.executable, "-c", "import sys; from benchmark.commands import main; sys.exit(main())"]


def called_apart(words: Sequence[str], **more: Any) -> tuple[int, str, str]:
    """The same in a process of its own."""
    root = str(Path(str(benchmark.__file__)).parents[1])
    env = {**os.environ, "PYTHONPATH": root, "COLUMNS": "200"}
    done = subprocess.run([*PROGRAM, *words], capture_output=True, env=env, timeout=APART_SECONDS, **more)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def found_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything below a folder, with its kind and its size."""
    found = {}
    for current, below, files in os.walk(folder):
        for name in (*below, *files):
            status = os.lstat(os.path.join(current, name))
            size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
            found[os.path.relpath(os.path.join(current, name), folder)] = (stat.S_IFMT(status.st_mode), size)
    return found


@pytest.fixture(scope="module")
def finished_results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """A results folder of two cells, made when first asked for."""
    folder = tmp_path_factory.mktemp("finished")

    def make() -> Path:
        if not (folder / "results").exists():
            _save(folder / "x.npz", arrays())
            words = ["run", "--datasets", f"features:{folder / 'x.npz'}", "--methods", "lsh", "--bits", "8", "16"]
            with contextlib.redirect_stdout(io.StringIO()):
                assert main([*words, "--results", str(folder / "results"), "--no-report", "--jobs", "1"]) == 0
        return folder / "results"

    return make


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished_results: Callable[[], Path]) -> Place:
    found = Place(tmp_path / "here", tmp_path / "cache", finished_results)
    monkeypatch.setenv("HASHBENCH_CACHE", str(found.cache))
    monkeypatch.delenv("HASHBENCH_DATA", raising=False)
    found.folder.mkdir()
    monkeypatch.chdir(found.folder)
    features()(found)
    return found


@pytest.fixture
def quick_figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Figures of few dots, drawn in this process: their texts are still laid out, which is where names do harm."""
    import joblib
    from matplotlib.figure import Figure

    whole = Figure.savefig

    def coarse(figure: Figure, target: Any, *args: Any, **options: Any) -> None:
        if isinstance(target, io.BytesIO):
            whole(figure, target, format="png", dpi=8)
        else:
            Path(target).write_bytes(b"")

    monkeypatch.setattr(Figure, "savefig", coarse)
    with joblib.parallel_config(backend="sequential"):
        yield


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.usefixtures("quick_figures")
def test_bad_input_is_told_in_a_line_or_understood(
    case: Case, place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for write in case.given:
        write(place)
    for name, value in case.env.items():
        monkeypatch.setenv(name, value)
    before = found_in(place.folder)
    capsys.readouterr()
    code, out, err = called_apart(case.words) if case.apart else called(case.words, capsys)
    assert "Traceback" not in err, err
    assert not case.never or case.never not in out + err, out + err
    assert code == case.code, f"exit code {code}, expected {case.code}\n{out}{err}"
    if code == 2:
        assert err.startswith("error: "), err
        assert err.count("\n") == 1, err
        assert case.told in err
    else:
        assert case.shown in out, out + err
    if code == 2 or "--dry-run" in case.words:
        assert found_in(place.folder) == before, "something was written"


def test_there_are_enough_cases_and_no_two_of_one_name() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 200
    every = set("run list report check audit verify why score prepare compare tune".split())  # noqa: SIM905
    assert {case.words[0] for case in CASES} >= every


def test_hostile_class_names_do_not_stop_a_report(place: Place, quick_figures: None) -> None:
    features(class_names=["$x_{$", "[/x]", "=1+1"])(place)
    words = ["run", "--datasets", "features:x.npz", "--methods", "lsh", "--bits", "8", "--jobs", "1"]
    assert main(words) == 0
    assert (place.folder / "reports" / "default" / "index.html").is_file()


NAMED = """
import numpy as np
from benchmark import Split, Splits, register_dataset
@register_dataset("mine", title="Mine")
class Mine:
    name, title, protocol, revision = "[/x]", "Mine", "mine", "1"
    map_cutoff, miniature, backbone = 10, False, None
    def __init__(self, argument=None, data_root=None): pass
    def check(self): pass
    def load(self):
        rows = np.random.default_rng(0).standard_normal((18, 4)).astype("f4")
        splits = [Split(features=rows[part::3], labels=np.arange(6) % 2) for part in range(3)]
        return Splits(*splits)
"""


def test_a_label_on_a_terminal_is_text(place: Place) -> None:
    """Bars read [...] as markup; a data set may be called so."""
    plugin(NAMED)(place)
    root = str(Path(str(benchmark.__file__)).parents[1])
    ours, theirs = pty.openpty()
    words = ["run", "--plugin", "m.py", "--datasets", "mine", "--methods", "lsh", "--bits", "8", "--no-report"]
    env = {**os.environ, "PYTHONPATH": root, "TERM": "xterm", "COLUMNS": "200"}
    child = subprocess.Popen([*PROGRAM, *words], stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown, end = b"", time.monotonic() + APART_SECONDS
    with contextlib.suppress(OSError):  # the terminal's end is an error here
        while time.monotonic() < end and (data := os.read(ours, 65536)):
            shown += data
    os.close(ours)
    assert child.wait(timeout=APART_SECONDS) == 0, shown.decode()
    assert b"lsh [/x] 8 bits" in shown
    assert b"Traceback" not in shown


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
