"""What lies under a data root: found in the usual places, else named with where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.data_root import Piece, find_published, first_file, need_root, places, refuse_missing
from benchmark.errors import UsageError

NAMES = {"train": ["train.txt"], "query": ["test.txt"], "database": ["database.txt", "database_hashnet.txt"]}


def test_a_root_must_be_given_and_be_a_folder(tmp_path: Path) -> None:
    assert need_root("nus", tmp_path) == tmp_path
    with pytest.raises(UsageError, match="'nus' needs real data: give its folder by --data-root DIR"):
        need_root("nus", None)
    with pytest.raises(UsageError, match="does not exist"):
        need_root("nus", tmp_path / "no")


def test_places_are_the_sub_folders_that_exist_and_then_the_root(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "c").write_text("no folder")
    assert places(tmp_path, ["a", "b", "c"]) == [tmp_path / "b", tmp_path]


def test_published_lists_need_the_queries_and_one_more_of_one_folder(tmp_path: Path) -> None:
    (tmp_path / "nus").mkdir()
    (tmp_path / "nus" / "test.txt").write_text("")
    assert find_published(tmp_path, ["nus"], NAMES) == {}
    (tmp_path / "train.txt").write_text("")  # beside it, not with it
    assert find_published(tmp_path, ["nus"], NAMES) == {}
    (tmp_path / "test.txt").write_text("")
    assert find_published(tmp_path, ["nus"], NAMES) == {
        "train": tmp_path / "train.txt", "query": tmp_path / "test.txt"
    }  # fmt: skip
    (tmp_path / "nus" / "database_hashnet.txt").write_text("")
    found = find_published(tmp_path, ["nus"], NAMES)
    assert found == {"query": tmp_path / "nus" / "test.txt", "database": tmp_path / "nus" / "database_hashnet.txt"}
    (tmp_path / "nus" / "database.txt").write_text("")
    assert find_published(tmp_path, ["nus"], NAMES)["database"].name == "database.txt"


def test_the_first_name_of_the_first_place_wins(tmp_path: Path) -> None:
    assert first_file(tmp_path, ["nus"], ["a", "b"]) is None
    (tmp_path / "a").write_text("")
    assert first_file(tmp_path, ["nus"], ["a", "b"]) == tmp_path / "a"
    (tmp_path / "nus" / "b").mkdir(parents=True)
    assert first_file(tmp_path, ["nus"], ["a", "b"]) == tmp_path / "nus" / "b"


@pytest.mark.parametrize(
    ("found", "files", "expected", "complete"),
    [(None, None, None, False), (None, 5, 5, False), ("x", None, None, True), ("x", 4, 5, False), ("x", 5, 5, True),
     ("x", 6, 5, True), ("x", 6, None, True)],
)  # fmt: skip
def test_a_piece_is_complete_where_no_file_is_missing(found, files, expected, complete) -> None:
    piece = Piece("images", Path(found) if found else None, "1 GB", "there", files, expected)
    assert piece.complete == complete


def test_all_that_is_missing_is_named_and_nothing_else(tmp_path: Path) -> None:
    there = Piece("labels", tmp_path, "1 MB", "elsewhere")
    refuse_missing("nus", tmp_path, [there])
    missing = [Piece(what, None, "1 GB", f"{what}.org") for what in ("images", "concepts")]
    with pytest.raises(UsageError) as caught:
        refuse_missing("nus", tmp_path, [missing[0], there, missing[1]])
    assert "images (1 GB, images.org); concepts (1 GB, concepts.org);" in str(caught.value)
    assert "labels" not in str(caught.value)
    assert f"prepare nus --data-root {tmp_path}" in str(caught.value)
