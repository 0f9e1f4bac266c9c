"""`check`: what a plugin does to its process is no pass, and a bad file costs one line."""

import os
from pathlib import Path

import numpy as np
import pytest

from benchmark.commands.main import main

HOSTILE = Path(__file__).parents[2] / "hostile"

METHOD = """
import numpy as np
from benchmark import register_method

@register_method("test-mine", title="Mine", family="data-independent")
class Mine:
    def __init__(self, bits, seed=0):
        self.bits, self.seed, self.planes = bits, seed, None
    def fit(self, train):
        self.mean = train.features.mean(axis=0)
        self.planes = np.random.default_rng(self.seed).standard_normal((len(self.mean), self.bits))
        return self
    def encode(self, split):
        if self.planes is None:
            raise RuntimeError("call fit first")
        return np.where((split.features - self.mean) @ self.planes > 0, 1, -1).astype(np.int8)
"""

DATASET = """
import hashlib
import numpy as np
from pathlib import Path
from benchmark import Split, Splits, UsageError, register_dataset

@register_dataset("test-rows", title="Rows", takes="FILE.npz")
class Rows:
    miniature, backbone, map_cutoff, protocol = False, None, 5, "as given"
    def __init__(self, argument=None, data_root=None, *, queries: int = 12):
        self.path, self.queries = Path(argument), queries
        self.name = self.title = self.path.stem
    @property
    def revision(self):
        return hashlib.sha256(self.path.read_bytes() + bytes([self.queries])).hexdigest()
    def check(self):
        if not self.path.is_file():
            raise UsageError(f"{self.path} is not there")
    def load(self):
        rows, n = dict(np.load(self.path)), self.queries
        query, rest = ({name: array[part] for name, array in rows.items()} for part in (slice(n), slice(n, None)))
        return Splits(Split(**rest), Split(**query), Split(**rest))
"""


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in an empty folder: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HASHBENCH_DATA", raising=False)

    def call(*words):
        code = main(["check", *map(str, words)])
        return code, *capsys.readouterr()

    return call


def write_rows(path):
    generator = np.random.default_rng(0)
    np.savez(path, features=generator.normal(size=(60, 8)).astype(np.float32), labels=np.arange(60) % 3)
    return path


@pytest.mark.parametrize("option", ["queries=9", "test-rows.queries=9"])
def test_a_method_and_a_data_set_in_one_file(check, tmp_path, option):
    """Issue 12: `check FILE` for data sets too; an option is said as to a run, or alone."""
    (tmp_path / "both.py").write_text(METHOD + DATASET)
    write_rows(tmp_path / "own.npz")
    code, out, err = check("both.py", "--argument", "own.npz", "--option", option)
    assert (code, err) == (0, "")
    assert "test-mine (Mine)\n  ok     can be built\n" in out
    assert "test-rows (Rows)\n  ok     builds\n" in out
    assert "ok     revision follows the content\n" in out
    assert out.endswith("every promise is kept\n")


def test_broken_promises_are_counted(check, tmp_path):
    (tmp_path / "flawed.py").write_text(METHOD.replace("> 0, 1, -1", "> 0, 1, 0"))
    code, out, _ = check("flawed.py")
    assert code == 1
    assert "  BROKEN codes are plus minus one  " in out
    assert out.endswith("1 promise is broken\n")


def test_a_broken_data_set(check, tmp_path):
    (tmp_path / "flawed.py").write_text(
        DATASET.replace("Split(**query), Split(**rest)", "Split(**rest), Split(**rest)").replace(
            "Split(**", "Split(ids=list(map(str, range(len(rest['labels'])))), **"
        )
    )
    write_rows(tmp_path / "own.npz")
    code, out, _ = check("flawed.py", "--argument", "own.npz")
    assert code == 1
    assert "BROKEN no query in the database  48 of 48 query rows" in out


@pytest.mark.parametrize("name", ["lsh", "features:own.npz"])
def test_the_name_of_something_known(check, tmp_path, name):
    rows = dict(np.load(write_rows(tmp_path / "rows.npz")))
    parts = {"train": slice(10, 60), "query": slice(10), "database": slice(10, 60)}
    arrays = {f"{part}_{kind}": array[rows_] for part, rows_ in parts.items() for kind, array in rows.items()}
    np.savez(tmp_path / "own.npz", **arrays)
    code, out, _ = check(name)
    assert code == 0, out
    assert out.startswith("lsh (LSH)\n" if name == "lsh" else "features:")


