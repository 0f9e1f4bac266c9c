"""nus under a data root: the official image list and ground truth, and the paper's protocol drawn from
them."""

import numpy as np
import pytest

from benchmark.data.audit import audit
from benchmark.errors import UsageError
from benchmark.registry import get_dataset

SMALL = {"queries_per_class": 1, "train_size": 50}
# Concepts most of whose images were found by the concept's own word, not by another (bride for wedding).
OWN_WORDS = (
    "bridge", "cat", "cityscape", "cow", "dancing", "earthquake", "elk", "flags", "fox", "frost", "glacier", "harbor",
    "horses", "map", "moon", "protest", "railroad", "rainbow", "swimmers", "tiger", "whales", "zebra",
)  # fmt: skip


def load(root, **parameters):
    dataset = get_dataset("nus", root.folder, **{**SMALL, **parameters})
    dataset.check()
    return dataset, dataset.load()


def test_the_protocol_drawn_from_the_ground_truth(root):
    root.nus(images=400)
    dataset, splits = load(root)
    found = audit(splits, dataset.map_cutoff)
    assert (found.overlap, found.train_outside_database, found.errors) == (0, 0, [])
    assert len(splits.query) + len(splits.database) == 400
    assert found.parts["query"].unlabelled == 0
    assert found.parts["database"].unlabelled == 80
    assert splits.class_names[0] == "concept80"  # the order is that of Concepts81.txt
    assert splits.database.images[0].shape == (6, 6, 3)


def test_labels_are_those_of_the_ground_truth(root):
    root.nus(images=200)
    _, splits = load(root)
    for name, labels in zip(splits.database.ids, splits.database.labels, strict=True):
        row = int(name.rpartition("/")[2].partition("_")[0])
        expected = {row % 81, row % 7} if row % 5 else set()
        assert {80 - column for column in np.flatnonzero(labels)} == expected


def test_unlabelled_images_are_kept_or_dropped_by_a_switch(root):
    root.nus(images=200)
    _, splits = load(root, unlabelled="drop")
    assert splits.database.labels.any(axis=1).all()
    assert len(splits.query) + len(splits.database) == 160
    with pytest.raises(UsageError, match=r"nus.unlabelled='perhaps': expected keep or drop"):
        load(root, unlabelled="perhaps")


def damaged(root, kind):
    root.nus(images=100)
    truth = root.folder / "Groundtruth" / "AllLabels"
    if kind == "a concept is missing":
        (truth / "Labels_concept07.txt").unlink()
    elif kind == "a line is missing":
        path = truth / "Labels_concept07.txt"
        path.write_text("\n".join(path.read_text().splitlines()[1:]))
    elif kind == "a value is wrong":
        path = truth / "Labels_concept07.txt"
        path.write_text("\n".join(["2", *path.read_text().splitlines()[1:]]))
    elif kind == "a concept twice":
        path = root.folder / "ConceptsList" / "Concepts81.txt"
        path.write_text(path.read_text() + "concept07\n")
    elif kind == "no image list":
        (root.folder / "ImageList" / "Imagelist.txt").unlink()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("a concept is missing", "80 of 81 ground-truth files, the first missing is Labels_concept07.txt"),
        ("a line is missing", "Labels_concept07.txt has 99 lines, expected 100 as in Imagelist.txt"),
        ("a value is wrong", "Labels_concept07.txt line 1: '2', expected 0 or 1"),
        ("a concept twice", "Concepts81.txt line 82: 'concept07' is on line 74 already"),
        ("no image list", "these are missing: ImageList/Imagelist.txt"),
    ],
)
def test_damage_is_one_line(root, kind, message):
    damaged(root, kind)
    with pytest.raises(UsageError) as caught:
        load(root)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_columns_of_the_published_lists_are_in_the_order_of_the_alphabet(paper_lists):
    """Images are numbered by the word they were found by: those of a column crowd at its name's place."""
    dataset = get_dataset("nus", paper_lists)
    names = list(dataset.listed_names)
    assert dataset.splits.class_names == dataset.listed_names
    assert names == sorted(set(names))
    assert len(names) == dataset.classes
    rows = [line.split() for line in (paper_lists / "nuswide_81" / "test.txt").read_text().splitlines()]
    numbers = np.array([int(path.rpartition("/")[2].partition("_")[0]) for path, *_ in rows])
    labels = np.array([digits for _, *digits in rows], np.int64)
    crowds = []
    for name in OWN_WORDS:
        own = np.sort(numbers[labels[:, names.index(name)] == 1])
        size = len(own) // 5
        crowds.append(int(own[np.argmin(own[size:] - own[:-size])]))  # the fifth of them that lies closest together
    assert crowds == sorted(crowds)
    assert labels.sum(axis=0).argmax() == names.index("sky")


def test_nus21_has_the_most_frequent_concepts_in_their_order(root):
    root.nus(images=400)
    dataset = get_dataset("nus21", root.folder, queries_per_class=2, train_per_class=3)
    dataset.check()
    splits = dataset.load()
    held = {f"concept{column:02d}": sum(row % 5 > 0 and (row % 81 == column or row % 7 == column) for row in range(400))
            for column in range(81)}  # fmt: skip
    listed = sorted(held, reverse=True)  # the order of Concepts81.txt
    frequent = sorted(listed, key=lambda name: -held[name])[:21]  # sorting keeps the order of what is alike
    assert splits.class_names == [name for name in listed if name in frequent]
    for name, labels in zip(splits.database.ids, splits.database.labels, strict=True):
        row = int(name.rpartition("/")[2].partition("_")[0])
        own = {f"concept{row % 81:02d}", f"concept{row % 7:02d}"} & set(frequent)
        assert {splits.class_names[column] for column in np.flatnonzero(labels)} == own != set()
    assert (splits.query.labels.sum(axis=0) >= np.minimum(2, splits.database.labels.sum(axis=0) // 2)).all()
    assert set(splits.train.ids) < set(splits.database.ids)


def test_nus21_takes_no_lists_of_81_concepts_for_its_own(root):
    root.nus(images=200)
    for part in ("train", "test", "database"):
        root.text(f"nuswide_81/{part}.txt", "Flickr/folder0/0000_0.jpg " + " ".join(["0"] * 81))
    assert get_dataset("nus", root.folder).protocol == "published lists"
    dataset = get_dataset("nus21", root.folder)
    told = "drawn, 100 queries per class, 500 training images per class, unlabelled drop, seed 0"
    assert dataset.protocol == told
    for part in ("train", "test", "database"):
        root.text(f"nuswide_21/{part}.txt", "Flickr/folder0/0000_0.jpg " + " ".join(["1"] * 21))
    published = get_dataset("nus21", root.folder)
    assert published.protocol == "published lists"
    assert published.load().train.labels.shape == (1, 21)


def test_the_other_draw_of_all_concepts(root):
    root.nus(images=200)
    dataset = get_dataset("nus", root.folder, protocol="m", queries=30, train_size=50)
    splits = dataset.load()
    assert (len(splits.query), len(splits.train), len(splits.database)) == (30, 50, 170)
    assert get_dataset("nus", root.folder, protocol="m").sizes.queries == 5000
