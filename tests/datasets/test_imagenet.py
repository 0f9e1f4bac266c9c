"""imagenet, imagenet-balanced and imagenet-lt under a data root, and imbalance as a parameter."""

import numpy as np
import pytest

from benchmark.data.audit import audit
from benchmark.data.split_drawing import class_sizes
from benchmark.errors import UsageError
from benchmark.registry import datasets, get_dataset

CLASSES = datasets.get("imagenet").class_names


@pytest.fixture(scope="module")
def folders(module_root):
    module_root.ilsvrc(CLASSES, train=8, val=2)
    module_root.image("train/n99999999/n99999999_0.JPEG")  # one of the other 900 classes
    return module_root


def load(root, name="imagenet", **parameters):
    dataset = get_dataset(name, root.folder, **parameters)
    dataset.check()
    return dataset, dataset.load()


def test_official_folders_follow_the_papers_protocol(folders):
    dataset, splits = load(folders, train_size=300)
    assert len(splits.query) == 200
    assert len(splits.database) == 800
    found = audit(splits, dataset.map_cutoff)
    assert (found.overlap, found.train_outside_database, found.errors) == (0, 0, [])
    assert dataset.map_cutoff == 1000
    for split in splits.parts().values():
        for row in (0, -1):
            assert CLASSES[split.labels[row].argmax()] in split.ids[row]
    assert splits.query.images[0].shape == (6, 6, 3)


def test_classes_may_use_the_same_file_names(root):
    for wnid in CLASSES:
        for part in ("train", "val"):
            root.image(f"{part}/{wnid}/1.JPEG")
    _, splits = load(root, train_size=100)
    assert audit(splits, 10).overlap == 0
    assert splits.query.ids[3] == f"val/{CLASSES[3]}/1.JPEG"


def test_balanced(folders):
    dataset, splits = load(folders, "imagenet-balanced", train_size=300)
    assert set(splits.train.labels.sum(axis=0)) == {3}
    assert dataset.name == "imagenet-balanced"


def test_balanced_needs_real_data():
    with pytest.raises(UsageError, match="needs real data: give its folder by --data-root"):
        get_dataset("imagenet-balanced")
    assert get_dataset("imagenet").name == "imagenet-mini"


def test_imbalance_is_a_parameter_and_part_of_the_revision(folders):
    revisions = set()
    for imbalance in ("paper", "groups", "balanced", "exponential:8"):
        dataset, splits = load(folders, imbalance=imbalance, train_size=200)
        counts = splits.train.labels.sum(axis=0)
        assert counts.min() >= 1
        assert (counts.max() > counts.min()) == (imbalance != "balanced")
        assert imbalance in dataset.protocol
        revisions.add(dataset.revision)
    assert len(revisions) == 4


def test_another_training_set_from_published_lists(root):
    for wnid in CLASSES:
        for number in range(3):
            root.image(f"image/{wnid}_{number}.JPEG")
    rows = [" ".join("1" if c == k else "0" for c in range(100)) for k in range(100)]
    entries = [(f"/old/image/{w}_{n}.JPEG", k, n) for k, w in enumerate(CLASSES) for n in range(3)]
    root.text("imagenet/test.txt", *(f"{e} {rows[k]}" for e, k, n in entries if n == 0))
    root.text("imagenet/database.txt", *(f"{e} {rows[k]}" for e, k, n in entries if n))
    root.text("imagenet/train.txt", *(f"{e} {rows[k]}" for e, k, n in entries if n == 1 and k < 30))
    listed, splits = load(root)
    assert (listed.protocol, len(splits.train)) == ("published lists", 30)
    drawn, other = load(root, imbalance="balanced", train_size=100)
    assert set(other.train.labels.sum(axis=0)) == {1}
    assert other.query.ids == splits.query.ids
    assert drawn.revision != listed.revision
    balanced, _ = load(root, "imagenet-balanced", train_size=100)  # there is no train_balanced.txt here
    assert balanced.protocol.startswith("drawn, imbalance balanced")


def test_a_class_without_images_is_named(root):
    root.ilsvrc(CLASSES[1:], train=1, val=1)
    with pytest.raises(UsageError, match=f"no images of 1 of 100 classes, the first is {CLASSES[0]}"):
        load(root)


def test_flat_validation_images_are_explained(root):
    root.ilsvrc(CLASSES, train=1, val=0)
    root.image("val/ILSVRC2012_val_00000001.JPEG")
    with pytest.raises(UsageError, match="sort the validation images into folders by WordNet id"):
        load(root)


@pytest.mark.parametrize("imbalance", ["papers", "exponential", "exponential:x", "exponential:0.5", "balanced:2"])
def test_unknown_imbalance(folders, imbalance):
    with pytest.raises(UsageError, match=f"imbalance '{imbalance}': expected"):
        load(folders, imbalance=imbalance)


@pytest.mark.parametrize(("factor", "total", "smallest"), [(50, 9437, 26), (100, 6834, 13)])
def test_the_long_tail_is_sized_as_in_the_papers(folders, factor, total, smallest):
    dataset = get_dataset("imagenet-lt", folders.folder, imbalance_factor=factor)
    assert (dataset.train_size, dataset.map_cutoff) == (total, 0)
    available = np.array([1300] * 75 + [1029] * 25)  # not all of the 100 classes have 1300 images
    for seed in range(20):
        sizes = class_sizes(dataset.imbalance, available, dataset.train_size, seed)
        assert (sizes.sum(), sizes.max(), sizes.min(), sizes.max() // sizes.min()) == (total, 1300, smallest, factor)


def test_the_long_tail_is_drawn_from_folders_and_beside_published_lists(folders, root):
    dataset, splits = load(folders, "imagenet-lt")
    assert dataset.protocol == "drawn, imbalance zipf:0.845, 9437 training images, seed 0"
    assert (len(splits.query), len(splits.database), len(splits.train)) == (200, 800, 800)  # more there is not
    with pytest.raises(UsageError, match=r"imagenet-lt\.imbalance_factor=7: expected 50 or 100"):
        get_dataset("imagenet-lt", folders.folder, imbalance_factor=7)
    for part in ("train", "test", "database"):  # a skewed training list is not the one that is meant
        root.image(f"{part}.JPEG")
        root.text(f"{part}.txt", f"{part}.JPEG " + " ".join(["1"] + ["0"] * 99))
    assert get_dataset("imagenet-lt", root.folder).protocol.startswith("drawn")
    assert [*get_dataset("imagenet-lt", root.folder).load().train.ids] == ["database.JPEG"]