def test_a_folder_called_like_a_method_does_not_hide_it(check, tmp_path):
    (tmp_path / "lsh").mkdir()
    assert check("lsh")[0] == 0


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("vanishes.py", "BROKEN fits on what it declared  the process exited with code 0"),
        ("segfaults.py", "BROKEN fits on what it declared  the process was ended by SIGSEGV"),
        ("exits.py", "BROKEN fits on what it declared  fit failed"),
        ("loops.py", "BROKEN fits on what it declared  not done after 3 s"),
    ],
)
def test_the_end_of_its_process_is_no_pass(check, file, told):
    """C15: os._exit(0) in fit was a pass, and a hang hung."""
    code, out, _ = check(HOSTILE / file, "--timeout", 3)
    assert code == 1
    assert told in out
    assert "not tested because of that: fit returns self" in out


def test_the_output_of_a_broken_plugin_is_shown(check, tmp_path):
    constant = METHOD.replace("> 0, 1, -1", "> 1e9, 1, -1")
    (tmp_path / "prints.py").write_text(constant.replace("return self", "print('tell me'); return self"))
    code, out, _ = check("prints.py")
    assert code == 1
    assert "BROKEN better than random  MAP 0.2" in out
    assert "its own output ended with:\n    tell me\n" in out


TWICE = METHOD + METHOD.partition("register_method\n")[2]
BAD = {
    "absent.py": (None, "absent.py does not exist"),
    "notes.txt": ("x = 1", "notes.txt is not a Python file"),
    "folder.py": ("folder", "folder.py is a folder"),
    "pipe.py": ("pipe", "pipe.py is no regular file"),
    "half.py": ("def f(:\n", "half.py line 1 is not Python"),
    "zero.py": ("\0", "zero.py"),
    "latin.py": (b"x = '\xe9'\n", "latin.py"),
    "raises.py": ("1 / 0", "ZeroDivisionError"),
    "leaves.py": ("import os; os._exit(0)", "the process exited with code 0"),
    "hangs.py": ("while True: pass", "not done after 3 s"),
    "needs.py": ("import a_module_that_nobody_has", "a_module_that_nobody_has"),
    "empty.py": ("", "empty.py registers nothing"),
    "twice.py": (TWICE, "registers the method 'test-mine' twice, in lines 5 and 18"),
    "taken.py": (METHOD.replace("test-mine", "itq"), "'itq' is defined twice"),
    "rows.py": (DATASET, "needs a path"),
    "nothing-known": (None, "unknown method or data set 'nothing-known'"),
    "lshh": (None, "did you mean 'lsh'?"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_costs_one_line(check, tmp_path, name):
    content, told = BAD[name]
    if content == "folder":
        (tmp_path / name).mkdir()
    elif content == "pipe":
        os.mkfifo(tmp_path / name)
    elif content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = check(name, "--timeout", 3)
    assert (code, out) == (2, "")
    assert told in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["lsh", "--timeout", "nan"], "'nan' is not a number of seconds"),
        (["lsh", "--timeout", "0"], "'0' is not a number of seconds"),
        (["lsh", "--argument", "x"], "--argument is for data sets"),
        (["lsh", "--option", "x=1"], "--option is for data sets"),
        (["coco", "--option", "x"], "--option x: expected NAME=VALUE or DATASET.NAME=VALUE"),
        (["coco", "--option", ".x=1"], "--option .x=1: expected NAME=VALUE or DATASET.NAME=VALUE"),
        (["coco", "--option", "x=1"], "--option x: no such parameter"),
        (["coco-mini", "--option", "coco-mini.x=1"], "--option coco-mini.x: no such parameter"),
        (["coco", "--option", "coco.unseen=3"], "coco-mini.unseen=3: expected a share"),
        (["coco-mini", "--option", "nus.unseen=0.2"], "'nus' is not checked; coco-mini has coco-mini"),
        (["coco-mini", "--option", "unseen=0.2", "--option", "coco-mini.unseen=0.3"], "unseen is given twice"),
        (["coco", "--data-root", "nowhere"], "nowhere is not a folder"),
        (["coco", "--data-root", "."], "coco"),
        (["features:none.npz"], "none.npz does not exist"),
    ],
)
def test_bad_words_cost_one_line(check, words, told):
    code, out, err = check(*words)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_what_follows_the_colon_may_be_a_name_and_classes_may_be_held_out(tmp_path, capsys):
    assert main(["check", "torchvision:MNITS", "--data-root", str(tmp_path)]) == 2
    assert "'torchvision:MNITS': torchvision has no classification set of that name; did you mean MNIST" in (
        capsys.readouterr().err
    )
    assert main(["check", "features:nowhere.npz", "--option", "unseen=3"]) == 2
    assert "nowhere.npz does not exist" in capsys.readouterr().err
