"""Rows of torchvision's data sets: class numbers however they are kept, names, images, and keywords of constructors."""

import numpy as np
import pytest
from PIL import Image

from benchmark.data.split_drawing import SingleLabelSizes
from benchmark.data.torchvision_dataset import TorchvisionDataset, accepted, class_numbers, official_rows
from benchmark.errors import UsageError

NUMBERS = [3, 1, 3, 7, 1, 7, 7]


class Piece:
    """Like one of torchvision's: row n is a grey image of the value n."""

    def __init__(self, numbers=NUMBERS, **kept):
        self.numbers, self.asked = numbers, 0
        vars(self).update(kept)

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, row):
        self.asked += 1
        return Image.fromarray(np.full((2, 2), row, np.uint8)), self.numbers[row]


@pytest.mark.parametrize(
    "kept",
    [{"targets": NUMBERS}, {"labels": np.array(NUMBERS)}, {"y": NUMBERS}, {"_samples": [("", n) for n in NUMBERS]}],
)
def test_class_numbers_are_read_where_they_are_kept(kept):
    piece = Piece(NUMBERS, **kept)
    assert class_numbers(piece).tolist() == NUMBERS
    assert piece.asked <= 5


@pytest.mark.parametrize("kept", [{}, {"targets": [0] * 7}, {"labels": np.zeros((7, 2), int)}, {"y": [1]}])
def test_what_is_kept_otherwise_is_asked_row_by_row(kept):
    assert class_numbers(Piece(NUMBERS, **kept)).tolist() == NUMBERS


def test_what_is_no_class_number_is_told():
    with pytest.raises(UsageError, match="Piece gives no class number"):
        class_numbers(Piece([{"boxes": []}, {"boxes": []}]))


def test_rows_of_two_pieces_are_numbered_through():
    rows = official_rows([Piece(NUMBERS, classes=list("abcdefgh")), Piece([7, 2])])
    assert rows.class_names == ["b", "c", "d", "h"]
    assert rows.numbers.tolist() == [2, 0, 2, 3, 0, 3, 3, 3, 1]
    assert rows.in_test.tolist() == [False] * 7 + [True] * 2
    images = rows.images(np.array([8, 0, 6]))
    assert [int(images[row][0, 0, 0]) for row in range(3)] == [1, 0, 6]
    assert images[0].shape == (2, 2, 3)


@pytest.mark.parametrize("classes", [None, ["a"], ["a"] * 8, [" "] * 8])
def test_without_names_classes_are_called_by_their_numbers(classes):
    assert official_rows([Piece(NUMBERS, classes=classes)]).class_names == ["1", "3", "7"]


def test_keywords_are_those_of_the_base_too():
    class Base:
        def __init__(self, root, train=True, download=False): ...

    class Handing(Base):
        def __init__(self, root, split, **kwargs): ...

    class Keeping(Base):
        def __init__(self, root, split): ...

    assert {"root", "split", "train", "download"} <= set(accepted(Handing))
    assert "train" not in accepted(Keeping)


def test_what_it_does_not_do_it_says():
    class Plain(TorchvisionDataset):
        sizes, split_seed = SingleLabelSizes(), 0

    plain = Plain("plain")
    for call in (plain.opened, plain.hashes):
        with pytest.raises(NotImplementedError, match="data set 'plain' does not say"):
            call()
