"""Bad codes and labels to score, in every kind of file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.benchmark.commands.conftest import (
    HUGE,
    LONG,
    Case,
    Setup,
    Words,
    bad,
    cases,
    codes,
    cut,
    fifo,
    fine,
    folder,
    link,
    mat,
    moved,
    npy,
    npz,
    score,
    text,
    torch_file,
)


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
    foreign("an unknown suffix", "q.tsv", "q.tsv", text("q.tsv", "1\t1")),
    foreign("words called .csv", "q.csv", "q.csv", text("q.csv", "hello,world")),
    foreign("a damaged first row of .csv", "q.csv", "q.csv", text("q.csv", "1,x\n1,0")),
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


@pytest.mark.parametrize("case", cases(SCORES))
def test_bad_codes_are_told_in_a_line_or_understood(case: Case, tell: Callable[[Case], None]) -> None:
    tell(case)
