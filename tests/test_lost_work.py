"""A user's acceptance tests for issue 11, B and D: no work is lost, nothing of the user's is deleted, nothing hangs.

Everything is driven from outside, by the command line in a process of its own.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmark.commands import main

MINUTE = 60
STEPS = 80
PLODDING = '''"""A deep method that takes its time, and notes each step it takes."""

import os
import time
from pathlib import Path

from benchmark import register_method
from benchmark.deep import PairwiseMethod, cross_entropy

HERE = Path(__FOLDER__)


def half(parts, target, *more, **others):
    """Begin to save, and die."""
    if hasattr(target, "write"):
        target.write(b"half")
        target.flush()
    else:
        Path(target).write_bytes(b"half")
    os.kill(os.getpid(), 9)


@register_method("plodding", title="Plodding", family="deep", input="images", needs="similarity")
class Plodding(PairwiseMethod):
    def loss(self, codes, similarity, step):
        with (HERE / "steps").open("a") as notes:
            notes.write(f"{step}\\n")
        if (HERE / "die").exists():
            import torch

            torch.save = half
        time.sleep(0.05)
        while (HERE / "hang").exists() and step >= 40:  # by now there is a snapshot, however busy the machine is
            time.sleep(0.05)
        return similarity.mean(cross_entropy(codes.tanh().inner, similarity.similar))
'''
PROFILE = f"""[training]
train = "hash"
steps = {STEPS}
batch = 16
learning_rate = 0.01
checkpoint_seconds = 0.3
"""


class Training:
    """A training of some seconds that keeps snapshots, and a note of the steps it took."""

    def __init__(self, lab: Any) -> None:
        self.lab = lab
        lab.features("feats.npz")
        (lab.folder / "plodding.py").write_text(PLODDING.replace("__FOLDER__", repr(str(lab.folder))))
        (lab.folder / "slow.toml").write_text(PROFILE)
        words = ("--datasets", "features:feats.npz", "--plugin", "plodding.py", "--methods", "plodding")
        self.words = lab.words(*words, "--profile", "slow.toml")

    def start(self) -> Any:
        """Started, and so far that a snapshot has been kept."""
        process = self.lab.start(*self.words)
        self.lab.wait_for(self.snapshots, process=process)
        return process

    def snapshots(self) -> list[Path]:
        return sorted((self.lab.folder / "results" / "checkpoints").glob("[!.]*.pt"))

    def steps(self) -> list[int]:
        """Those noted since last time."""
        notes = self.lab.folder / "steps"
        taken = [int(line) for line in notes.read_text().split()]
        notes.unlink()
        return taken

    def goes_on(self) -> None:
        """The next run takes up where the snapshot is, ends well, and cleans up behind itself."""
        before = self.steps()
        assert 0 < len(before) < STEPS, "it was to be stopped half way"
        keys = {path.stem for path in self.snapshots()}
        assert len(keys) == 1, "the snapshot is gone"
        done = self.lab.command(*self.words)
        assert done.code == 0, done.text
        after = self.steps()
        assert after[0] > 0, "it began again at the first step"
        assert after == list(range(after[0], STEPS))
        assert after[0] <= before[-1] + 1
        assert {key: one["status"] for key, one in self.lab.records().items()} == dict.fromkeys(keys, "ok")
        assert self.leftovers() == []

    def leftovers(self) -> list[str]:
        folder = self.lab.folder / "results" / "checkpoints"
        return sorted(path.name for path in folder.rglob("*")) if folder.is_dir() else []


# B12: snapshots


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_keeps_the_snapshot(lab: Any, number: signal.Signals) -> None:
    """B12: Ctrl-C and SIGTERM leave the snapshot of a training, as kill -9 does, and the next run goes on from it."""
    training = Training(lab)
    process = training.start()
    process.send_signal(number)
    assert process.wait(MINUTE) == 130, lab.told()
    training.goes_on()


@pytest.mark.slow
def test_a_timeout_keeps_the_snapshot(lab: Any) -> None:
    """B12: a training that ran out of time is gone on with, when more time is given."""
    training = Training(lab)
    (lab.folder / "hang").touch()
    done = lab.command(*training.words, "--timeout", "12")
    assert done.code == 1, done.text
    assert set(lab.statuses().values()) == {"timeout"}
    (lab.folder / "hang").unlink()
    training.goes_on()


@pytest.mark.slow
def test_half_written_snapshots_are_swept(lab: Any) -> None:
    """B12: what a death in the middle of saving leaves in checkpoints/ is gone after the next run."""
    training = Training(lab)
    (lab.folder / "die").touch()
    done = lab.command(*training.words)
    assert done.code == 1, done.text
    assert 0 < len(training.steps()) < STEPS
    (lab.folder / "die").unlink()
    done = lab.command(*training.words)
    assert done.code == 0, done.text
    assert training.leftovers() == []


# B13: reports


@pytest.fixture(scope="module")
def reported(make_lab: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with a result; each test writes its own report."""
    lab = make_lab(tmp_path_factory.mktemp("reported"))
    lab.features("feats.npz")
    lab.run("--datasets", "features:feats.npz", "--methods", "itq")
    return lab


