"""A user's acceptance tests for issue 11, C: what a method may see, and what it may do to others.

The isolation is against mistakes, it is not a sandbox: these tests look where an honest author would stumble.
"""

from __future__ import annotations

import csv
import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# What the plugins use to look around: all that hangs on an object by attributes, items and slots.
WALK = '''

def around(thing, depth=6):
    """Everything reachable from `thing` by vars(), slots, items and members, arrays and texts included."""
    found, waiting, seen = [], [(thing, depth)], set()
    while waiting:
        one, left = waiting.pop()
        if id(one) in seen or left < 0 or isinstance(one, (type, type(np))) or callable(one) and not vars_of(one):
            continue
        seen.add(id(one))
        found.append(one)
        if isinstance(one, dict):
            members = [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple, set, frozenset)):
            members = list(one)[:1000]
        elif isinstance(one, np.ndarray):
            members = one.ravel().tolist()[:1000] if one.dtype.kind in "OUS" else []
        else:
            members = vars_of(one)
        waiting += [(member, left - 1) for member in members]
    return found


def vars_of(one):
    if isinstance(one, (str, bytes, int, float, Path, np.generic, np.ndarray)):
        return []
    slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
    held = [getattr(one, name, None) for name in slots if isinstance(name, str)]
    return [*held, *getattr(one, "__dict__", {}).values()]
'''


def read(lab: Any, name: str) -> Any:
    path = lab.folder / name
    assert path.is_file(), f"the plugin did not write {name}; the run said:\n{lab.told()}"
    return json.loads(path.read_text())


# C14: labels


@pytest.mark.parametrize(("needs", "allowed"), [("nothing", []), ("similarity", ["similarity"])])
def test_unsupported_sees_what_was_declared(lab: Any, needs: str, allowed: list[str]) -> None:
    """C14: `unsupported(train, bits)` is shown no more of the training split than `fit` is."""
    lab.features("feats.npz", train_ids=[f"row{row}" for row in range(40)])
    look = """
    import json
    names = ("labels", "similarity", "ids")
    seen = [name for name in names if getattr(train, name, None) is not None]
    (HERE / "seen").write_text(json.dumps([seen, len(train), train.features is not None]))
    return None
    """
    plugin = lab.plugin("curious", declines=look, needs=needs)
    lab.run("--datasets", "features:feats.npz", "--plugin", plugin, "--methods", "curious")
    assert read(lab, "seen") == [allowed, 40, True]


@pytest.mark.parametrize("kind", ["multi-hot", "class numbers"])
def test_similarity_does_not_carry_the_labels(lab: Any, kind: str) -> None:
    """C14: nothing that hangs on the similarity given to a pairwise method is the label matrix."""
    rng, labels = np.random.default_rng(0), {}
    for part, rows in (("train", 40), ("query", 20), ("database", 60)):
        hot = rng.random((rows, 6)) < 0.3
        hot[np.arange(rows), np.arange(rows) % 6] = True
        labels[f"{part}_labels"] = hot.astype(np.int64) if kind == "multi-hot" else np.arange(rows) % 6
    lab.features("feats.npz", **labels)
    numbers = labels["train_labels"]
    np.save(lab.folder / "truth.npy", numbers if numbers.ndim == 2 else np.eye(6, dtype=int)[numbers])
    look = """
    import json
    truth = np.load(HERE / "truth.npy") > 0
    tables = [truth, truth.T, np.packbits(truth, axis=1)]
    found = []
    for one in around(train):
        try:
            array = np.asarray(one.toarray() if hasattr(one, "toarray") else one)
            found += [type(one).__name__ for table in tables if np.array_equal(array, table)]
        except Exception:
            pass
    (HERE / "found").write_text(json.dumps(found))
    block, known = train.similarity.block(np.arange(40), np.arange(40))
    right = truth.astype(int) @ truth.T.astype(int) > 0
    (HERE / "right").write_text(json.dumps(bool((block == right).all() and known.all())))
    """
    plugin = lab.plugin("nosy", look, needs="similarity", top=WALK)
    lab.run("--datasets", "features:feats.npz", "--plugin", plugin, "--methods", "nosy")
    assert read(lab, "right"), "the pairs themselves must stay right"
    assert read(lab, "found") == []


@pytest.mark.slow
def test_images_do_not_name_their_class(lab: Any) -> None:
    """C14: an image method cannot read from its images in which class folder they lie."""
    lab.pictures("pics", noisy=False)
    (lab.folder / "all.toml").write_text('[training]\ntrain = "all"\nsteps = 1\n')
    look = """
    import json
    texts = [str(one) for one in around({split}) if isinstance(one, (str, Path, bytes))]
    told = repr({split}.images) + str({split}.images)
    leaks = sorted(set(text for text in [*texts, told] if "secret" in text))
    with (HERE / "leaks").open("a") as notes:
        notes.write(json.dumps([{split}.images[0].shape, leaks[:3]]) + "\\n")
    """
    plugin = lab.plugin(
        "peeping", look.format(split="train"), encode=look.format(split="split"), input="images", top=WALK
    )
    words = ("--datasets", "folder:pics", "--backbone", "mini-cnn", "--profile", "all.toml")
    lab.run(*words, "--plugin", plugin, "--methods", "peeping")
    noted = [json.loads(line) for line in (lab.folder / "leaks").read_text().splitlines()]
    assert len(noted) == 3  # training, queries, database
    assert all(shape == [32, 32, 3] for shape, _ in noted), "the images themselves must stay there"
    assert [leaks for _, leaks in noted] == [[], [], []]


# C15: processes

