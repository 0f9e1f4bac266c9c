"""Places to write to: whatever is wrong with one is said at once, and asking leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmark import UsageError
from benchmark.execution.places import check_writable


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("file", "folder", "is a folder"),
        ("file", "nowhere/x", "its folder does not exist"),
        ("file", "file/x", "Not a directory"),
        ("file", "loop", "symbolic links"),
        ("file", "n" * 5000, "too long"),
        ("file", "/proc/x", "nothing can be written there"),
        ("folder", "file", "is no folder"),
        ("folder", "file/x/y", "Not a directory"),
        ("folder", "loop/x", "symbolic links"),
        ("folder", "n" * 5000, "too long"),
        ("folder", "/proc/x/y", "nothing can be written there"),
    ],
)
def test_a_bad_place_is_told(here: Path, kind: str, name: str, told: str) -> None:
    """E: OSErrors anywhere on the command line."""
    with pytest.raises(UsageError, match=told) as caught:
        check_writable("--out", here / name, kind)  # type: ignore[arg-type]
    assert str(caught.value).startswith("--out ")


@pytest.mark.parametrize(
    ("kind", "name"),
    [("file", "file"), ("file", "new"), ("file", "/dev/null"), ("folder", "folder"), ("folder", "new/and/deeper")],
)
def test_a_good_place_is_left_as_it_was(here: Path, kind: str, name: str) -> None:
    before = sorted(os.listdir(here))
    check_writable("--out", here / name, kind)  # type: ignore[arg-type]
    assert sorted(os.listdir(here)) == before
    assert (here / "file").read_text() == "x"


def test_a_bare_name_is_one_in_the_working_directory(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    check_writable("--out", Path("new.json"))
    check_writable("--results", Path("new"), "folder")
