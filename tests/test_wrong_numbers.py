"""A user's acceptance tests for issue 11, A: no run may store or show a number that belongs to something else.

Everything is driven from outside: the command line in a process of its own, and the public names of `benchmark`.
Results are read from results/cells/*.json and from the tables of the report.
"""

from __future__ import annotations

import ast
import itertools
import json
import math
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import UsageError, evaluate
from benchmark.commands import main

ROOT = Path(__file__).parents[1]
ITQ = ("--methods", "itq")
MINI = ("--backbone", "mini-cnn", *ITQ)


def overwrite(path: Path, content: bytes) -> None:
    """Other bytes in the same file, which keeps its size (if they are as many) and its time of modification."""
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def single(values: Any) -> Any:
    (value,) = values
    return value


# A1: images


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "lists"])
def test_image_sets_of_equal_file_names_have_their_own_features(lab: Any, kind: str) -> None:
    """A1: pictures are what is in the files, not what the files are called."""
    for name, noisy in (("clean", False), ("noisy", True)):
        lab.lists(lab.pictures(name, noisy).name)
    lab.run("--datasets", f"{kind}:noisy", *MINI, results="alone")
    alone = single(lab.maps("alone").values())
    lab.fresh_cache()
    lab.run("--datasets", f"{kind}:clean", f"{kind}:noisy", *MINI)
    found = {dataset: value for (_, dataset), value in lab.maps().items()}
    assert found["noisy"] == alone < 0.8
    assert found["clean"] > 0.95


def _renamed_over(path: Path, content: bytes) -> None:
    """As rsync --times does: another file takes the name, with the same size and time."""
    before = path.stat()
    other = path.with_name(".new")
    other.write_bytes(content)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "replaced"), [("folder", overwrite), ("lists", _renamed_over)], ids=["in-place", "renamed-over"]
)
def test_replaced_pictures_are_noticed(lab: Any, kind: str, replaced: Callable[[Path, bytes], None]) -> None:
    """A1: pictures that were replaced are other data, even where size and time of modification are as before."""
    lab.lists(lab.pictures("pics", noisy=False).name)
    other = lab.pictures("other", noisy=True)
    words = ("--datasets", f"{kind}:pics", *MINI)
    lab.run(*words)
    before = lab.records()
    assert single(before.values())["metrics"]["map"] > 0.95
    for path in (lab.folder / "pics").rglob("*.bmp"):
        content = (other / path.relative_to(lab.folder / "pics")).read_bytes()
        assert len(content) == path.stat().st_size
        replaced(path, content)
    lab.run(*words)
    assert newest(lab, before)["metrics"]["map"] < 0.8


# A2: reports


def newest(lab: Any, known: dict[str, Any]) -> Any:
    """The one record that was not there before."""
    return single(record for key, record in lab.records().items() if key not in known)


class World:
    """Something that decides a number, in two states, and the words of a run that depends on it."""

    title = "ITQ"

    def __init__(self, lab: Any) -> None:
        self.lab = lab
        lab.features("feats.npz")
        self.words: tuple[str, ...] = ("--datasets", "features:feats.npz", *ITQ)

    def become(self, state: int) -> None:
        raise NotImplementedError


class OtherFolder(World):
    """a/feats.npz and b/feats.npz."""

    def become(self, state: int) -> None:
        path = self.lab.features(f"{'ab'[state]}/feats.npz", noise=(0.6, 3)[state])
        self.words = ("--datasets", f"features:{path}", *ITQ)


class OtherCutoff(World):
    """Another map_cutoff in the same file."""

    def become(self, state: int) -> None:
        self.lab.features("feats.npz", noise=2, cutoff=(5, 30)[state])


class OtherMethod(World):
    """A plugin that is edited and put back."""

    title = "Edited"

    def become(self, state: int) -> None:
        path = self.lab.plugin("edited", f"self.seed = {state + 1}", title="Edited")
        self.words = ("--datasets", "features:feats.npz", "--plugin", str(path), "--methods", "edited")


