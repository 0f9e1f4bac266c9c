"""`folder:DIR`, `pairs:FILE` and cifar10."""

import pickle

import numpy as np
import pytest

from benchmark.data.audit import audit
from benchmark.errors import UsageError
from benchmark.registry import get_dataset

# folder:DIR


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


# pairs:FILE


def pair_images(root, *lines):
    root.lists(classes=2, per_class=6)
    (root.folder / "train.txt").unlink()
    return root.text("pairs.txt", *lines)


def test_pairs_of_images(root):
    path = pair_images(root, "images/5.png images/7.png 1", "images/7.png images/6.png 0")
    dataset = get_dataset(f"pairs:{path}")
    dataset.check()
    splits = dataset.load()
    assert splits.train.labels is None
    assert splits.train.ids == ["images/5.png", "images/7.png", "images/6.png"]
    similar, known = splits.train.similarity.block(np.arange(3), np.arange(3))
    assert similar.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    assert known.tolist() == [[False, True, False], [True, False, True], [False, True, False]]
    assert splits.query.labels.shape == (4, 2)
    found = audit(splits, 5)
    assert found.similar_pairs == 0.5
    assert found.train_outside_database == 0


def pair_arrays(**changes):
    random = np.random.default_rng(0)
    held = {f"{part}_features": random.normal(size=(6, 3)) for part in ("train", "query", "database")}
    labels = {f"{part}_labels": np.arange(6) % 2 for part in ("query", "database")}
    pairs = {"train_pairs": np.array([[0, 1], [2, 3]]), "train_similar": np.array([1, 0])}
    return {**held, **labels, **pairs, **changes}


def test_pairs_of_features(tmp_path):
    np.savez(tmp_path / "p.npz", **pair_arrays())
    dataset = get_dataset(f"pairs:{tmp_path / 'p.npz'}")
    dataset.check()
    splits = dataset.load()
    assert dataset.backbone is None
    assert splits.train.similarity.degrees().similar.tolist() == [1, 1, 0, 0, 0, 0]
    assert splits.train.features.shape == (6, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_pairs": np.array([[0, 9], [2, 3]])}, "array train_pairs: row 9 or 0 named, expected 0 to 5"),
        ({"train_pairs": np.zeros((0, 2), int)}, "array train_pairs: shape"),
        ({"train_similar": np.array([1, 2])}, "array train_similar: expected 2 values of 0 or 1"),
        ({"train_pairs": np.array([[0, 1], [1, 0]])}, "row 1 contradicts .* row 0"),
    ],
)
def test_damaged_pairs_of_features(tmp_path, changes, message):
    np.savez(tmp_path / "p.npz", **pair_arrays(**changes))
    with pytest.raises(UsageError, match=message):
        get_dataset(f"pairs:{tmp_path / 'p.npz'}").check()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["images/5.png images/7.png"], "line 1 has 2 columns, expected 3"),
        (["images/5.png images/7.png 1", "a b.png c.png 1"], "line 2 has 4 columns, expected 3"),
        (["images/5.png images/7.png maybe"], r"line 1: 'maybe', expected 1 \(similar\) or 0"),
        (["images/5.png images/7.png 1", "images/7.png nowhere.png 0"], "line 2: image nowhere.png is not under"),
        (["images/5.png images/7.png 1", "images/7.png images/5.png 0"], "line 2 contradicts .* line 1"),
        ([], "is empty, expected one pair per line"),
    ],
)
def test_damaged_pairs_of_images(root, lines, message):
    path = pair_images(root, *lines)
    with pytest.raises(UsageError, match=message) as caught:
        get_dataset(f"pairs:{path}").check()
    assert "\n" not in str(caught.value)


# cifar10


@pytest.fixture
def cifar(root, monkeypatch):
    """Files in CIFAR's format with 20 images each, and torchvision's checksums set aside."""
    from benchmark.data.vision import torchvision

    folder = root.folder / "cifar-10-batches-py"
    folder.mkdir()
    names = [f"data_batch_{number}" for number in range(1, 6)] + ["test_batch"]
    for number, name in enumerate(names):
        data = np.full((20, 3072), number, np.uint8)
        (folder / name).write_bytes(pickle.dumps({"data": data, "labels": [n % 10 for n in range(20)]}))
    classes = [f"class {number}" for number in range(10)]
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": classes}))
    monkeypatch.setattr(torchvision.datasets.CIFAR10, "_check_integrity", lambda self: True)
    monkeypatch.setattr(torchvision.datasets.cifar, "check_integrity", lambda *a: True)
    return root


def test_cifar10_is_split_as_most_papers_do(cifar):
    dataset = get_dataset("cifar10", cifar.folder, queries_per_class=2, train_size=30)
    dataset.check()
    splits = dataset.load()
    assert set(splits.query.labels.sum(axis=0)) == {2}
    assert set(splits.train.labels.sum(axis=0)) == {3}
    assert len(splits.database) == 100
    assert splits.query.images[0].shape == (32, 32, 3)
    found = audit(splits, 10)
    assert (found.overlap, found.train_outside_database, found.errors) == (0, 0, [])
    skewed = get_dataset("cifar10", cifar.folder, queries_per_class=2, train_size=40, imbalance="exponential:5")
    assert skewed.revision != dataset.revision
    assert len(set(skewed.load().train.labels.sum(axis=0))) > 1


def test_cifar10_says_what_is_missing(root, cifar):
    (cifar.folder / "cifar-10-batches-py" / "test_batch").unlink()
    with pytest.raises(UsageError, match="lacks test_batch"):
        get_dataset("cifar10", cifar.folder).check()
    with pytest.raises(UsageError, match=r"cifar-10-batches-py/ is not under .*; unpack https"):
        get_dataset("cifar10", cifar.folder / "cifar-10-batches-py").check()
    with pytest.raises(UsageError, match="needs real data"):
        get_dataset("cifar10")


def test_cifar10_refuses_files_with_other_checksums(cifar, monkeypatch):
    monkeypatch.undo()
    dataset = get_dataset("cifar10", cifar.folder)
    with pytest.raises(UsageError, match="unpack https"):
        dataset.load()