ORPHAN = """
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        {does}
        end = time.monotonic() + 60
        while time.monotonic() < end and not (HERE / "enough").exists():
            with (HERE / "beats").open("a") as beats:
                beats.write("x")
            time.sleep(0.1)
    os._exit(0)
os.waitpid(child, 0)
while not (HERE / "beats").exists():
    time.sleep(0.05)
{then}
"""


def beats(lab: Any) -> int:
    return (lab.folder / "beats").stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["ok", "timeout"])
def test_a_double_fork_does_not_outlive_its_cell(lab: Any, ends: str) -> None:
    """C15: a process that a cell has put out of sight ends with the run."""
    lab.features("feats.npz")
    then = "pass" if ends == "ok" else "time.sleep(300)"
    plugin = lab.plugin("orphaning", ORPHAN.format(does="pass", then=then))
    words = lab.words("--datasets", "features:feats.npz", "--plugin", plugin, "--methods", "orphaning")
    try:
        lab.command(*words, "--timeout", "5")
        assert set(lab.statuses().values()) == {ends}
        time.sleep(1)
        before = beats(lab)
        time.sleep(1)
        assert beats(lab) == before, "it lives on after the run"
    finally:
        (lab.folder / "enough").touch()


@pytest.mark.slow
def test_a_double_fork_is_held_to_the_memory_limit(lab: Any) -> None:
    """C15: memory held by a process that a cell has put out of sight counts as the cell's."""
    lab.features("feats.npz")
    hoard = "hoard = np.ones(100_000_000)"
    plugin = lab.plugin("hoarding", ORPHAN.format(does=hoard, then="time.sleep(8)"))
    words = lab.words("--datasets", "features:feats.npz", "--plugin", plugin, "--methods", "hoarding")
    try:
        lab.command(*words, "--memory", "600M")
        assert lab.statuses() == {"hoarding": "oom"}
    finally:
        (lab.folder / "enough").touch()


@pytest.mark.slow
def test_a_cell_that_kills_its_parent_fails_alone(lab: Any) -> None:
    """C15: whoever starts the cells, its death costs the cell that killed it and no other."""
    lab.features("feats.npz")
    wait = """
    while not (HERE / "beside").exists():
        time.sleep(0.02)
    os.kill(os.getppid(), 9)
    time.sleep(1)
    """
    beside = '(HERE / "beside").touch()\ntime.sleep(3)'
    plugins = [lab.plugin("killer", wait), lab.plugin("beside", beside), lab.plugin("later")]
    words = ("--datasets", "features:feats.npz", "--plugin", *plugins, "--jobs", "2")
    done = lab.command(*lab.words(*words, "--methods", "killer", "beside", "later"), seconds=60)
    assert done.code == 1, done.text
    assert lab.statuses() == {"killer": "failed", "beside": "ok", "later": "ok"}


# C15: check


@pytest.mark.parametrize("leaves", ["os._exit(0)", "os.kill(os.getpid(), 9)", "raise SystemExit(0)"])
def test_check_is_not_passed_by_leaving(lab: Any, leaves: str) -> None:
    """C15: a plugin that ends the process in fit keeps no promise, and `check` says so in a sentence."""
    done = lab.command("check", lab.plugin("leaving", leaves), seconds=120)
    assert done.code == 1, f"exit code {done.code}: {done.text}"
    assert "BROKEN" in done.text
    assert "every promise is kept" not in done.text
    assert "Traceback" not in done.text


@pytest.mark.parametrize("where", ["fit", "import"])
def test_check_does_not_hang_with_its_plugin(lab: Any, where: str) -> None:
    """C15: a plugin that hangs is said to, after --timeout SECONDS."""
    hang = "import time\ntime.sleep(600)"
    plugin = lab.plugin("hanging", hang if where == "fit" else "pass", top=hang if where == "import" else "")
    started = time.monotonic()
    done = lab.command("check", plugin, "--timeout", "3", seconds=60)
    assert time.monotonic() - started < 50
    assert "unrecognized" not in done.text, done.text
    assert done.code in (1, 2)
    assert re.search(r"\b3 s|timeout|timed out|too long|not done", done.text), done.text
    assert "every promise is kept" not in done.text
    assert "Traceback" not in done.text


def test_check_has_a_timeout_of_five_minutes(lab: Any) -> None:
    """C15: without --timeout, `check` waits 300 seconds, and its help says so."""
    done = lab.command("check", "--help")
    assert done.code == 0
    assert "--timeout" in done.text
    assert "300" in done.text


# C15: spreadsheets

FORMULA = ("=1+1", "+1+1", "-1+1", "@SUM(1)")


@pytest.mark.slow
def test_no_text_in_a_csv_file_is_a_formula(lab: Any) -> None:
    """C15: a title or file name that begins with = + - @ does not become a formula when a table is opened."""
    files = [lab.features(f"{name}.npz", noise=noise) for name, noise in (("=2+2", 1), ("plain", 2))]
    plugins = [lab.plugin(f"m{number}", title=title) for number, title in enumerate(FORMULA)]
    plugins.append(lab.plugin("breaks", "raise ValueError('=3+3')", title="@breaks"))
    words = ["--datasets", *(f"features:{path}" for path in files), "--plugin", *plugins, "--bits", "4", "8"]
    lab.run(*words, "--methods", "m0", "m1", "m2", "m3", "breaks", report=True, code=1)
    tables = sorted((lab.folder / "reports").rglob("*.csv"))
    texts = [(path, cell) for path in tables for row in cells(path) for cell in row]
    assert any(FORMULA[0] in cell for _, cell in texts), "the titles must still be there"
    raw = {(path.name, cell) for path, cell in texts if cell[:1] in tuple("=+-@\t\r") and not is_number(cell)}
    assert not raw, sorted(raw)[:8]


def cells(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8-sig") as lines:
        return list(csv.reader(lines))


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
