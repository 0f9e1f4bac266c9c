"""Fixtures for the whole suite."""

import csv
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# One thread per library, before any is loaded: tests run beside each other, and threads that wait spin.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

ROOT = Path(__file__).parents[1]

# No test fails for having been slow: a busy machine took twice the 200 ms that an example is given by default.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout; tests that need it skip where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data (../shared/data) is not on this machine")
    return folder


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """The whole suite takes all cores; what is asked for by name runs here, where a debugger can be had."""
    return 0 if config.args_source is pytest.Config.ArgsSource.ARGS else None


# A laboratory for whole runs: the command line in a process of its own, on tiny data, with a cache of its own.

PLANES = '''"""Random planes, and whatever the test adds to them."""

import os
import time
from pathlib import Path

import numpy as np

from benchmark import Split, register_method

HERE = Path(__FOLDER__)


@register_method("__NAME__", title=__TITLE__, family="data-independent", input="__INPUT__", needs="__NEEDS__")
class Planes:
    def __init__(self, bits: int, seed: int = 0, *__KEYWORDS__) -> None:
        self.bits, self.seed = bits, seed

__DECLINES__
    def fit(self, train: Split):
__FIT__
        return self

    def encode(self, split: Split) -> np.ndarray:
__ENCODE__
        rows = split.features if split.features is not None else np.stack([i.ravel() for i in split.images])
        planes = np.random.default_rng(self.seed).normal(size=(rows.shape[1], self.bits))
        return np.where((rows - rows.mean()) @ planes >= 0, 1, -1).astype(np.int8)
'''


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code and all it printed."""

    code: int
    text: str


class Lab:
    """A folder with tiny data, plugins, results and reports; every command runs in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []
        self.fresh_cache()

    # Commands

    def fresh_cache(self) -> None:
        """A cache without hashes, features and lists; the weights of mini-cnn, a minute's work, are shared."""
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hashbench"
        shared = Path(os.environ.get("HASHBENCH_CACHE") or base) / "weights"
        shared.mkdir(parents=True, exist_ok=True)
        self.cache = Path(tempfile.mkdtemp(prefix="cache-", dir=self.folder))
        (self.cache / "weights").symlink_to(shared.resolve())

    def environment(self, *on_path: Path | str) -> dict[str, str]:
        paths = [*map(str, on_path), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {**os.environ, "HASHBENCH_CACHE": str(self.cache), "PYTHONPATH": os.pathsep.join(paths)}

    def start(self, *words: object, program: Path = ROOT / "run_all.py", on_path: tuple[Any, ...] = ()) -> Any:
        """Start a command; its output goes to the file `told`."""
        with (self.folder / "told").open("wb") as told:
            command = [sys.executable, str(program), *map(str, words)]
            process = subprocess.Popen(
                command, stdout=told, stderr=told, stdin=subprocess.DEVNULL, cwd=self.folder,
                env=self.environment(*on_path),
            )  # fmt: skip
        self.started.append(process)
        return process

    def told(self) -> str:
        return (self.folder / "told").read_text(errors="replace")

    def command(self, *words: object, seconds: float = 300, **how: Any) -> Done:
        """Run a command to its end."""
        process = self.start(*words, **how)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            pytest.fail(f"{' '.join(map(str, words))}: not done after {seconds:g} s; it said:\n{self.told()}")
        return Done(code, self.told())

    def words(self, *words: object, results: str = "results", report: bool = False) -> list[str]:
        """A run of the grid: 8 bits, the quick profile and one job at a time, unless told otherwise."""
        given = [str(word) for word in words]
        defaults = {"--bits": "8", "--profile": "quick", "--jobs": "1", "--results": results}
        for name, value in defaults.items():
            given += [] if name in given else [name, value]
        return given if report else [*given, "--no-report"]

    def run(self, *words: object, results: str = "results", report: bool = False, code: int = 0, **how: Any) -> Done:
        """Run the grid, which must end with this exit code."""
        done = self.command(*self.words(*words, results=results, report=report), **how)
        assert done.code == code, done.text
        return done

    # What came of it

    def records(self, results: str = "results") -> dict[str, Any]:
        """Key -> record."""
        found = [json.loads(path.read_text()) for path in sorted((self.folder / results / "cells").glob("*.json"))]
        return {record["key"]: record for record in found}

    def maps(self, results: str = "results") -> dict[tuple[str, str], float]:
        """(method, data set) -> MAP of the cells that ended well; each must be there once."""
        good = [record for record in self.records(results).values() if record["status"] == "ok"]
        found = {(one["cell"]["method"], one["cell"]["dataset"]): one["metrics"]["map"] for one in good}
        assert len(found) == len(good), "several records of one method and data set"
        return found

    def statuses(self, results: str = "results") -> dict[str, str]:
        """Method -> status."""
        return {one["cell"]["method"]: one["status"] for one in self.records(results).values()}

    def shown(self, title: str, name: str = "default") -> dict[str, float]:
        """What the tables of a report say of one method: column heading -> MAP, where there is one."""
        found: dict[str, float] = {}
        for path in sorted((self.folder / "reports" / name / "tables").glob("map*.csv")):
            with path.open(newline="") as lines:
                rows = list(csv.reader(lines))
            for row in rows[1:]:
                if row[0] == title:
                    numbers = [(f"{path.stem}: {head}", cell) for head, cell in zip(rows[0], row, strict=True)]
                    numbers = [(head, cell) for head, cell in numbers[1:] if _is_number(cell)]
                    assert len(dict(numbers)) == len(numbers), f"two columns of one heading: {rows[0]}"
                    found |= {head: float(cell) for head, cell in numbers}
        return found

    # Data and plugins

    def features(self, path: str, seed: int = 0, noise: float = 0.3, cutoff: int = 20, **arrays: Any) -> Path:
        """Four classes around four points, as a features file; its size does not depend on the arguments."""
        rng = np.random.default_rng(seed)
        centres = np.random.default_rng(7).normal(size=(4, 8))
        for part, rows in (("train", 40), ("query", 20), ("database", 60)):
            labels = np.arange(rows) % 4
            arrays.setdefault(f"{part}_labels", labels)
            arrays.setdefault(
                f"{part}_features", (centres[labels] + noise * rng.normal(size=(rows, 8))).astype(np.float32)
            )
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        np.savez(target, map_cutoff=cutoff, **arrays)
        return target

    def pictures(self, path: str, noisy: bool, seed: int = 0) -> Path:
        """Four class folders of eight pictures, told apart by colour, or by nothing; all files of one size."""
        from PIL import Image

        rng = np.random.default_rng(seed)
        colours = np.array([[200, 30, 30], [30, 200, 30], [30, 30, 200], [200, 200, 30]])
        for label, number in itertools.product(range(4), range(8)):
            colour = rng.integers(0, 256, (32, 32, 3)) if noisy else colours[label]
            pixels = np.clip(colour + rng.integers(-20, 20, (32, 32, 3)), 0, 255).astype(np.uint8)
            target = self.folder / path / f"secret{label}" / f"{number}.bmp"
            target.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(target)
        return self.folder / path

    def lists(self, path: str) -> Path:
        """List files for a folder of `pictures`: of each class three queries, the rest database and training."""
        rows = {"query": range(3), "database": range(3, 8), "train": range(3, 8)}
        for part, numbers in rows.items():
            lines = [f"secret{label}/{number}.bmp {label}\n" for label in range(4) for number in numbers]
            (self.folder / path / f"{part}.txt").write_text("".join(lines))
        return self.folder / path

    def plugin(
        self,
        name: str,
        fit: str = "pass",
        *,
        encode: str = "pass",
        title: str = "",
        needs: str = "nothing",
        input: str = "features",
        declines: str = "",
        top: str = "",
        file: str = "",
    ) -> Path:
        """A method on random planes whose fit (or encode, or unsupported) does what the test wants."""
        text = PLANES.replace("__NAME__", name).replace("__TITLE__", repr(title or name)).replace("__NEEDS__", needs)
        text = text.replace("__INPUT__", input).replace("__FOLDER__", repr(str(self.folder)))
        text = text.replace(", *__KEYWORDS__", ", *, training=None" if input == "images" else "")
        if declines:
            body = textwrap.indent(textwrap.dedent(declines).strip(), " " * 8)
            declines = f"    @staticmethod\n    def unsupported(train, bits):\n{body}\n"
        text = text.replace("__DECLINES__", declines)
        for mark, body in (("__FIT__", fit), ("__ENCODE__", encode)):
            text = text.replace(mark, textwrap.indent(textwrap.dedent(body).strip(), " " * 8))
        target = self.folder / (file or f"{name}.py")
        target.write_text(text + textwrap.dedent(top))
        return target

    def wait_for(self, found: Callable[[], Any], seconds: float = 60, process: Any = None) -> Any:
        """What `found` gives as soon as it gives something; a failure where the process ends or time runs out."""
        end = time.monotonic() + seconds
        while True:
            value = found()
            if value:
                return value
            assert process is None or process.poll() is None, self.told()
            assert time.monotonic() < end, f"nothing after {seconds:g} s; it said:\n{self.told()}"
            time.sleep(0.05)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def make_lab() -> type[Lab]:
    """For fixtures that several tests share."""
    return Lab