class OtherProfile(World):
    """A profile file of one name and another content."""

    title = "DHN"

    def become(self, state: int) -> None:
        self.lab.features("feats.npz", noise=1.5)
        training = f'train = "hash"\nsteps = {(1, 60)[state]}\nbatch = 16\nlearning_rate = 0.01\n'
        (self.lab.folder / "mine.toml").write_text(f"[training]\n{training}")
        self.words = ("--datasets", "features:feats.npz", "--methods", "dhn", "--profile", "mine.toml")


class OtherWeights(World):
    """A file of weights of one name and another content."""

    def become(self, state: int) -> None:
        self.lab.lists(self.lab.pictures("pics", noisy=True).name)
        np.savez(self.lab.folder / "w.npz", **squeezenet(seed=state))
        backbone = ("--backbone", "squeezenet1_1", "--weights", str(self.lab.folder / "w.npz"))
        self.words = ("--datasets", "lists:pics", *backbone, *ITQ)


def squeezenet(seed: int) -> dict[str, np.ndarray]:
    """Random weights for torchvision's squeezenet1_1, by the names that it has."""
    layers = {"features.0": (64, 3, 3), "classifier.1": (1000, 512, 1)}
    inputs = 64
    for place, squeezed, expanded in zip((3, 4, 6, 7, 9, 10, 11, 12), WIDTHS, EXPANDED, strict=True):
        layers[f"features.{place}.squeeze"] = (squeezed, inputs, 1)
        layers[f"features.{place}.expand1x1"] = (expanded, squeezed, 1)
        layers[f"features.{place}.expand3x3"] = (expanded, squeezed, 3)
        inputs = 2 * expanded
    rng, found = np.random.default_rng(seed), {}
    for name, (outputs, width, kernel) in layers.items():
        shape, deviation = (outputs, width, kernel, kernel), (2 / (width * kernel**2)) ** 0.5
        found[f"{name}.weight"] = (deviation * rng.normal(size=shape)).astype(np.float32)
        found[f"{name}.bias"] = np.zeros(outputs, np.float32)
    return found


WIDTHS, EXPANDED = (16, 16, 32, 32, 48, 48, 64, 64), (64, 64, 128, 128, 192, 192, 256, 256)
WORLDS = [OtherFolder, OtherCutoff, OtherMethod, OtherProfile, OtherWeights]


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORLDS, ids=lambda kind: kind.__name__)
def test_the_table_after_a_run_shows_that_run(lab: Any, kind: type[World]) -> None:
    """A2: one state, another, and the first again: the table shows the number of the state it ran in."""
    world, numbers = kind(lab), []
    for state in (0, 1):
        known = lab.records()
        world.become(state)
        lab.run(*world.words)
        numbers.append(newest(lab, known)["metrics"]["map"])
    assert numbers[0] != numbers[1], "the two states must differ for this test to mean something"
    world.become(0)
    done = lab.run(*world.words, report=True)
    assert len(lab.records()) == 2, f"the first state is done: {done.text}"
    shown = lab.shown(world.title)
    assert any(math.isclose(numbers[0], one, abs_tol=1e-9) for one in shown.values()), f"{numbers} in {shown}"


@pytest.mark.slow
def test_two_data_sets_of_one_name_in_one_run_are_both_shown(lab: Any) -> None:
    """A2: a/feats.npz and b/feats.npz together have a column each, with headings that differ."""
    lab.features("a/feats.npz", noise=0.6)
    lab.features("b/feats.npz", noise=3)
    lab.run("--datasets", "features:a/feats.npz", "features:b/feats.npz", *ITQ, report=True)
    numbers = sorted(record["metrics"]["map"] for record in lab.records().values())
    assert len(numbers) == 2
    assert sorted(lab.shown("ITQ").values()) == pytest.approx(numbers)  # shown() wants headings that differ


