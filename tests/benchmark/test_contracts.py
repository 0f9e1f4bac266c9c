"""Splits take labels in every form, withhold what was not declared; parts of one split agree."""

import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest

from benchmark import PairSimilarity, Split, UsageError
from benchmark.contracts import PixelsOnly


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int16, np.float32])
def test_a_split_takes_class_numbers_of_any_type_and_as_a_column(kind):
    """A9: any unsigned label array crashed here."""
    numbers = np.array([0, 3, 1], kind)
    expected = [[True, False, False, False], [False, False, False, True], [False, True, False, False]]
    assert Split(labels=numbers).labels.tolist() == expected
    assert Split(labels=numbers[:, None]).labels.tolist() == expected


def test_a_split_of_one_class_stays_one_when_rows_are_taken():
    """A9, a relative: one column of bool is multi-hot, or taking rows would turn labels into class numbers."""
    split = Split(labels=np.array([[True], [False], [True]]))
    assert split.take(np.array([1, 2])).labels.tolist() == [[False], [True]]
    assert split.visible("features", "labels").labels.tolist() == [[True], [False], [True]]


def full_split():
    return Split(features=np.zeros((3, 2)), images=np.zeros((3, 4, 4, 3), np.uint8), labels=[0, 1, 1], ids="abc")


@pytest.mark.parametrize("needs", ["nothing", "similarity", "labels"])
def test_what_was_not_declared_is_withheld(needs):
    seen = full_split().visible("features", needs)
    assert seen.images is None
    assert (seen.labels is not None) == (needs == "labels")
    assert (seen.similarity is not None) == (needs != "nothing")


def test_a_deep_method_gets_images_or_else_features():
    assert full_split().visible("images", "nothing").features is None
    assert Split(features=np.zeros((3, 2))).visible("images", "nothing").features is not None


def test_take_chooses_rows_of_every_part():
    part = full_split().take(np.array([2, 0]))
    assert part.labels.tolist() == [[False, True], [True, False]]
    assert list(part.ids) == ["c", "a"]
    assert len(part.images) == 2
    assert part.similarity.block(np.array([0]), np.array([1]))[0].tolist() == [[False]]


def test_parts_that_disagree_are_an_error():
    with pytest.raises(UsageError, match="disagree"):
        Split(features=np.zeros((3, 2)), labels=[0, 1])
    with pytest.raises(UsageError, match="empty"):
        Split()


def test_what_is_required_and_missing_is_told():
    assert full_split().required_labels().shape == (3, 2)
    assert len(full_split().required_similarity()) == 3
    bare = Split(features=np.zeros((3, 2)))
    with pytest.raises(UsageError, match="no labels"):
        bare.required_labels()
    with pytest.raises(UsageError, match="no similarity"):
        bare.required_similarity()


def test_a_pair_list_is_shown_as_it_is_but_cannot_be_written_to():
    pairs = np.array([[0, 1], [1, 2]])
    split = Split(features=np.zeros((3, 2)), similarity=PairSimilarity(3, pairs, np.array([True, False])))
    seen = split.visible("features", "similarity").similarity
    assert isinstance(seen, PairSimilarity)
    with pytest.raises(ValueError, match="read-only"):
        seen.pairs[0] = 0
    pairs[0] = 0  # the caller's own stays his


def test_the_version_stands_once():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "benchmark/__init__.py"


class Named:
    """Images that know their paths, as files do."""

    paths = ["cat/1.jpg", "dog/2.jpg"]

    def __len__(self):
        return 2

    def __getitem__(self, index):
        if index > 1:
            raise IndexError(index)
        if index == 1:
            raise UsageError("list file train.txt line 2: image is broken")
        return np.zeros((4, 4, 3), np.uint8)


def test_pixels_only_gives_images_and_no_paths():
    """C14: `images.paths` named each query's class folder."""
    shown = pickle.loads(pickle.dumps(PixelsOnly(Named())))
    assert len(shown) == 2
    assert shown[0].shape == (4, 4, 3)
    with pytest.raises(UsageError, match=r"list file train.txt line 2"):
        shown[1]
    for name in ("paths", "images", "root"):
        assert not hasattr(shown, name)
    assert all(callable(value) for value in vars(shown).values())
    assert "jpg" not in repr(shown)
    subset = Split(images=shown).take(np.array([0, 0])).images
    assert len(subset) == 2
