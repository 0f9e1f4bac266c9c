"""Splits from three lists: lists that do not fit each other, and what is missing, are named."""

from pathlib import Path

import pytest
from PIL import Image

from benchmark.data.images import ReplacedImage
from benchmark.data.list_files import read_list
from benchmark.data.list_splits import ListSplits, find_lists, read_class_names
from benchmark.errors import UsageError


def test_missing_files_are_named(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        read_list(tmp_path / "train.txt")
    (tmp_path / "train.txt").write_text("a.jpg 1\n")
    with pytest.raises(UsageError, match=r"query.txt or test.txt, and database.txt"):
        find_lists(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [("cat\ndog\ncat\n", "line 3: 'cat' is on line 1 already"), ("cat\n\ndog\n", "line 2 is blank")],
)
def test_damaged_class_names(tmp_path, content, message):
    (tmp_path / "classes.txt").write_text(content)
    with pytest.raises(UsageError, match=message):
        read_class_names(tmp_path / "classes.txt")


def test_lists_of_different_formats_or_widths_do_not_mix(tmp_path):
    for name, line in (("train", "a.jpg 0 1"), ("query", "b.jpg 1"), ("database", "c.jpg 0 1")):
        (tmp_path / f"{name}.txt").write_text(line + "\n")
    files = {name: Path(tmp_path / f"{name}.txt") for name in ("train", "query", "database")}
    with pytest.raises(UsageError, match=r"query.txt line 1 has class numbers, but .*train.txt has 0/1 per class"):
        ListSplits("x", (tmp_path,), files).load()
    files["query"].write_text("b.jpg 0 1 0\n")
    with pytest.raises(UsageError, match=r"query.txt line 1 has 3 labels, expected 2 as in"):
        ListSplits("x", (tmp_path,), files).load()


def test_a_picture_replaced_while_broken_ones_are_looked_for_is_not_remembered_as_broken(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    for row in range(3):
        Image.new("RGB", (4, 4), (row, 0, 0)).save(tmp_path / f"{row}.png")
    files = {name: tmp_path / f"{name}.txt" for name in ("train", "query", "database")}
    for row, path in enumerate(files.values()):
        path.write_text(f"{row}.png 0\n")
    splits = ListSplits("x", (tmp_path,), files, skip_broken=True)
    assert len(splits.hashes) == 3
    Image.new("RGB", (4, 4), (99, 0, 0)).save(tmp_path / "1.png")
    with pytest.raises(ReplacedImage, match=r"1\.png is not what it was"):
        splits.load()
    Image.new("RGB", (4, 4), (1, 0, 0)).save(tmp_path / "1.png")
    assert [len(rows) for rows in ListSplits("x", (tmp_path,), files, skip_broken=True).broken.values()] == [0, 0, 0]
