"""`pairs:FILE`: pairs of images or features, and every kind of damage to them."""

import numpy as np
import pytest

from benchmark.data.audit import audit
from benchmark.errors import UsageError
from benchmark.registry import get_dataset


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


@pytest.mark.parametrize("image", ["images/5.png", "images/0.png"])
def test_the_revision_covers_the_pixels_of_training_and_of_scored_images(root, image):
    """A1: pictures replaced in place stayed done."""
    path = pair_images(root, "images/5.png images/7.png 1", "images/7.png images/6.png 0")
    before = get_dataset(f"pairs:{path}").revision
    assert get_dataset(f"pairs:{path}").revision == before
    root.image(image)
    assert get_dataset(f"pairs:{path}").revision != before