@pytest.mark.slow
def test_tune_keeps_data_sets_of_one_name_apart(lab: Any) -> None:
    """A2: `tune` on a/feats.npz and b/feats.npz finds a winner for each, which a run can then use."""
    specs = [f"features:{lab.features(f'{name}/feats.npz', noise=noise)}" for name, noise in (("a", 0.6), ("b", 3))]
    words = ["tune", "--datasets", *specs, *ITQ, "--bits", "8", "--profile", "quick", "--trials", "2", "--jobs", "1"]
    done = lab.command(*words, "--results", "results", "--out", "tuned.json")
    assert done.code == 0, done.text
    winners = json.loads((lab.folder / "tuned.json").read_text())["winners"]
    assert len(winners) == 2, f"one winner for two data sets: {winners}"
    assert [len(winner["trials"]) for winner in winners] == [2, 2]
    lab.run("--datasets", *specs, *ITQ, "--tuned", "tuned.json", results="tuned")
    assert len(lab.records("tuned")) == 2


# A3: data that change while a run goes on


@pytest.mark.slow
def test_a_file_replaced_during_a_run_is_not_stored_under_its_old_revision(lab: Any) -> None:
    """A3: a cell whose data are no longer those of the plan does not pass as a result on them."""
    wait = """
    (HERE / "started").touch()
    while not (HERE / "go").exists():
        time.sleep(0.02)
    """
    plugin = lab.plugin("patient", wait)
    first, second = lab.features("first.npz"), lab.features("second.npz", noise=0.3)
    words = ("--plugin", plugin, "--methods", "patient", "--datasets")
    truth = []
    for noise in (0.3, 3):
        lab.features("second.npz", noise=noise)
        (lab.folder / "go").touch()
        lab.run(*words, f"features:{second}", results=f"truth-{noise}")
        record = single(lab.records(f"truth-{noise}").values())
        truth.append((record["parts"]["dataset"]["revision"], record["metrics"]["map"]))
        (lab.folder / "go").unlink()
        (lab.folder / "started").unlink()
    assert truth[0][1] != truth[1][1]
    lab.features("second.npz", noise=0.3)
    process = lab.start(*lab.words(*words, f"features:{first}", f"features:{second}"))
    lab.wait_for((lab.folder / "started").exists, process=process)  # planned, and the first cell is under way
    lab.features("second.npz", noise=3)
    (lab.folder / "go").touch()
    assert process.wait(60) in (0, 1), lab.told()
    good = [record for record in lab.records().values() if record["status"] == "ok"]
    found = {
        (one["parts"]["dataset"]["revision"], one["metrics"]["map"])
        for one in good
        if one["cell"]["dataset"] == "second"
    }
    assert found <= set(truth), "the number of the new file is stored as that of the old one"


# A4: plugins and their neighbours

PATCH = """

from benchmark.shallow import FeatureScaling


def worse(self, features):
    yield np.random.default_rng(0).normal(size=np.shape(features)).astype(np.float32)


FeatureScaling.chunks = worse
FeatureScaling.transform = lambda self, features: next(worse(self, features))
np.random.default_rng = lambda seed=None, made=np.random.default_rng: made(12345)
"""


@pytest.mark.slow
def test_a_plugin_changes_no_number_of_another_method(lab: Any) -> None:
    """A4: what a plugin does to the package, or to numpy, when it is imported stays with its own cells."""
    lab.features("feats.npz", noise=1)
    patcher, other = lab.plugin("patcher", top=PATCH), lab.plugin("other")
    words = ("--datasets", "features:feats.npz", "--bits", "6", "8", "--methods")
    lab.run(*words, "itq", "other", "--plugin", other, results="alone")
    lab.run(*words, "patcher", "itq", "other", "--plugin", patcher, other)
    alone, beside = (
        {key: (record["status"], record["metrics"].get("map")) for key, record in lab.records(results).items()}
        for results in ("alone", "results")
    )
    assert beside == beside | alone, "under one key, another number"
    assert len(beside) == len(alone) + 2


# A5: keys cover code

