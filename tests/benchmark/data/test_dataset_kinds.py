"""What data sets of one kind share: a name, the promises of their lists, published lists before drawn ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark.contracts import DatasetInfo
from benchmark.data.data_root import Piece
from benchmark.data.dataset_kinds import ListedDataset, NamedDataset, PaperDataset
from benchmark.errors import UsageError


class Named(NamedDataset):
    info = DatasetInfo("test-kind", "A kind")


class Told:
    """In the place of lists: answers as they would."""

    revision, files = "r1", {"train": Path("train.txt")}

    def __init__(self) -> None:
        self.heard: list[str] = []

    def check(self) -> None:
        self.heard.append("check")

    def load(self) -> Any:
        self.heard.append("load")
        return "splits"


class Paper(PaperDataset):
    info = DatasetInfo("test-paper", "A paper's")
    classes = 2
    folders = ("usual",)
    list_names = {"train": ["train.txt"], "query": ["test.txt"], "database": ["database.txt"]}
    needed_list = "train"
    images_from = "nowhere.org"

    @property
    def drawn_protocol(self) -> str:
        return "drawn somehow"

    def pieces(self) -> list[Piece]:
        return []


def test_it_is_called_as_registered_or_as_its_owner_calls_it() -> None:
    assert (Named().name, Named().title) == ("test-kind", "A kind")
    assert (Named("mine").name, Named("mine").title) == ("mine", "mine")
    assert Named("mine")._option("width") == "test-kind.width"
    assert not Named().miniature


def test_a_listed_data_set_is_what_its_lists_are() -> None:
    told = Told()
    dataset = type("Listed", (ListedDataset,), {"info": Named.info, "splits": told})()
    dataset.check()
    assert (dataset.load(), dataset.revision, dataset.lists()) == ("splits", "r1", told.files)
    assert told.heard == ["check", "load"]
    dataset.lists().clear()
    assert told.files


def test_one_that_does_not_say_where_its_lists_are_is_named() -> None:
    with pytest.raises(NotImplementedError, match="'test-kind' does not say where its lists are"):
        type("Listed", (ListedDataset,), {"info": Named.info})().load()


def test_published_lists_come_first_and_only_with_the_one_that_is_needed(tmp_path: Path) -> None:
    (tmp_path / "usual").mkdir()
    for name in ("test.txt", "database.txt"):
        (tmp_path / "usual" / name).write_text("")
    without = Paper(tmp_path, False, False)
    assert (without.published, without.protocol, without.as_published) == ({}, "drawn somehow", False)
    (tmp_path / "usual" / "train.txt").write_text("")
    found = Paper(tmp_path, False, False)
    assert set(found.published) == {"train", "query", "database"}
    assert (found.protocol, found.as_published) == ("published lists", True)


@pytest.mark.parametrize("published", [False, True])
def test_drawn_lists_are_matched_by_whole_paths_published_ones_by_base_name(tmp_path: Path, published: bool) -> None:
    if published:
        for name in ("test.txt", "train.txt"):
            (tmp_path / name).write_text("")
    made = Paper(tmp_path, True, True)._splits_of({"train": tmp_path / "t"}, ["a", "b"], ["a note"], "no database")
    assert made.whole_paths == (not published)
    assert (made.dataset, made.roots, made.classes) == ("test-paper", (tmp_path,), 2)
    assert (made.skip_broken, made.drop_overlap, made.notes, made.database_missing) == (
        True, True, ("a note",), "no database"
    )  # fmt: skip
    assert made.remedy == "the images come from nowhere.org"


def test_options_and_root_are_checked_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'test-paper' needs real data"):
        Paper(None, False, False)
    with pytest.raises(UsageError, match=r"test-paper\.skip_broken"):
        Paper(tmp_path, "perhaps", False)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"test-paper\.drop_overlap"):
        Paper(tmp_path, False, "perhaps")  # type: ignore[arg-type]


def test_a_comment_in_its_file_draws_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for number, text in enumerate(("x = 1\n", "# why\nx = 1\n", "x = 2\n")):
        (tmp_path / f"{number}.py").write_text(text)
        monkeypatch.setattr(Paper, "info", DatasetInfo("test-paper", "", source=tmp_path / f"{number}.py"))
        found.append(Paper(tmp_path, False, False)._code())
    assert found[0] == found[1] != found[2]
