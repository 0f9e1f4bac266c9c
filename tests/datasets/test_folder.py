"""`folder:DIR`: class folders become splits, and what is odd about them is one line."""

import pytest

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