METHOD = '''"""A method of an installed package."""

import numpy as np

from benchmark import Split, register_method

from myhash.losses import turned


@register_method("packaged", title="Packaged", family="control")
class Packaged:
    def __init__(self, bits: int, seed: int = 0) -> None:
        self.bits, self.seed = bits, seed

    def fit(self, train: Split):
        return self

    def encode(self, split: Split) -> np.ndarray:
        planes = np.random.default_rng(turned(self.seed)).normal(size=(split.features.shape[1], self.bits))
        return np.where(split.features @ planes >= 0, 1, -1).astype(np.int8)
'''
LOSSES = '''"""What the method is built on."""

from myhash.constants import STEP


def turned(seed):
    """Another seed."""
    # by one
    return seed + STEP
'''


class Package:
    """A package `myhash` with helpers of its own: installed, with an entry point, or given as a --plugin file."""

    def __init__(self, lab: Any, installed: bool) -> None:
        self.lab, self.site = lab, lab.folder / "site"
        self.folder = self.site / "myhash"
        self.folder.mkdir(parents=True)
        files = {"__init__": "", "method": METHOD, "losses": LOSSES, "constants": "STEP = 1\n"}
        for name, text in files.items():
            self.write(name, text)
        if installed:
            note = self.site / "myhash-1.0.dist-info"
            note.mkdir()
            (note / "METADATA").write_text("Metadata-Version: 2.1\nName: myhash\nVersion: 1.0\n")
            (note / "entry_points.txt").write_text("[hashbench.methods]\npackaged = myhash.method:Packaged\n")
        self.plugin = () if installed else ("--plugin", self.folder / "method.py")
        lab.features("feats.npz", noise=1)

    def write(self, name: str, text: str) -> None:
        (self.folder / f"{name}.py").write_text(text)
        shutil.rmtree(self.folder / "__pycache__", ignore_errors=True)  # its times are too coarse for a test

    def run(self) -> dict[str, float]:
        """Key -> MAP of all that was computed so far."""
        words = ("--datasets", "features:feats.npz", "--methods", "packaged", *self.plugin)
        self.lab.run(*words, on_path=(self.site,))
        return {key: record["metrics"]["map"] for key, record in self.lab.records().items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("installed", "helper"), [(True, "constants"), (False, "losses")], ids=["entry-point", "plugin-file"]
)
def test_an_edited_helper_of_a_plugin_makes_its_cells_run_again(lab: Any, installed: bool, helper: str) -> None:
    """A5: a module that the plugin imports, at first or second hand, is part of the method."""
    package = Package(lab, installed)
    before = package.run()
    edited = {"losses": LOSSES.replace("+ STEP", "+ STEP + 7"), "constants": "STEP = 8\n"}[helper]
    package.write(helper, edited)
    after = package.run()
    assert len(after) == 2, "the old result was served as done"
    assert len(set(after.values())) == 2, "the cell ran again with the old helper"
    assert before.items() <= after.items()


@pytest.mark.slow
def test_a_comment_or_docstring_in_a_helper_makes_nothing_run_again(lab: Any) -> None:
    """A5: comments, docstrings and blank lines, of the helper and of the method, decide no number."""
    package = Package(lab, installed=True)
    before = package.run()
    package.write("losses", LOSSES.replace("# by one", "# by a step\n").replace("Another seed", "The next seed"))
    package.write("method", METHOD.replace("installed package", "package").replace("\n\n", "\n\n# Here.\n\n", 1))
    assert package.run() == before


