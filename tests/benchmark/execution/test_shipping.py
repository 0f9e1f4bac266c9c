"""Files for workers that do not see ours: sent once, found where they were put, refused where they are too large."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import UsageError, load_model
from benchmark.deep.profile import load_profile
from benchmark.evaluation.codes import pack
from benchmark.execution import shipping
from benchmark.execution.cluster import connect
from benchmark.execution.origin import Origin
from benchmark.execution.request import Request
from benchmark.execution.shipping import at_home
from benchmark.execution.store import Store
from benchmark.execution.supervise import Limits


def request(**changes: Any) -> Request:
    blank: dict[str, Any] = {
        "key": "k", "identity": {}, "parts": {}, "asked": {}, "dataset": "lsh", "data_root": None,
        "dataset_parameters": {},
        "profile": load_profile("quick"), "backbone": None, "weights": None, "partial_weights": False,
    }  # fmt: skip
    return Request(**(blank | changes))


def test_a_snapshot_is_kept_where_the_results_folder_is_in_sight(tmp_path: Path) -> None:
    seen = str(tmp_path / "checkpoints" / "k.pt")
    assert at_home(request(checkpoint=seen)).checkpoint == seen
    assert at_home(request(checkpoint=str(tmp_path / "no" / "folder" / "k.pt"))).checkpoint is None


def test_files_that_a_worker_does_not_see_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shipping, "_received", {})
    here = tmp_path / "here"
    (here / "root" / "lists").mkdir(parents=True)
    (here / "root" / "lists" / "train.txt").write_text("a 1")
    for name in ("data.npz", "weights.pth", "plugin.py"):
        (here / name).write_text(name)
    asked = request(
        dataset=f"features:{here / 'data.npz'}",
        data_root=str(here / "root"),
        weights=str(here / "weights.pth"),
        plugins=(Origin("method", "mine", str(here / "plugin.py")),),
    )
    paths = shipping.named_paths(asked)
    assert len(paths) == 4
    assert shipping.lacking(paths) == []
    packed = [shipping.make_parcel(path) for path in paths]
    assert at_home(asked) == asked
    here.rename(tmp_path / "elsewhere")
    assert shipping.lacking(paths) == paths
    for parcel in packed * 2:
        shipping.receive(parcel)
    assert shipping.lacking(paths) == []
    found = at_home(asked)
    assert found.dataset.startswith("features:")
    assert Path(found.dataset.partition(":")[2]).read_text() == "data.npz"
    assert Path(found.weights or "").read_text() == "weights.pth"
    assert Path(found.plugins[0].source or "").read_text() == "plugin.py"
    assert (Path(found.data_root or "") / "lists" / "train.txt").read_text() == "a 1"


def test_what_is_too_large_to_send_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").write_bytes(b"x" * 100)
    monkeypatch.setattr(shipping, "LIMIT", 99)
    with pytest.raises(UsageError, match="too much to send: mount it"):
        shipping.make_parcel(str(tmp_path))


HIDING = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none "$HIDDEN" && exec "$@"', "sh"]  # a disk of one's own


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    """A folder that workers started with HIDING do not see."""
    folder = tmp_path / "mine"
    folder.mkdir()
    tried = subprocess.run([*HIDING, "true"], env={**os.environ, "HIDDEN": str(folder)}, capture_output=True)
    if tried.returncode:
        pytest.skip("no name spaces for ordinary users here, so that no worker can be kept from our files")
    return folder


def blind_worker(dask: Any, folder: Path) -> tuple[Any, Path]:
    """One that does not see the folder, and its cache."""
    cache = dask.folder / "cache"
    return dask.worker(HIDING, env={**os.environ, "HIDDEN": str(folder), "HASHBENCH_CACHE": str(cache)}), cache


@pytest.mark.slow
def test_a_worker_without_a_shared_disk_gives_the_numbers_of_a_local_run(
    dask_processes: Any, hidden: Path, bench: Any, other_bench: Any
) -> None:
    plugin = hidden / "sent.py"  # under a name that no other test gives another file
    plugin.write_text(bench.plugins[0].read_text().replace('"neighbour"', '"sent"'))
    data = Path(shutil.copy(bench.data, hidden))
    for one in (bench, other_bench):
        one.data, one.plugins, one.methods = data, [plugin], ["sent"]
    _, cache = blind_worker(dask_processes, hidden)
    assert bench.run("--dask", dask_processes.address) == 0
    assert other_bench.run() == 0
    assert bench.content() == other_bench.content()
    assert {path.name for path in cache.glob("received/*/*")} == {"sent.py", data.name}


@pytest.mark.slow
def test_a_model_that_was_fitted_on_a_worker_encodes_here_as_it_did_there(
    dask_processes: Any, hidden: Path, bench: Any
) -> None:
    """By a plugin and data that only its cache holds; a built-in method beside it."""
    plugin = hidden / "sent_model.py"
    plugin.write_text(bench.plugins[0].read_text().replace('"neighbour"', '"sent-model"'))
    bench.data = Path(shutil.copy(bench.data, hidden))
    bench.plugins, bench.methods = [plugin], ["sent-model", "itq"]
    blind_worker(dask_processes, hidden)
    assert bench.run("--dask", dask_processes.address, "--keep-models") == 0
    records = [*Store(bench.results).records()]
    assert len(records) == 4
    with np.load(bench.data) as rows:
        for record in records:
            codes = load_model(record.key, bench.results).encode(rows["database_features"])
            assert np.array_equal(pack(codes), Store(bench.results).payload(record)["database_codes"])


@pytest.mark.slow
def test_a_worker_that_comes_later_gets_what_the_others_saw_themselves(dask_processes: Any, hidden: Path) -> None:
    (hidden / "weights.pth").write_text("weights")
    asked = request(weights=str(hidden / "weights.pth"))
    first = dask_processes.worker()
    with connect(dask_processes.address) as place:
        assert place.run(shipping.named_paths, asked, Limits()).value == [asked.weights]
        first.kill()
        _, cache = blind_worker(dask_processes, hidden)
        (found,) = place.run(shipping.named_paths, asked, Limits()).value
    assert found.startswith(str(cache / "received"))
    assert Path(found).read_text() == "weights"
