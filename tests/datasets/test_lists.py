"""`lists:DIR`, and what every data set that is described by lists promises."""

import os
import shutil

import numpy as np
import pytest

from benchmark.data.audit import audit
from benchmark.data.cache import cache_dir, telling
from benchmark.errors import UsageError
from benchmark.registry import get_dataset


def test_splits_are_those_of_the_lists(root):
    folder = root.lists(classes=3, per_class=6)
    dataset = get_dataset(f"lists:{folder}")
    dataset.check()
    splits = dataset.load()
    assert [len(split) for split in splits.parts().values()] == [6, 6, 12]
    assert splits.query.ids == [f"images/{n}.png" for n in range(6)]
    assert splits.query.labels.argmax(axis=1).tolist() == [0, 1, 2, 0, 1, 2]
    assert splits.query.images[0].shape == (6, 6, 3)
    assert dataset.name == "root"
    assert dataset.backbone == "alexnet"
    assert not audit(splits, 10).errors


def test_class_numbers_and_names(root):
    folder = root.lists(classes=3)
    for part in ("train", "query", "database"):
        rows = (folder / f"{part}.txt").read_text().splitlines()
        root.text(f"{part}.txt", *(f"{row.split()[0]} {row.split()[1:].index('1')}" for row in rows))
    root.text("classes.txt", "cat", "dog", "fish")
    splits = get_dataset(f"lists:{folder}").load()
    assert splits.class_names == ["cat", "dog", "fish"]
    assert splits.query.labels.argmax(axis=1).tolist() == [0, 1, 2, 0, 1, 2]
    root.text("classes.txt", "cat", "dog")
    with pytest.raises(UsageError, match="2 class names, but the lists have 3 classes"):
        get_dataset(f"lists:{folder}").check()


def test_images_may_lie_under_the_data_root(root, tmp_path):
    folder = root.lists()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "images").rename(elsewhere / "images")
    dataset = get_dataset(f"lists:{folder}", elsewhere)
    dataset.check()
    assert dataset.load().query.images[0].shape == (6, 6, 3)
    with pytest.raises(UsageError, match="put them under"):
        get_dataset(f"lists:{folder}").check()


