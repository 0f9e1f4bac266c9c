"""Drawn lists: drawn once for each identity, whole or drawn again, and read back as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data import drawn_lists
from benchmark.data.drawn_lists import DrawnLists, are_whole, draw_lists, drawing_notes, write_lists
from benchmark.data.hashing import file_hash
from benchmark.data.list_files import read_list
from benchmark.errors import UsageError

ROWS = {
    "train": (["b.jpg"], np.array([[False, True]])),
    "query": (["a.jpg", "folder/c d.jpg"], np.array([[True, False], [True, True]])),
    "database": (["b.jpg", "e.jpg"], np.array([[False, True], [False, False]])),
}


class Maker:
    """Counts how often it draws."""

    def __init__(self, **changes: Any) -> None:
        self.drawn, self.changes = 0, changes

    def __call__(self) -> DrawnLists:
        self.drawn += 1
        return DrawnLists(
            **{"rows": ROWS, "class_names": ["one", "two"], "notes": ["3 images left out"]} | self.changes
        )


def test_what_was_drawn_is_what_is_read() -> None:
    files = draw_lists("x", {"seed": 0}, Maker())
    for part, (entries, labels) in ROWS.items():
        found = read_list(files[part])
        assert list(found.entries) == entries
        np.testing.assert_array_equal(found.labels, labels)
    folder = files["train"].parent
    assert (folder / "classes.txt").read_text() == "one\ntwo\n"
    assert drawing_notes(folder) == ("3 images left out",)
    told = json.loads((folder / "lists.json").read_text())
    assert told["sha256"] == {name: file_hash(folder / name) for name in told["sha256"]}
    assert len(told["sha256"]) == 4
    assert told["made from"]["seed"] == 0


def test_an_identity_is_drawn_once_and_another_apart() -> None:
    make = Maker()
    one, again = (draw_lists("x", {"seed": 0}, make) for _ in range(2))
    assert (one, make.drawn) == (again, 1)
    others = [draw_lists("x", {"seed": 1}, make), draw_lists("y", {"seed": 0}, make)]
    assert make.drawn == 3
    assert len({one["train"], *(other["train"] for other in others)}) == 3


def test_other_code_that_draws_draws_again(monkeypatch: pytest.MonkeyPatch) -> None:
    make = Maker()
    before = draw_lists("x", {}, make)
    monkeypatch.setattr(drawn_lists, "drawing_code", lambda: ["other"])
    assert draw_lists("x", {}, make) != before
    assert make.drawn == 2


@pytest.mark.parametrize("name", ["train.txt", "query.txt", "database.txt", "classes.txt", "lists.json"])
@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_damaged_lists_are_drawn_again(name: str, damage: str) -> None:
    make = Maker()
    folder = draw_lists("x", {}, make)["train"].parent
    before = (folder / name).read_bytes()
    (folder / name).unlink() if damage == "gone" else (folder / name).write_text("[]\n")
    assert not are_whole(folder)
    draw_lists("x", {}, make)
    assert make.drawn == 2
    assert (folder / name).read_bytes() == before
    assert are_whole(folder)


def test_a_folder_of_other_lists_has_no_notes(tmp_path: Path) -> None:
    assert drawing_notes(tmp_path) == ()
    for text in ("no json", "[]", '{"notes": "x"}'):
        (tmp_path / "lists.json").write_text(text)
        assert drawing_notes(tmp_path) == ()


def test_a_class_name_that_would_break_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="class"):
        write_lists(tmp_path, Maker(class_names=["one\ntwo", "three"])(), {})
    assert not are_whole(tmp_path)


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError):
        draw_lists("x", {}, Maker())
