"""Bad input to every command and format: what a case is, what it may find in its folder, and how it is tried.

A case is a name, the words of a command line, the files they speak of, and what is expected: either one line that
names what is wrong, exit code 2, and nothing written (`bad`), or the right result (`fine`) where the input only looks
bad. Every case starts in a folder of its own that holds one sound file of features, `x.npz`. The cases themselves
are in test_bad_words.py (flags, names, values), test_bad_plugins.py, test_bad_data.py, test_bad_codes.py and
test_bad_results.py.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import traceback
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
PARITY = """
import numpy as np
from benchmark import register_method

@register_method("test-parity", title="Parity", family="data-independent")
class Parity:
    def __init__(self, bits, seed=0): self.bits = bits
    def fit(self, train): return self
    def encode(self, split):
        return np.where(split.features[:, np.arange(self.bits) % split.features.shape[1]] > 0, 1, -1).astype(np.int8)
"""
Words = str | Sequence[str]


# What a case is


QUICK = 4  # every so many cases are run by plain pytest, all of them by .ci/run


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
    code: int = 2
    env: Mapping[str, str] = field(default_factory=dict)
    apart: bool = False  # in a process of its own: it registers plugins, or dies
    slow: bool = False  # as every case apart is, and all but every QUICK-th


def bad(name: str, words: Words, told: str, *given: Setup, **more: Any) -> Case:
    """Must be refused by one line that holds `told`."""
    return Case(name, split(words), told=told, given=given, **more)


def fine(name: str, words: Words, shown: str, *given: Setup, code: int = 0, **more: Any) -> Case:
    """Must give the right result, recognised by `shown`."""
    return Case(name, split(words), shown=shown, given=given, code=code, **more)


def split(words: Words) -> list[str]:
    return shlex.split(words) if isinstance(words, str) else list(words)


def run(more: Words = "", methods: str = "lsh", datasets: Sequence[str] = ("features:x.npz",)) -> list[str]:
    """A grid of one cell per method, shown and not run, with further words that go before its own."""
    grid = ["run", "--dry-run", "--datasets", *datasets, "--methods", *methods.split(), "--bits", "8"]
    return [*grid, *split(more)]


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


def overwrite(path: Path, start: int, data: bytes = b"\xff" * 40) -> None:
    with path.open("r+b") as handle:
        handle.seek(start)
        handle.write(data)


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
    return ["score", *words, *split(more)]


PICTURES = pictures("d")


# How a case is tried


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
        except Exception:  # which main should not let through
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
    """Everything below a folder, with its kind and its size; but for what Python keeps of a plugin that it compiled."""
    found = {}
    for current, below, files in os.walk(folder):
        below[:] = [name for name in below if name != "__pycache__"]
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


def cases(found: Sequence[Case]) -> list[Any]:
    """As parameters of a test, each under its name; slow ones are marked."""
    names = [case.name for case in found]
    assert len(set(names)) == len(names), "two cases of one name"
    return [
        pytest.param(one, id=one.name[:80], marks=pytest.mark.slow if one.slow or one.apart or place % QUICK else ())
        for place, one in enumerate(found)
    ]


@pytest.fixture
def tell(
    place: Place, quick_figures: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Case], None]:
    """The claim of a case."""

    def check(case: Case) -> None:
        for write in case.given:
            write(place)
        for name, value in case.env.items():
            monkeypatch.setenv(name, value)
        before = found_in(place.folder)
        capsys.readouterr()
        code, out, err = called_apart(case.words) if case.apart else called(case.words, capsys)
        assert "Traceback" not in err, err
        assert code == case.code, f"exit code {code}, expected {case.code}\n{out}{err}"
        if code == 2:
            assert err.startswith("error: "), err
            assert err.count("\n") == 1, err
            assert case.told in err
        else:
            assert case.shown in out, out + err
        if code == 2 or "--dry-run" in case.words:
            assert found_in(place.folder) == before, "something was written"

    return check


# For tests of one command each


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run a command in an empty folder; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HASHBENCH_DATA", raising=False)

    def call(*words: Any) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        output = capsys.readouterr()
        return code, output.out, output.err

    return call


@pytest.fixture
def own_features(tmp_path: Path) -> Path:
    """mine.npz: four classes of 24 columns that are easy to tell apart."""
    generator, found = np.random.default_rng(0), {"map_cutoff": np.array(50)}
    centres = generator.standard_normal((4, 24)) * 2
    for part, per_class in (("train", 30), ("query", 5), ("database", 40)):
        labels = np.repeat(np.arange(4), per_class)
        noise = generator.standard_normal((len(labels), 24))
        found[f"{part}_features"] = (centres[labels] + noise).astype(np.float32)
        found[f"{part}_labels"] = labels
    _save(tmp_path / "mine.npz", found)
    return tmp_path / "mine.npz"


@pytest.fixture
def parity() -> str:
    """The text of a plugin with a method called test-parity."""
    return PARITY


@pytest.fixture(scope="session")
def picture_cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results of lsh and itq, whose models were kept, and the pictures in l/ that they were made of:
    reds in l/red and blues in l/blue, each with noise of its own."""
    from PIL import Image

    folder, random = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    rows = []
    for number in range(24):
        kind = ("red", "blue")[number % 2]
        pixels = random.integers(0, 60, (32, 32, 3)).astype(np.uint8)
        pixels[:, :, 0 if kind == "red" else 2] += 150
        path = folder / "l" / kind / f"{number:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
        rows.append(f"{kind}/{path.name} {number % 2}\n")
    for part, own in (("query", rows[:4]), ("database", rows[4:]), ("train", rows[4:])):
        (folder / "l" / f"{part}.txt").write_text("".join(own))
    words = ["--datasets", f"lists:{folder / 'l'}", "--backbone", "mini-cnn", "--methods", "lsh", "itq", "--bits", "8"]
    more = ["--results", str(folder / "results"), "--keep-models", "--no-report", "--jobs", "1"]
    assert main([*words, *more]) == 0
    return folder