def test_the_revision_follows_lists_and_pixels_and_nothing_else(root, tmp_path):
    """A1: pictures replaced in place stayed done; where they lie and when they were written does not matter."""
    folder = root.lists()
    before = get_dataset(f"lists:{folder}").revision
    (folder / "images" / "0.png").touch()
    assert get_dataset(f"lists:{folder}").revision == before
    shutil.copytree(folder, tmp_path / "moved")
    assert get_dataset(f"lists:{tmp_path / 'moved'}").revision == before
    picture = folder / "images" / "0.png"
    stat = picture.stat()
    content = bytearray(picture.read_bytes())
    content[-20] ^= 1
    picture.write_bytes(content)
    os.utime(picture, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert get_dataset(f"lists:{folder}").revision != before
    root.text("train.txt", "images/8.png 0 1 0")
    assert len({before, get_dataset(f"lists:{folder}").revision}) == 2


def test_a_pipe_in_place_of_an_image_is_one_line_with_its_list_line(root):
    folder = root.lists()
    (folder / "images" / "0.png").unlink()
    os.mkfifo(folder / "images" / "0.png")
    dataset = get_dataset(f"lists:{folder}")
    assert dataset.revision
    with pytest.raises(UsageError, match=r"query.txt line 1: image .*0.png is no file"):
        dataset.load().query.images[0]
    skipped = get_dataset(f"lists:{folder}", skip_broken=True)
    assert len(skipped.load().query) == 5


def test_hashing_and_decoding_are_told(root):
    folder, heard = root.lists(), set()
    with telling(lambda what, done, total: heard.add((what, done, total))):
        get_dataset(f"lists:{folder}", skip_broken=True).load()
    assert {("hashing files", 18, 18), ("decoding images", 18, 18)} <= heard


@pytest.mark.parametrize("damage", [b"", b"[]", b"{"])
def test_a_damaged_list_of_broken_images_is_made_again(root, damage):
    """E: a damaged note was a traceback."""
    folder = root.lists()
    (folder / "images" / "0.png").write_bytes(b"no image")
    assert len(get_dataset(f"lists:{folder}", skip_broken=True).load().query) == 5
    (note,) = (cache_dir() / "broken").glob("*.note")
    note.write_bytes(damage)
    assert len(get_dataset(f"lists:{folder}", skip_broken=True).load().query) == 5


def test_missing_images_are_counted_and_the_first_is_named(root):
    folder = root.lists()
    (folder / "images" / "7.png").unlink()
    with pytest.raises(UsageError) as caught:
        get_dataset(f"lists:{folder}").check()
    assert "1 of 24 list rows have no image under" in str(caught.value)
    assert "database.txt line 2: images/7.png" in str(caught.value)
    assert "--skip-broken" in str(caught.value)


def test_broken_images_are_left_out_on_request_and_counted(root):
    folder = root.lists()
    whole = get_dataset(f"lists:{folder}", skip_broken=True)
    assert whole.load().notes == ()
    (folder / "images" / "7.png").unlink()
    (folder / "images" / "0.png").write_bytes(b"no image")
    dataset = get_dataset(f"lists:{folder}", skip_broken=True)
    dataset.check()
    splits = dataset.load()
    assert "images/7.png" not in splits.database.ids
    assert "images/0.png" not in splits.query.ids
    assert len(splits.query) == 5
    assert splits.query.labels.argmax(axis=1).tolist() == [1, 2, 0, 1, 2]
    assert "1 row of query left out: image missing or broken" in splits.notes
    assert dataset.revision != whole.revision
    for split in splits.parts().values():
        for row in range(len(split)):
            assert split.images[row].shape == (6, 6, 3)


def test_queries_in_the_database_are_found_and_can_be_dropped(root):
    folder = root.lists()
    with (folder / "database.txt").open("a") as file:
        file.write((folder / "query.txt").read_text())
    dataset = get_dataset(f"lists:{folder}")
    assert audit(dataset.load(), 10).overlap == 6
    dropped = get_dataset(f"lists:{folder}", drop_overlap=True)
    splits = dropped.load()
    assert audit(splits, 10).overlap == 0
    assert len(splits.database) == 12
    assert np.array_equal(splits.database.labels, dataset.load().database.labels[:12])
    assert "6 query rows left out of the database" in splits.notes
    assert dropped.revision != dataset.revision


def damaged(root, kind):
    folder = root.lists()
    if kind == "a list is missing":
        (folder / "database.txt").unlink()
    elif kind == "a path leaves the root":
        root.text("train.txt", "images/8.png 1 0 0", "../../etc/passwd.png 1 0 0")
    elif kind == "an absolute path to elsewhere":
        root.text("train.txt", "/etc/hostname.png 1 0 0")
    elif kind == "a list has another width":
        root.text("query.txt", "images/0.png 1 0")
    elif kind == "formats are mixed":
        root.text("query.txt", "images/0.png 1")
    elif kind == "an image is there twice":
        root.image("copy/8.png")
        root.text("train.txt", "8.png 1 0 0")
    elif kind == "a class name is there twice":
        root.text("classes.txt", "cat", "dog", "cat")
    return folder


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("a list is missing", "lacks the list file database.txt"),
        ("a path leaves the root", "train.txt line 2: path '../../etc/passwd.png' leaves the data root"),
        ("an absolute path to elsewhere", "train.txt line 1: /etc/hostname.png"),
        ("a list has another width", "query.txt line 1 has 2 labels, expected 3"),
        ("formats are mixed", "query.txt line 1 has class numbers"),
        ("an image is there twice", "train.txt line 1: path '8.png' may mean"),
        ("a class name is there twice", "classes.txt line 3: 'cat' is on line 1 already"),
    ],
)
def test_damage_is_one_line(root, kind, message):
    folder = damaged(root, kind)
    with pytest.raises(UsageError) as caught:
        get_dataset(f"lists:{folder}").check()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_spaces_in_paths(root):
    folder = root.lists()
    (folder / "images").rename(folder / "my images")
    for part in ("train", "query", "database"):
        text = (folder / f"{part}.txt").read_text()
        (folder / f"{part}.txt").write_text(text.replace("images/", "my images/"))
    dataset = get_dataset(f"lists:{folder}")
    dataset.check()
    assert dataset.load().query.images[1].shape == (6, 6, 3)


def test_a_folder_called_coco_is_not_taken_for_coco(root):
    assert get_dataset(f"lists:{root.lists('coco/')}").name == "lists:coco"


@pytest.mark.parametrize("path", ["nowhere", "~nobody-of-that-name", "x" * 5000])
def test_a_folder_that_is_not_there(path):
    with pytest.raises(UsageError, match=r"lists folder .* does not exist"):
        get_dataset(f"lists:{path}")
