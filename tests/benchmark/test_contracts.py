"""Labels become multi-hot, splits withhold what was not declared, parts of one split agree."""

import pickle

import numpy as np
import pytest

from benchmark import Split, UsageError, as_multi_hot
from benchmark.contracts import PixelsOnly


def test_class_numbers_become_multi_hot_and_minus_one_is_unlabelled():
    assert as_multi_hot([2, -1, 0]).tolist() == [[False, False, True], [False] * 3, [True, False, False]]


@pytest.mark.parametrize(
    ("labels", "classes", "fault"),
    [
        ([0.5, 1.0], None, "integers"),
        ([-2, 0], None, "-1"),
        ([3], 3, "less than 3"),
        ([[0, 2]], None, "0 and 1"),
        ([[0, 1]], 3, "expected 3"),
        ([[[1]]], None, "dimensions"),
    ],
)
def test_bad_labels_are_named(labels, classes, fault):
    with pytest.raises(UsageError, match=fault):
        as_multi_hot(labels, classes)


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
    for name in ("paths", "images", "root", "__dict__"):
        assert not hasattr(shown, name)
    with pytest.raises(TypeError):
        vars(shown)
    assert "jpg" not in repr(shown)
    subset = Split(images=shown).take(np.array([0, 0])).images
    assert len(subset) == 2
