"""`verify_cache` reads everything: sound things stay, each damaged one is named once and made again."""

import os
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from benchmark.data import hashing
from benchmark.data.cache import cache_dir, locked, read_note, write_note
from benchmark.data.cache_check import verify_cache
from benchmark.data.drawn_lists import DrawnLists, draw_lists
from benchmark.data.feature_cache import NOTE, TABLE
from benchmark.data.hashing import hashed_now, tree_hashes
from benchmark.data.image_index import images_under
from benchmark.data.list_files import read_list


@pytest.fixture
def kept(tmp_path, settled):
    """One of everything that the cache holds; where each lies."""
    root = tmp_path / "root"
    root.mkdir()
    for number in range(3):
        (root / f"{number}.jpg").write_bytes(os.urandom(20))
    tree_hashes(root, [f"{number}.jpg" for number in range(3)])
    images_under(root)
    write_note(cache_dir() / "broken" / "x.note", ["1.jpg"])
    (tmp_path / "list.txt").write_text("a.jpg 0 1\nb.jpg 1 0\n")
    read_list(tmp_path / "list.txt")
    rows = (["a.jpg"], np.array([[True, False]]))
    lists = draw_lists("x", {}, lambda: DrawnLists(dict.fromkeys(("train", "query", "database"), rows), ["a", "b"]))
    features = cache_dir() / "features" / "x"
    features.mkdir(parents=True)
    np.save(features / TABLE, np.ones((5, 4), np.float32))
    write_note(features / NOTE, {"entry": hashed_now(str(features / TABLE)), "rows": 5, "columns": 4})
    weights = cache_dir() / "weights" / "w.pt"
    weights.parent.mkdir()
    with zipfile.ZipFile(weights, "w") as archive:
        archive.writestr("data", os.urandom(100))
    return SimpleNamespace(
        root=root,
        hashes=next((cache_dir() / "hashes").glob("*.note")),
        index=next((cache_dir() / "index").glob("*.note")),
        broken=cache_dir() / "broken" / "x.note",
        lists=next((cache_dir() / "lists").glob("*.npz")),
        drawn=lists["query"],
        names=lists["query"].parent / "classes.txt",
        table=features / TABLE,
        note=features / NOTE,
        weights=weights,
    )


def test_a_sound_cache_is_left_alone(kept):
    before = {path: path.read_bytes() for path in cache_dir().rglob("*") if path.is_file() and path.suffix != ".note"}
    assert verify_cache() == []
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("what", ["hashes", "index", "broken", "lists", "drawn", "names", "table", "note", "weights"])
def test_a_flipped_bit_anywhere_is_named_and_removed(kept, what):
    path = getattr(kept, what)
    content = bytearray(path.read_bytes())
    content[content.index(b"a.jpg") if what == "lists" else len(content) // 2] ^= 1
    path.write_bytes(content)
    (line,) = verify_cache(cache_dir())
    assert "damaged, removed" in line
    assert not path.exists()
    assert verify_cache() == []


def test_a_file_that_rotted_under_its_signature_is_named(kept, monkeypatch):
    """A6: what rots without a trace in `stat` is found by reading everything."""
    told = read_note(kept.hashes)
    told["files"]["1.jpg"][2] = "0" * 64
    write_note(kept.hashes, told)
    (line,) = verify_cache()
    assert line.startswith(f"{kept.root}/1.jpg: its bytes have changed, though its size and times have not")
    assert tree_hashes(kept.root, ["1.jpg"])["1.jpg"] == hashing._digest(kept.root / "1.jpg")
    assert verify_cache() == []


def test_what_is_being_made_is_not_touched(kept):
    kept.table.write_bytes(b"half")
    with locked(kept.table.parent / "features"):
        assert verify_cache() == []
    assert len(verify_cache()) == 1


def test_an_empty_cache_is_sound(tmp_path):
    assert verify_cache(tmp_path / "nothing") == []
