"""Hashes of files: right when they are computed, right when they are remembered, and never wrong in between."""

import hashlib
import os
import time

import pytest

from benchmark.data import hashing
from benchmark.data.cache import cache_dir, telling
from benchmark.data.hashing import code_hash, file_hash, object_hash, tree_hashes
from benchmark.errors import UsageError


def slow_hash(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def counted(monkeypatch):
    """Every file that is read to be hashed."""
    read, real = [], hashing._digest
    monkeypatch.setattr(hashing, "_digest", lambda path: read.append(str(path)) or real(path))
    return read


@pytest.fixture
def large(monkeypatch):
    """No file is small enough to be hashed every time."""
    monkeypatch.setattr(hashing, "CHEAP", -1)


def replace_in_place(path, content):
    """Other bytes of the same length under the same name, with the time of writing set back."""
    before = path.stat()
    assert len(content) == before.st_size
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_a_hash_is_the_sha256_of_the_bytes(tmp_path, size):
    path = tmp_path / "f"
    path.write_bytes(os.urandom(size))
    assert file_hash(path) == slow_hash(path)


def test_a_small_file_is_always_read(tmp_path, settled, counted):
    (tmp_path / "f").write_bytes(b"one")
    file_hash(tmp_path / "f")
    file_hash(tmp_path / "f")
    assert len(counted) == 2


def test_a_large_file_is_read_once(tmp_path, large, settled, counted):
    (tmp_path / "f").write_bytes(b"one")
    assert file_hash(tmp_path / "f") == file_hash(tmp_path / "f") == slow_hash(tmp_path / "f")
    assert len(counted) == 1


def test_equal_size_and_time_of_writing_are_not_enough(tmp_path, large, settled):
    """A6: an npz of equal size and time was called unchanged."""
    path = tmp_path / "f"
    path.write_bytes(b"one")
    before = file_hash(path)
    replace_in_place(path, b"two")
    assert file_hash(path) == slow_hash(path) != before


def test_a_file_that_has_just_changed_is_not_trusted(tmp_path, large, counted):
    """A6: a second change within the clock's grain leaves no trace in the signature."""
    (tmp_path / "f").write_bytes(b"one")
    file_hash(tmp_path / "f")
    file_hash(tmp_path / "f")
    assert len(counted) == 2


def test_a_large_file_is_read_again_after_a_week(tmp_path, large, settled, counted, monkeypatch):
    (tmp_path / "f").write_bytes(b"one")
    file_hash(tmp_path / "f")
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + hashing.WEEK)
    file_hash(tmp_path / "f")
    assert len(counted) == 2


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", None])
def test_a_damaged_note_is_made_again(tmp_path, large, settled, damage):
    """E: a damaged hash cache was a traceback, or a wrong hash."""
    path = tmp_path / "f"
    path.write_bytes(b"one")
    file_hash(path)
    (note,) = (cache_dir() / "hashes").glob("*.note")
    content = note.read_bytes()
    note.write_bytes(content.replace(slow_hash(path).encode(), b"0" * 64) if damage is None else damage)
    assert file_hash(path) == slow_hash(path)


def test_what_is_no_file_is_one_line(tmp_path):
    """E: a pipe where a file is meant made the program wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (tmp_path / "pipe", "is no file"),
        (tmp_path, "is no file"),
        (tmp_path / "gone", "cannot be read: No such file"),
        (tmp_path / ("x" * 5000), "cannot be read: File name too long"),
    ):
        with pytest.raises(UsageError, match=message):
            file_hash(path)


# Trees


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "root"
    for number in range(30):
        (root / str(number % 3)).mkdir(parents=True, exist_ok=True)
        (root / str(number % 3) / f"{number}.jpg").write_bytes(os.urandom(50))
    return root


def paths_of(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*.jpg"))


def test_a_tree_is_hashed_once_and_then_looked_at(tree, settled, counted):
    expected = {path: slow_hash(tree / path) for path in paths_of(tree)}
    assert tree_hashes(tree, paths_of(tree)) == expected
    assert len(counted) == 30
    assert tree_hashes(tree, paths_of(tree)[::-1]) == expected
    assert len(counted) == 30
    assert len(list((cache_dir() / "hashes").glob("*.note"))) == 1


def test_only_what_changed_is_hashed_again(tree, settled, counted):
    """A1: pictures replaced in place stayed done."""
    tree_hashes(tree, paths_of(tree))
    changed = tree / "1" / "4.jpg"
    replace_in_place(changed, os.urandom(50))
    assert tree_hashes(tree, paths_of(tree))["1/4.jpg"] == slow_hash(changed)
    assert counted[30:] == [str(changed)]


def test_what_is_no_regular_file_has_no_hash(tree):
    os.mkfifo(tree / "pipe.jpg")
    (tree / "folder.jpg").mkdir()
    wanted = ["pipe.jpg", "folder.jpg", "gone.jpg", "0/0.jpg", "nul\0.jpg"]
    found = tree_hashes(tree, wanted)
    assert [path for path in wanted if found[path] is None] == ["pipe.jpg", "folder.jpg", "gone.jpg", "nul\0.jpg"]


def test_names_of_any_bytes_are_remembered(tree, settled, counted):
    name = os.fsdecode(b"caf\xe9 $x\n.jpg")
    (tree / name).write_bytes(b"x")
    assert tree_hashes(tree, [name]) == tree_hashes(tree, [name]) == {name: slow_hash(tree / name)}
    assert len(counted) == 1


def test_an_interrupted_hashing_is_not_lost(tree, settled, counted, monkeypatch):
    monkeypatch.setattr(hashing, "BLOCK", 10)

    def stop(what, done, total):
        assert total == 30
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), telling(stop):
        tree_hashes(tree, paths_of(tree))
    tree_hashes(tree, paths_of(tree))
    assert len(counted) == 30


def test_a_cache_that_cannot_be_written_is_only_slower(tree, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("benchmark.data.cache.tempfile.mkstemp", refuse)
    assert tree_hashes(tree, ["0/0.jpg"]) == {"0/0.jpg": slow_hash(tree / "0/0.jpg")}


# Code


def test_code_is_hashed_by_what_it_does(tmp_path):
    texts = {
        "plain": "def f(x):\n    return x + 1\n",
        "commented": '"""Doc."""\n\n\n# why\ndef f(x):  # so\n    """Doc."""\n    return (x + 1)\n',
        "other": "def f(x):\n    return x + 2\n",
    }
    hashes = {}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
        hashes[name] = code_hash(tmp_path / f"{name}.py")
    assert hashes["plain"] == hashes["commented"]
    assert hashes["plain"] != hashes["other"]


def test_an_object_is_hashed_without_its_neighbours():
    assert object_hash(slow_hash) != object_hash(replace_in_place)
    assert object_hash(slow_hash) == object_hash(slow_hash)
