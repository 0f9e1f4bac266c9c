"""coco under a data root: published lists, annotation files, and the paper's protocol drawn from them."""

import json
import os

import numpy as np
import pytest

from benchmark.data.audit import audit
from benchmark.errors import UsageError
from benchmark.registry import get_dataset

SMALL = {"queries_per_class": 1, "train_size": 60}


def load(root, **parameters):
    dataset = get_dataset("coco", root.folder, **{**SMALL, **parameters})
    dataset.check()
    return dataset, dataset.load()


def test_without_a_data_root_the_miniature_stands_in():
    assert get_dataset("coco").name == "coco-mini"


def test_the_protocol_drawn_from_annotations(root):
    root.coco(images=200)
    dataset, splits = load(root)
    found = audit(splits, dataset.map_cutoff)
    assert (found.overlap, found.train_outside_database, found.errors) == (0, 0, [])
    assert len(splits.train) == 60
    assert len(splits.query) + len(splits.database) == 360  # 400 less every tenth, which has no label
    assert splits.query.labels.shape[1] == 80
    assert splits.class_names[:2] == ["thing 1", "thing 4"]
    assert splits.query.images[0].shape == (6, 6, 3)
    assert dataset.map_cutoff == 5000
    assert not dataset.miniature


def test_labels_are_those_of_the_annotations(root):
    root.coco(images=100)
    _, splits = load(root)
    for name, labels in zip(splits.database.ids, splits.database.labels, strict=True):
        number = int(name.rpartition("_")[2].removesuffix(".jpg"))
        assert set(np.flatnonzero(labels)) == {number % 80, number * 3 % 80}


def test_draws_repeat_and_seeds_differ(root):
    root.coco(images=100)
    (one, a), (two, b), (other, c) = load(root), load(root), load(root, split_seed=1)
    assert one.revision == two.revision != other.revision
    assert a.query.ids == b.query.ids != c.query.ids
    assert one.protocol != other.protocol


def test_drawn_lists_can_be_read_again(root):
    root.coco(images=100)
    dataset, splits = load(root)
    folder = dataset.lists()["train"].parent
    again = get_dataset(f"lists:{folder}", root.folder)
    again.check()
    for part, split in again.load().parts().items():
        assert split.ids == splits.parts()[part].ids
        assert np.array_equal(split.labels, splits.parts()[part].labels)
    told = json.loads((folder / "lists.json").read_text())
    assert set(told["sha256"]) == {"train.txt", "query.txt", "database.txt", "classes.txt"}
    assert told["made from"]["split_seed"] == 0


def test_damaged_drawn_lists_are_drawn_again(root):
    root.coco(images=100)
    dataset, splits = load(root)
    dataset.lists()["train"].write_text("gone\n")
    _, again = load(root)
    assert again.train.ids == splits.train.ids


def test_published_lists_come_first_and_match_by_base_name(root):
    root.coco(images=60)
    names = sorted(path.name for path in (root.folder / "train2014").iterdir())
    row = " ".join(["1"] + ["0"] * 79)
    root.text("coco/train.txt", *(f"/home/x/train2014/{n} {row}" for n in names[20:40]))
    root.text("coco/test.txt", *(f"./elsewhere/{n} {row}" for n in names[:20]))
    root.text("coco/database_hashnet.txt", *(f"./data/{n} {row}" for n in names))
    dataset, splits = load(root)
    assert dataset.protocol == "published lists"
    assert [len(split) for split in splits.parts().values()] == [20, 20, 60]
    assert audit(splits, 5000).overlap == 20
    _, clean = load(root, drop_overlap=True)
    assert audit(clean, 5000).overlap == 0
    root.text("coco/database.txt", *(f"./data/{n} {row}" for n in names[20:]))
    assert len(load(root)[1].database) == 40


def test_a_query_list_without_a_database_can_only_be_audited(root):
    root.coco(images=20)
    row = " ".join(["1"] + ["0"] * 79)
    root.text("train.txt", f"COCO_train2014_000000000001.jpg {row}")
    root.text("test.txt", f"COCO_train2014_000000000002.jpg {row}")
    dataset = get_dataset("coco", root.folder)
    assert "the training list stands in" in audit(dataset.load(), 10).notes[0]
    with pytest.raises(UsageError, match=r"no database list; expected database.txt or database_hashnet.txt"):
        dataset.check()


