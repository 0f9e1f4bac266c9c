"""Files for workers that do not see ours: sent once, found where they were put, refused where they are too large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark import UsageError
from benchmark.deep.profile import load_profile
from benchmark.execution import shipping
from benchmark.execution.request import Request
from benchmark.execution.shipping import at_home


def request(**changes: Any) -> Request:
    blank: dict[str, Any] = {
        "key": "k", "identity": {}, "parts": {}, "dataset": "lsh", "data_root": None, "dataset_parameters": {},
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
        plugins=(str(here / "plugin.py"),),
    )
    paths = shipping.named_paths(asked)
    assert len(paths) == 4
    assert shipping.lacking(paths) == []
    packed = [shipping.pack(path) for path in paths]
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
    assert Path(found.plugins[0]).read_text() == "plugin.py"
    assert (Path(found.data_root or "") / "lists" / "train.txt").read_text() == "a 1"


def test_what_is_too_large_to_send_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").write_bytes(b"x" * 100)
    monkeypatch.setattr(shipping, "LIMIT", 99)
    with pytest.raises(UsageError, match="too much to send: mount it"):
        shipping.pack(str(tmp_path))
