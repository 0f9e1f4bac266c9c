"""What the cache weighs, and which folders are ours to drop."""

from __future__ import annotations

from pathlib import Path

from benchmark.data.cache import locked
from benchmark.data.cache_size import cache_bytes, cached_codes, cached_features, drop_codes, drop_features


def fill(root: Path, name: str, *files: str) -> Path:
    folder = root / "features" / name
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).write_bytes(b"x" * 10)
    return folder


def test_finished_and_begun_tables_are_ours_and_nothing_else(tmp_path: Path) -> None:
    fill(tmp_path, "done", "features.npy", "features.note", "features.lock")
    fill(tmp_path, "begun", "chunk-000000000-abcd.npy", ".chunk-000000256.x.npy")
    fill(tmp_path, "foreign", "features.npy", "letter.txt")
    fill(tmp_path, "empty")
    found = {entry.path.name: entry.bytes for entry in cached_features(tmp_path)}
    assert found == {"begun": 20, "done": 30}
    assert cache_bytes(tmp_path) == {"features": 70}


def test_a_table_that_is_being_written_stays(tmp_path: Path) -> None:
    fill(tmp_path, "a", "features.npy")
    (entry,) = cached_features(tmp_path)
    with locked(entry.path / "features"):
        assert not drop_features(entry)
    assert drop_features(entry)
    assert not entry.path.exists()


def test_codes_of_searched_folders_are_ours_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "codes").mkdir()
    names = [f"{'a' * 32}.note", f"{'b' * 32}.begun"]
    for name in (*names, "letter.txt", "notes.note"):
        (tmp_path / "codes" / name).write_bytes(b"x" * 10)
    found = cached_codes(tmp_path)
    assert [(entry.path.name, entry.bytes) for entry in found] == [(name, 10) for name in names]
    assert all(drop_codes(entry) for entry in [*found, *found])
    assert sorted(path.name for path in (tmp_path / "codes").iterdir()) == ["letter.txt", "notes.note"]


def test_no_cache_weighs_nothing(tmp_path: Path) -> None:
    assert cached_codes(tmp_path) == []
    assert cached_features(tmp_path) == []
    assert cache_bytes(tmp_path) == {}
