"""Files that are changed one at a time, and put back."""

import os

import numpy as np
import pytest
from PIL import Image

from benchmark.conformance.changed_files import changed_one_by_one, elsewhere


def read(path):
    if path.suffix == ".npz":
        return np.load(path)["features"]
    return np.load(path) if path.suffix == ".npy" else np.asarray(Image.open(path))


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "below/a.png"])
def test_a_file_holds_something_else_for_a_while(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    values = np.full((4, 4, 3), 7, np.uint8)
    if name.endswith(".npz"):
        np.savez(path, names=np.array(["a"]), features=values.astype(float))
    elif name.endswith(".npy"):
        np.save(path, values.astype(float))
    else:
        Image.fromarray(values).save(path)
    before = path.read_bytes()
    found = [(changed, read(changed)) for changed in changed_one_by_one(tmp_path)]
    assert [changed for changed, _ in found] == [path]
    assert not (found[0][1] == 7).any()
    assert path.read_bytes() == before


def test_what_cannot_be_changed_is_passed_over_and_stays(tmp_path):
    contents = {"notes.txt": b"x", "broken.png": b"x", "broken.npy": b"x"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    assert list(changed_one_by_one(tmp_path)) == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == contents


@pytest.mark.parametrize("before", [None, "mine"])
def test_elsewhere_has_a_cache_of_its_own(monkeypatch, before):
    monkeypatch.delenv("HASHBENCH_CACHE", raising=False)
    if before is not None:
        monkeypatch.setenv("HASHBENCH_CACHE", before)
    with elsewhere() as folder:
        assert folder.is_dir()
        assert os.environ["HASHBENCH_CACHE"] == str(folder / "cache")
    assert not folder.exists()
    assert os.environ.get("HASHBENCH_CACHE") == before
