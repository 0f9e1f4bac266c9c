"""The protocol of the two multi-label sets, on official files of a test's own making."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmark.contracts import DatasetInfo
from benchmark.data.data_root import Piece
from benchmark.data.hashing import file_hash
from benchmark.data.multi_label_dataset import MultiLabelDataset, OfficialImages
from benchmark.data.split_drawing import MultiLabelSizes
from benchmark.errors import UsageError

IMAGES, CLASSES = 60, 4
LABELS = np.array([[row % 10 > 0 and row % (column + 2) == 0 for column in range(CLASSES)] for row in range(IMAGES)])
SMALL: dict[str, Any] = {"queries_per_class": 2, "train_size": 20}


class Official(MultiLabelDataset):
    """One text file says which images there are; the label of image n is row n of LABELS."""

    info = DatasetInfo("test-official", "Official")
    classes = CLASSES
    folders = ()
    list_names = {"train": ["train.txt"], "query": ["test.txt"], "database": ["database.txt"]}
    images_from = "nowhere.org"
    protocols = {
        "usual": MultiLabelSizes(queries_per_class=50, train_size=10_000, unlabelled="drop"),
        "apart": MultiLabelSizes(queries=6, train_per_class=3, train_in_database=False),
    }

    def sources(self) -> list[Path]:
        return [self.root / "all.txt"]

    def pieces(self) -> list[Piece]:
        file = self.root / "all.txt"
        return [Piece("all.txt", file if file.is_file() else None, "1 kB", "nowhere.org")]

    def collect(self) -> OfficialImages:
        entries = (self.root / "all.txt").read_text().split()
        return OfficialImages(entries, LABELS, [f"c{number}" for number in range(CLASSES)], self.root / "all.txt")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "images").mkdir(parents=True)
    for number in range(IMAGES):
        Image.fromarray(np.full((2, 2, 3), number, np.uint8)).save(folder / "images" / f"{number}.png")
    (folder / "all.txt").write_text("\n".join(f"images\\{number}.png" for number in range(IMAGES)))
    return folder


def numbers(split: Any) -> list[int]:
    return [int(Path(one).stem) for one in split.ids]


@pytest.mark.parametrize("unlabelled", ["keep", "drop"])
def test_queries_of_every_class_the_rest_database_training_out_of_it(root: Path, unlabelled: str) -> None:
    dataset = Official(None, root, unlabelled=unlabelled, **SMALL)
    dataset.check()
    splits = dataset.load()
    query, database, train = (numbers(getattr(splits, part)) for part in ("query", "database", "train"))
    wanted = [row for row in range(IMAGES) if unlabelled == "keep" or LABELS[row].any()]
    assert sorted(query + database) == wanted
    assert set(train) <= set(database)
    assert len(train) == 20
    assert (splits.query.labels.sum(0) >= 2).all()
    for part in (splits.query, splits.database, splits.train):
        np.testing.assert_array_equal(part.labels, LABELS[numbers(part)])
    assert splits.query.images[0][0, 0, 0] == query[0]
    assert any("have no label, left out" in note for note in splits.notes) == (unlabelled == "drop")


def test_the_default_is_what_the_paper_does_with_unlabelled_images(root: Path) -> None:
    assert "unlabelled drop" in Official(None, root, **SMALL).protocol


def test_a_protocol_by_name_draws_by_its_own_sizes_and_leaves_published_lists_alone(root: Path) -> None:
    for part in ("train", "test", "database"):
        (root / f"{part}.txt").write_text("images/1.png 0 0 0 1\n")
    assert Official(None, root).protocol == "published lists"
    dataset = Official(None, root, protocol="apart")
    told = "drawn, 6 queries, 3 training images per class outside the database, unlabelled keep, seed 0"
    assert dataset.protocol == told
    splits = dataset.load()
    query, database, train = (numbers(getattr(splits, part)) for part in ("query", "database", "train"))
    assert len(query) == 6
    assert len(train) == 3 * CLASSES
    assert (splits.train.labels.sum(axis=0) >= 3).all()
    assert sorted(query + database + train) == list(range(IMAGES))
    with pytest.raises(UsageError, match=r"test-official\.protocol='other': expected usual or apart"):
        Official(None, root, protocol="other")


def test_a_total_goes_before_what_the_protocol_has_per_class(root: Path) -> None:
    dataset = Official(None, root, queries=7, train_size=11, map_cutoff="all")
    assert dataset.map_cutoff == 0
    splits = dataset.load()
    assert (len(splits.query), len(splits.train)) == (7, 11)


def test_parameters_and_sources_are_in_the_revision(root: Path) -> None:
    found = {"plain": Official(None, root, **SMALL).revision, "again": Official(None, root, **SMALL).revision}
    found["seed"] = Official(None, root, split_seed=1, **SMALL).revision
    found["train"] = Official(None, root, **(SMALL | {"train_size": 21})).revision
    assert found["plain"] == found["again"]
    assert len(set(found.values())) == 3


def test_missing_images_are_left_out_before_drawing_only_where_it_was_asked(root: Path) -> None:
    (root / "images" / "3.png").unlink()
    with pytest.raises(UsageError, match="no image under"):
        Official(None, root, unlabelled="keep", **SMALL).check()
    splits = Official(None, root, unlabelled="keep", skip_broken=True, **SMALL).load()
    assert 3 not in numbers(splits.query) + numbers(splits.database)
    assert "1 of 60 images are missing, left out before drawing" in splits.notes


def test_without_any_image_nothing_is_drawn(root: Path) -> None:
    for path in (root / "images").iterdir():
        path.unlink()
    with pytest.raises(UsageError, match=r"test-official: no image of .*all\.txt is under"):
        Official(None, root, skip_broken=True, **SMALL).check()


def test_what_is_missing_is_named_and_options_are_checked_at_once(root: Path) -> None:
    for name, value in (("queries_per_class", 0), ("train_size", 0), ("unlabelled", "some"), ("split_seed", "x")):
        with pytest.raises(UsageError, match=rf"test-official\.{name}"):
            Official(None, root, **(SMALL | {name: value}))
    (root / "all.txt").unlink()
    with pytest.raises(UsageError, match=r"these are missing: all\.txt \(1 kB, nowhere\.org\)"):
        Official(None, root, **SMALL).check()


def test_without_a_database_list_the_training_list_stands_in_for_an_audit_only(root: Path) -> None:
    for name, rows in (("train.txt", (5, 6)), ("test.txt", (7, 8))):
        lines = [f"{row}.png " + " ".join(str(int(label)) for label in LABELS[row]) for row in rows]
        (root / name).write_text("\n".join(lines) + "\n")
    dataset = Official(None, root, **SMALL)
    splits = dataset.load()
    assert numbers(splits.database) == numbers(splits.train) == [5, 6]
    assert splits.notes[0].startswith("no database list")
    with pytest.raises(UsageError, match=r"no database list; expected database\.txt"):
        dataset.check()


def test_published_lists_that_are_known_have_names(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such lists are columns of 0 and 1; whose they are is known of the very files that were looked at."""
    labels = "\n".join(f"/far/{number}.png 1 0 1 0" for number in range(20))
    for name, end in (("train", ""), ("test", "\n"), ("database", "\n\n")):
        (root / f"{name}.txt").write_text(labels + end)
    names = ("apple", "bird", "cat", "dog")
    monkeypatch.setattr(Official, "listed_names", names)
    assert Official(None, root).splits.class_names is None
    known = [file_hash(root / name) for name in ("train.txt", "test.txt")]
    monkeypatch.setattr(Official, "named_lists", known[:1])
    assert Official(None, root).splits.class_names is None
    monkeypatch.setattr(Official, "named_lists", known)
    assert Official(None, root).splits.class_names == names
    (root / "classes.txt").write_text("w\nx\ny\nz\n")
    assert Official(None, root).splits.class_names == ["w", "x", "y", "z"]
