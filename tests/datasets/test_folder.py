"""`folder:DIR`: class folders become splits, and what is odd about them is one line."""

import os

import numpy as np
import pytest
from PIL import Image

from benchmark.data.audit import audit
from benchmark.errors import UsageError
from benchmark.registry import get_dataset


def class_folders(root, **sizes):
    for name, size in sizes.items():
        for number in range(size):
            root.image(f"{name}/{number}.png" if number % 2 else f"{name}/deep/{number}.png")
    return root.folder


def test_class_folders(root):
    folder = class_folders(root, cat=10, dog=6, fish=4)
    dataset = get_dataset(f"folder:{folder}", queries_per_class=3)
    dataset.check()
    splits = dataset.load()
    assert splits.class_names == ["cat", "dog", "fish"]
    assert splits.query.labels.sum(axis=0).tolist() == [3, 3, 2]  # at most half of a class
    assert splits.database.labels.sum(axis=0).tolist() == [7, 3, 2]
    assert splits.train.ids == splits.database.ids
    for split in splits.parts().values():
        for name, row in zip(split.ids, split.labels, strict=True):
            assert name.startswith(splits.class_names[row.argmax()])
    assert not audit(splits, 5).errors
    assert splits.query.images[0].shape == (6, 6, 3)


def test_class_folders_with_a_skewed_training_set(root):
    folder = class_folders(root, a=30, b=30, c=30)
    dataset = get_dataset(f"folder:{folder}", queries_per_class=2, train_size=30, imbalance="exponential:4")
    dataset.check()
    counts = sorted(dataset.load().train.labels.sum(axis=0))
    assert counts == [4, 9, 17]
    with pytest.raises(UsageError, match="imbalance and train_size go together"):
        get_dataset(f"folder:{folder}", train_size=30)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"cat": 3}, "has 1 sub-folders, expected one per class"),
        ({"cat": 3, "Cat": 3}, "another class differs from it in capitals only"),
    ],
)
def test_damaged_class_folders(root, sizes, message):
    folder = class_folders(root, **sizes)
    with pytest.raises(UsageError, match=message):
        get_dataset(f"folder:{folder}").check()


def test_an_empty_class_folder(root):
    folder = class_folders(root, cat=3, dog=3)
    (folder / "fish").mkdir()
    with pytest.raises(UsageError, match="fish holds no image"):
        get_dataset(f"folder:{folder}").check()


def test_equal_names_and_other_pixels_are_another_revision(tmp_path):
    """A1: two folders with equal file names shared cached features."""
    revisions = set()
    for number, name in enumerate(("clean", "noisy")):
        for label in ("cat", "dog"):
            (tmp_path / name / label).mkdir(parents=True)
            for row in range(3):
                pixels = np.full((6, 6, 3), 10 * row + number, np.uint8)
                Image.fromarray(pixels).save(tmp_path / name / label / f"{row}.png")
        dataset = get_dataset(f"folder:{tmp_path / name}", queries_per_class=1)
        dataset.check()
        revisions.add(dataset.revision)
    assert len(revisions) == 2


@pytest.mark.parametrize("name", ["$x$ & [y]", "naïve", "a  b", "50% {x}", "it's"])
def test_odd_class_names_are_names(root, name):
    folder = class_folders(root, **{name: 4, "dog": 4})
    dataset = get_dataset(f"folder:{folder}", queries_per_class=1)
    dataset.check()
    splits = dataset.load()
    assert set(splits.class_names) == {name, "dog"}
    assert splits.query.images[0].shape == (6, 6, 3)
    assert dataset.revision


def test_a_backslash_in_a_file_name_is_part_of_it(root):
    folder = class_folders(root, cat=4, dog=4)
    (folder / "dog" / "1.png").rename(folder / "dog" / "1\\2.png")
    get_dataset(f"folder:{folder}").check()


@pytest.mark.parametrize(
    ("name", "fault"),
    [(b"a\nb", "line break"), (b"caf\xe9", "is not UTF-8 text"), (b" cat", "begins or ends with a space")],
)
@pytest.mark.parametrize("of", ["class", "file", "folder"])
def test_names_that_no_list_can_hold_are_one_line(root, name, fault, of):
    """E: a line break or a byte that is not UTF-8 in a name was a traceback, or a split of other images."""
    text = os.fsdecode(name)
    folder = class_folders(root, cat=4, dog=4)
    if of == "class":
        (folder / "dog").rename(folder / text)
    elif of == "file":
        (folder / "dog").rename(folder / "was")
        (folder / "was" / "1.png").rename(folder / "was" / f"{text}.png")
        if text.startswith(" "):  # inside a path this is no trouble
            get_dataset(f"folder:{folder}").check()
            return
    else:
        folder = folder.rename(folder.with_name(text))
    with pytest.raises(UsageError, match=fault) as caught:
        get_dataset(f"folder:{folder}").check()
    assert "\n" not in str(caught.value)
    str(caught.value).encode()