def report(lab: Any, name: str, *more: str) -> Any:
    return lab.command("report", "--results", "results", "--reports", "reports", "--name", name, *more)


def manifest_of(folder: Path) -> Path:
    """The note a report keeps of what it wrote: the JSON file in its folder that names index.html."""
    (found,) = [path for path in folder.glob("*.json") if "index.html" in path.read_text()]
    return found


@pytest.mark.slow
def test_a_manifest_deletes_nothing_outside_its_report(reported: Any) -> None:
    """B13: a path that leads out of the report is not obeyed, whoever wrote it into the manifest."""
    assert report(reported, "obeyed").code == 0
    folder = reported.folder / "reports" / "obeyed"
    precious = [reported.folder / "precious.txt", folder.parent / "beside.txt", reported.folder / "absolute.txt"]
    for path in precious:
        path.write_text("mine")
    link = folder / "linked"
    (reported.folder / "elsewhere").mkdir()
    link.symlink_to(reported.folder / "elsewhere")
    precious.append(reported.folder / "elsewhere" / "behind.txt")
    precious[-1].write_text("mine")
    named = ["../../precious.txt", "../beside.txt", str(precious[2]), "linked/behind.txt", "tables/../../beside.txt"]
    manifest = manifest_of(folder)
    content = json.loads(manifest.read_text())
    if isinstance(content["files"], list):
        content["files"] += named
    else:  # name -> what is known of it
        content["files"] |= dict.fromkeys(named, content["files"]["index.html"])
    content["digest"] = "another"  # so that the report is written again
    manifest.write_text(json.dumps(content))
    done = report(reported, "obeyed", "--force")
    assert [path.name for path in precious if not path.exists()] == []
    assert "Traceback" not in done.text, done.text