def test_everything_missing_is_named_at_once(root):
    with pytest.raises(UsageError) as caught:
        get_dataset("coco", root.folder).check()
    for name in ("instances_train2014.json", "instances_val2014.json", "train2014/", "val2014/", "13 GB", "prepare"):
        assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_images_need_a_decision(root):
    root.coco(images=100)
    for name in list((root.folder / "val2014").iterdir())[:7]:
        name.unlink()
    with pytest.raises(UsageError, match=r"of \d+ list rows have no image under") as caught:
        load(root)
    assert "or leave them out by --skip-broken" in str(caught.value)
    _, splits = load(root, skip_broken=True)
    assert "7 of 200 images are missing, left out before drawing" in splits.notes
    assert "20 of 200 images have no label, left out before drawing" in audit(splits, 5000).notes
    for row in range(len(splits.database)):
        assert splits.database.images[row].shape == (6, 6, 3)


def change(told, kind):
    if kind == "a category twice":
        told["categories"][5]["name"] = told["categories"][4]["name"]
    elif kind == "an unknown image":
        told["annotations"].append({"image_id": -5, "category_id": 1})
    elif kind == "no images":
        del told["images"]
    elif kind == "an image id twice":
        told["images"][1]["id"] = told["images"][0]["id"]
    elif kind == "other categories":
        told["categories"].pop()
    return json.dumps(told)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("a category twice", "category 'thing 13' is described twice"),
        ("an unknown image", "image -5 or category 1 is not described"),
        ("no images", "not in the format of COCO instances"),
        ("an image id twice", "an image id is used twice"),
        ("other categories", "other categories than in its twin"),
        ("cut short", "line 1: no valid JSON"),
    ],
)
def test_damaged_annotations_are_one_line(root, kind, message):
    root.coco(images=30)
    path = root.folder / "annotations" / "instances_val2014.json"
    text = path.read_text()
    path.write_text(text[:1000] if kind == "cut short" else change(json.loads(text), kind))
    with pytest.raises(UsageError) as caught:
        load(root)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_few_images_for_the_training_set(root):
    root.coco(images=30)
    with pytest.raises(UsageError, match="too few for 10,000 training images"):
        load(root, train_size=10_000)


def test_the_revision_covers_the_pixels(root):
    """A1: pictures replaced in place stayed done."""
    root.coco(images=100)
    one, _ = load(root)
    root.image("train2014/COCO_train2014_000000000001.jpg")
    two, _ = load(root)
    assert one.revision != two.revision


@pytest.mark.parametrize("what", ["classes.txt", "train.txt", "lists.json"])
def test_any_damaged_file_of_drawn_lists_is_made_again(root, what):
    root.coco(images=100)
    dataset, splits = load(root)
    (dataset.lists()["train"].parent / what).write_text("[1]")
    _, again = load(root)
    assert again.train.ids == splits.train.ids
    assert again.class_names == splits.class_names


def test_a_pipe_in_place_of_annotations_is_one_line(root):
    root.coco(images=30)
    path = root.folder / "annotations" / "instances_val2014.json"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UsageError, match=r"instances_val2014.json is no file"):
        load(root)


def test_columns_of_the_published_lists_are_named_as_the_images_show(paper_lists, shared_data):
    """The labelled images beside the lists carry names, and have the lists' labels."""
    folder = paper_lists / "coco"
    dataset = get_dataset("coco", paper_lists)
    assert dataset.splits.class_names == dataset.listed_names
    assert (dataset.listed_names[1], dataset.listed_names[10], len(dataset.listed_names)) == ("apple", "bird", 80)
    with np.load(shared_data / "coco_images.npz") as images:
        assert list(images["class_name"]) == list(dataset.listed_names)
        labels = dict(zip(images["image_id"].tolist(), images["label"], strict=True))
    seen = 0
    for line in (folder / "test.txt").read_text().splitlines():
        path, *digits = line.split()
        number = int(path[-16:-4])
        if number in labels:
            seen += 1
            assert (labels[number] == np.array(digits, np.uint8)).all()
    assert seen > 50