@pytest.fixture
def checkout(lab: Any) -> Path:
    """A copy of the program that a test may edit."""
    for name in ("benchmark", "methods", "datasets"):
        shutil.copytree(ROOT / name, lab.folder / "copy" / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Path(shutil.copy(ROOT / "run_all.py", lab.folder / "copy"))


def edited(folder: Path, definition: str) -> tuple[Path, str]:
    """The file that defines a function or class, and its text with a statement more in that body."""
    path = single(path for path in folder.rglob("*.py") if re.search(rf"^{definition}\b", path.read_text(), re.M))
    text = path.read_text()
    name = definition.partition(" ")[2]
    body = single(node for node in ast.parse(text).body if getattr(node, "name", "") == name).body
    first = body[1] if isinstance(body[0], ast.Expr) and len(body) > 1 else body[0]
    lines = text.splitlines(keepends=True)
    start = min(one.lineno for one in (first, *getattr(first, "decorator_list", ())))
    lines.insert(start - 1, " " * first.col_offset + "edited = 1\n")
    return path, "".join(lines)


DECIDED = {  # which cells of ITQ a definition decides
    "def derive_seed": {"feats", "pics"},
    "class FeatureScaling": {"feats", "pics"},
    "def extract": {"pics"},
    "class PairwiseMethod": set(),
}


@pytest.mark.slow
def test_a_key_covers_the_code_that_decides_it_and_no_more(lab: Any, checkout: Path) -> None:
    """A5: seeds and scaling decide every cell, the way from images to features those on images."""
    lab.pictures("pics", noisy=False)
    lab.features("feats.npz")
    words = ("--datasets", "folder:pics", "features:feats.npz", *MINI)
    how: dict[str, Any] = {"program": checkout, "on_path": (checkout.parent,)}
    lab.run(*words, **how)
    found = {}
    for definition in DECIDED:
        path, text = edited(checkout.parent, definition)
        before = path.read_text()
        path.write_text(text)
        planned = lab.run(*words, "--dry-run", **how).text
        found[definition] = {
            name for state, name in re.findall(r"^(\w+) .* itq (\w+) ", planned, re.M) if state != "done"
        }
        path.write_text(before)
    assert found == DECIDED


# A6: hashes


def rotten(cache: Path) -> Path:
    """Damage the cached features behind everybody's back: size and time of modification stay."""
    path = single(cache.rglob("features.npy"))
    header = np.lib.format.MAGIC_PREFIX
    content = bytearray(path.read_bytes())
    assert content.startswith(header)
    kept = len(content) % 128 + 128  # the header is padded to 64 bytes; all behind it are numbers
    numbers = np.frombuffer(content, np.float32, offset=kept - kept % 64)
    damaged = np.random.default_rng(0).permutation(numbers)
    overwrite(path, bytes(content[: kept - kept % 64]) + damaged.tobytes())
    return path


@pytest.mark.slow
def test_bit_rot_in_cached_features_is_found_and_changes_no_number(lab: Any) -> None:
    """A6: a run on damaged features computes them again, and `verify --cache` names them."""
    lab.pictures("pics", noisy=False)
    words = ("--datasets", "folder:pics", *MINI)
    lab.run(*words)
    rotten(lab.cache)
    lab.run(*words, results="again")
    assert lab.maps("again") == lab.maps()
    sound = lab.command("verify", "--cache", "--results", "results")
    assert sound.code == 0, sound.text
    path = rotten(lab.cache)
    found = lab.command("verify", "--cache", "--results", "results")
    assert found.code == 1, found.text
    assert path.parent.name in found.text
    assert "Traceback" not in found.text


def test_a_features_file_of_equal_size_and_time_is_not_done(lab: Any) -> None:
    """A6: other numbers in a file of the same size and time of modification are other data."""
    path = lab.features("feats.npz", noise=0.3)
    words = ("--datasets", "features:feats.npz", *ITQ)
    lab.run(*words)
    assert "; 0 to run" in lab.run(*words, "--dry-run").text
    other = lab.features("other.npz", noise=3).read_bytes()
    assert len(other) == path.stat().st_size
    overwrite(path, other)
    assert "; 1 to run" in lab.run(*words, "--dry-run").text


# A7: --set


@pytest.mark.parametrize(
    "assignment",
    [
        "nosuch.x=1",
        "dhn.quantization=0.5",  # known, but not among --methods
        "itq.iterations=ten",
        "itq.iterations=true",
        "itq.iterations=2.5",
        "itq.iterations=[1]",
        "itq.scaling=7",
        "ksh.width=wide",
        "ksh.width=NaN",
        "ksh.width=Infinity",
        "ksh.width=1e400",
    ],
)
def test_a_parameter_that_cannot_be_meant_is_refused(lab: Any, assignment: str, capsys: Any) -> None:
    """A7: --set of an unknown or unselected method, of a wrong type, NaN or infinity ends with exit code 2."""
    words = lab.words("--datasets", f"features:{lab.features('feats.npz')}", "--methods", "itq", "ksh", "--dry-run")
    assert main([*words, "--results", str(lab.folder / "results")]) == 0
    capsys.readouterr()
    assert main([*words, "--results", str(lab.folder / "results"), "--set", assignment]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert assignment.partition(".")[0] in told


@pytest.mark.parametrize("values", [("iterations", "ten"), ("scaling", "7"), ("iterations", "NaN")])
def test_a_swept_value_that_cannot_be_meant_is_refused(lab: Any, values: tuple[str, str]) -> None:
    """A7: the values of --sweep are held to the same."""
    words = lab.words("--datasets", f"features:{lab.features('feats.npz')}", *ITQ, "--dry-run")
    assert main([*words, "--sweep", f"itq.{values[0]}", values[1]]) == 2


def test_one_and_one_point_nought_are_one_cell(lab: Any, capsys: Any) -> None:
    """A7: a whole number given for a float parameter is that float."""
    words = lab.words("--datasets", f"features:{lab.features('feats.npz')}", "--methods", "ksh", "--dry-run")
    assert main([*words, "--sweep", "ksh.width", "1", "1.0", "1e0", "2"]) == 0
    assert capsys.readouterr().out.startswith("3 cells")  # the default, 1 and 2


# A8: audit


def audit(lab: Any, spec: str) -> Any:
    """`audit` takes the data set as such, or by --datasets as `run` does."""
    done = lab.command("audit", spec)
    return done if done.code != 2 else lab.command("audit", "--datasets", spec)


def leaking(lab: Any, same: bool, files: bool = True) -> Path:
    """Lists whose eight queries are in the database under another folder; or only their names are."""
    first, second = lab.pictures("leak/val", noisy=True), lab.pictures("leak/all", noisy=True, seed=0 if same else 1)
    for label, number in itertools.product(range(4), range(8)):
        for folder in (first, second):  # names that are unique in their folder, as COCO's are
            (folder / f"secret{label}" / f"{number}.bmp").rename(folder / f"{label}{number}.bmp")
    rows = {"query": ("val", range(2)), "database": ("all", range(8)), "train": ("all", range(2, 8))}
    for part, (folder, numbers) in rows.items():
        lines = [f"/far/away/{folder}/{label}{number}.bmp {label}\n" for label in range(4) for number in numbers]
        (lab.folder / "leak" / f"{part}.txt").write_text("".join(lines))
    if not files:
        shutil.rmtree(first)
        shutil.rmtree(second)
    return lab.folder / "leak"


def test_the_audit_finds_queries_in_the_database_by_content(lab: Any) -> None:
    """A8: the same picture under another path is the same picture."""
    done = audit(lab, f"lists:{leaking(lab, same=True)}")
    assert re.search(r"\b8 of 8 query rows", done.text), done.text
    assert done.code == 1


@pytest.mark.slow
def test_a_run_refuses_queries_that_are_in_the_database_by_content(lab: Any) -> None:
    """A8: and a run does not go on with such a split, unless told to."""
    words = ("--datasets", f"lists:{leaking(lab, same=True)}", *MINI)
    done = lab.command(*lab.words(*words))
    assert done.code == 2, done.text
    assert re.search(r"\b8 of 8 query rows", done.text)
    lab.run(*words, "--allow-overlap")


def test_the_audit_warns_of_equal_names_where_files_are_missing(lab: Any) -> None:
    """A8: without files, equal base names under different folders are counted, and said to be no more than that."""
    done = audit(lab, f"lists:{leaking(lab, same=True, files=False)}")
    assert re.search(r"\b8 of 8 query rows", done.text), done.text
    warnings = [line for line in done.text.splitlines() if "warning" in line]
    assert any(re.search(r"\b8 of these .* by base name only", line) for line in warnings), done.text


def test_the_audit_does_not_take_equal_names_for_equal_pictures(lab: Any) -> None:
    """A8: where files exist and differ, equal base names are no overlap."""
    done = audit(lab, f"lists:{leaking(lab, same=False)}")
    assert done.code == 0, done.text
    assert not re.search(r"\b8 of 8 query rows", done.text), done.text


# A9: labels


def test_one_class_in_bytes_is_scored_or_refused() -> None:
    """A9: uint8 labels with classes=1 give a number or an error, never nan."""
    rng = np.random.default_rng(0)
    codes = [rng.choice([-1, 1], (rows, 16)).astype(np.int8) for rows in (12, 40)]
    labels = [np.ones((len(part), 1), np.uint8) for part in codes]
    try:
        found = evaluate(*codes, *labels, k=20, classes=1).map
    except UsageError:
        return
    assert math.isfinite(found)


def test_a_features_file_with_a_column_of_bytes_gives_the_same_number(lab: Any) -> None:
    """A9: features: with uint8 class numbers of shape (n, 1) gives what (n,) of int64 gives."""
    rows = {"train": 40, "query": 20, "database": 60}
    labels = {f"{part}_labels": (np.arange(n) % 4).astype(np.uint8)[:, None] for part, n in rows.items()}
    lab.features("flat/feats.npz", noise=2)  # of one name, so that both have the same seed
    lab.features("column/feats.npz", noise=2, **labels)
    lab.run("--datasets", "features:flat/feats.npz", "features:column/feats.npz", *ITQ)
    flat, column = [record["metrics"]["map"] for record in lab.records().values()]
    assert flat == column


# A10: features given together with images

BOTH = '''"""Pictures of noise, with features that tell the classes apart."""

import numpy as np

from benchmark import Split, Splits, register_dataset


class Pictures:
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return np.random.default_rng(index).integers(0, 256, (32, 32, 3)).astype(np.uint8)


@register_dataset("both", title="Both")
class Both:
    name, title, map_cutoff, protocol, revision = "both", "Both", 20, "made up", "1"
    miniature, backbone = False, "mini-cnn"

    def __init__(self, argument=None, data_root=None):
        pass

    def check(self):
        pass

    def load(self):
        def split(name, rows):
            labels = np.arange(rows) % 4
            noise = np.random.default_rng(rows).normal(size=(rows, 8))
            features = (5 * np.eye(8)[labels] + 0.1 * noise).astype(np.float32)
            ids = [f"{name}-{row}" for row in range(rows)]
            return Split(features=features, images=Pictures(rows), labels=labels, ids=ids)

        return Splits(split("train", 40), split("query", 20), split("database", 60))
'''


@pytest.mark.slow
def test_given_features_win_over_those_of_a_backbone(lab: Any) -> None:
    """A10: a method on features gets the features that the data set has, and the run says so."""
    (lab.folder / "both.py").write_text(BOTH)
    done = lab.run("--plugin", "both.py", "--datasets", "both", *ITQ)
    record = single(lab.records().values())
    assert record["metrics"]["map"] > 0.99, "the features of the pictures were taken"
    assert re.search(r"\bgiven\b|\bits own features\b", done.text + json.dumps(record)), "it does not say what it took"


# A11: the headline


@pytest.mark.slow
def test_the_headline_names_who_is_left_out(lab: Any) -> None:
    """A11: where a method lacks a cell, what names a winner says who is not in the field."""
    lab.features("near.npz", noise=1)
    lab.features("far.npz", noise=3)
    plugin = lab.plugin("flaky", "if self.bits == 8: raise ValueError('no')", title="Flaky Planes")
    words = ("--datasets", "features:near.npz", "features:far.npz", "--plugin", plugin, "--bits", "4", "8")
    lab.run(*words, "--methods", "itq", "lsh", "sh", "flaky", report=True, code=1)
    report = lab.folder / "reports" / "default"
    headline = single(re.findall(r'<p class="headline">(.*?)</p>', (report / "index.html").read_text(), re.S))
    said = "without|left out|leaving out|missing|lacks|incomplete|not scored"
    assert "Flaky Planes" in headline, headline
    assert re.search(said, headline), headline
    for path in (report / "tables").glob("ranks*.md"):
        assert "Flaky Planes" in path.read_text(), f"{path.name} ranks the others without a word of the one left out"