@pytest.mark.slow
def test_damaged_pages_are_made_again(reported: Any) -> None:
    """B13: a page cut short, or a table overwritten, is not up to date, whatever the manifest says."""
    assert report(reported, "damaged").code == 0
    folder = reported.folder / "reports" / "damaged"
    page, (table,) = folder / "index.html", (folder / "tables").glob("map*.csv")
    sound = page.read_bytes(), table.read_bytes()
    page.write_bytes(sound[0][: len(sound[0]) // 2])
    table.write_bytes(sound[1].replace(b"ITQ", b"XYZ"))
    assert report(reported, "damaged").code == 0
    assert page.read_bytes().rstrip().endswith(b"</html>")
    assert table.read_bytes() == sound[1]


@pytest.mark.parametrize("name", ["../../x", "/{folder}/x"])
@pytest.mark.parametrize("command", ["run", "report"])
def test_a_report_has_its_place_in_the_reports_folder(
    lab: Any, command: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """B13: --name that leads out of the reports folder is refused before any work."""
    monkeypatch.chdir(lab.folder)
    name = name.replace("/{folder}", str(lab.folder))
    lab.features("feats.npz")
    words = ["--datasets", "features:feats.npz", "--methods", "lsh", "--bits", "8"] if command == "run" else []
    places = ["--results", "results", "--reports", "deep/er/reports", "--name", name]
    before = sorted(lab.folder.rglob("*"))
    assert main([command, *words, *places]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    made = [path for path in lab.folder.rglob("*") if path not in before and lab.cache not in path.parents]
    assert made == []


# D: hangs


@dataclass
class Cluster:
    """A Dask scheduler and a worker as anyone would start them."""

    address: str
    scheduler: subprocess.Popen[bytes]
    worker: subprocess.Popen[bytes]


@pytest.fixture
def cluster(lab: Any) -> Iterator[Cluster]:
    distributed = pytest.importorskip("distributed")
    note = lab.folder / "scheduler.json"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": lab.folder}
    quiet["env"] = lab.environment()
    dask = [sys.executable, "-m", "dask"]
    options = ["--scheduler-file", str(note), "--no-dashboard"]
    processes = [subprocess.Popen([*dask, "scheduler", "--port", "0", "--host", "127.0.0.1", *options], **quiet)]
    try:
        lab.wait_for(note.exists, process=None)
        worker = [*dask, "worker", *options, "--nthreads", "1", "--no-nanny"]
        processes.append(subprocess.Popen(worker, **quiet))
        with distributed.Client(scheduler_file=str(note), set_as_default=False) as client:
            client.wait_for_workers(1, timeout=120)
            address = client.scheduler.address
        yield Cluster(address, *processes)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ends_or_says_why(lab: Any, process: Any) -> None:
    """Within a minute the run has ended, or has said in a line of its own what it waits for."""
    end, before = time.monotonic() + MINUTE, len(lab.told())
    while time.monotonic() < end:
        if process.poll() is not None:
            assert process.returncode != 0, "it cannot have succeeded"
            return
        lines = [line for line in lab.told()[before:].splitlines() if not re.search("distributed|tornado|  File", line)]
        if any(re.search(r"\bwait(s|ing)\b.*(scheduler|worker|dask|cluster)", line, re.I) for line in lines):
            return
        time.sleep(0.2)
    pytest.fail(f"after a minute it neither ended nor said what it waits for; it said:\n{lab.told()}")


@pytest.mark.slow
@pytest.mark.parametrize("dies", ["scheduler", "worker"])
def test_a_cluster_that_dies_does_not_hang_the_run(lab: Any, cluster: Cluster, dies: str) -> None:
    """D: a killed scheduler, and a cluster whose only worker is gone, end the run, or it says what it waits for."""
    lab.features("feats.npz")
    plugin = lab.plugin("dawdling", '(HERE / "started").touch()\ntime.sleep(300)')
    words = ("--datasets", "features:feats.npz", "--plugin", plugin, "--methods", "dawdling", "--seeds", "0", "1")
    process = lab.start(*lab.words(*words, "--dask", cluster.address))
    lab.wait_for((lab.folder / "started").exists, process=process)
    getattr(cluster, dies).kill()
    ends_or_says_why(lab, process)


PIPED = {
    "run": [],
    "dry-run": ["--dry-run"],
    "verify": ["verify"],
    "report": ["report"],
    "why": ["why", "itq"],
    "compare": ["compare", "results", "results"],
}


@pytest.mark.slow
def test_a_pipe_named_like_a_record_hangs_nothing(lab: Any) -> None:
    """D: what is no file is no record: every reader of results/ goes on without it, and verify names it."""
    lab.features("feats.npz")
    grid = ["--datasets", "features:feats.npz", "--methods", "itq", "--bits", "8", "--profile", "quick"]
    lab.run(*grid)
    name = f"{'f' * 64}.json"
    os.mkfifo(lab.folder / "results" / "cells" / name)
    for command, words in PIPED.items():
        words = words + grid if command in ("run", "dry-run", "why") else words
        words = words if command == "compare" else [*words, "--results", "results"]
        done = lab.command(*words, seconds=MINUTE)
        assert "Traceback" not in done.text, done.text
        assert done.code == (1 if command == "verify" else 0), (command, done.text)
        assert command != "verify" or name[:12] in done.text, done.text


@pytest.mark.slow
def test_a_pipe_in_the_place_of_a_cells_own_record_hangs_nothing(lab: Any) -> None:
    """D: the same under the very key of a cell that is to run: it runs, or the run says what is in its way."""
    lab.features("feats.npz")
    words = ("--datasets", "features:feats.npz", "--methods", "itq")
    lab.run(*words)
    (record,) = (lab.folder / "results" / "cells").glob("*.json")
    record.unlink()
    os.mkfifo(record)
    done = lab.command(*lab.words(*words), seconds=MINUTE)
    assert "Traceback" not in done.text, done.text
    assert done.code == 0 or record.name[:12] in done.text, done.text
