"""mirflickr: 24 annotations and 14 strict ones, read from the official files."""

import numpy as np
import pytest

from benchmark.errors import UsageError
from benchmark.registry import get_dataset

SMALL = {"queries": 6, "train_size": 20}


def test_labels_are_those_of_the_annotations(root):
    root.mirflickr(images=60)
    dataset = get_dataset("mirflickr", root.folder, **SMALL)
    dataset.check()
    splits = dataset.load()
    assert dataset.map_cutoff == 0
    assert len(splits.class_names) == 38
    seen = []
    for split in splits.parts().values():
        for name, labels in zip(split.ids, split.labels, strict=True):
            number = int(name.rpartition("/")[2].removeprefix("im").removesuffix(".jpg"))
            seen.append(number)
            thing = f"thing{number % 24:02d}"
            strict = {f"{thing}_r1"} if number % 24 < 14 and number % 2 == 0 else set()
            expected = {thing} | strict if number % 10 else set()
            assert {splits.class_names[column] for column in np.flatnonzero(labels)} == expected
    assert sorted(seen) == list(range(1, 61))  # every image once: training rows are not in the database
    assert (len(splits.query), len(splits.train), len(splits.database)) == (6, 20, 34)


def test_unannotated_images_are_left_out_by_the_other_protocol(root):
    root.mirflickr(images=60)
    splits = get_dataset("mirflickr", root.folder, protocol=19581, **SMALL).load()
    assert sum(map(len, splits.parts().values())) == 54
    assert all(split.labels.any(axis=1).all() for split in splits.parts().values())


def test_more_images_are_another_drawing(root):
    root.mirflickr(images=60)
    before = get_dataset("mirflickr", root.folder, **SMALL).revision
    root.image("mirflickr/im61.jpg")
    again = get_dataset("mirflickr", root.folder, **SMALL)
    assert again.revision != before
    assert sum(map(len, again.load().parts().values())) == 61


@pytest.mark.parametrize("line", ["0", "25001", "x", "-3", "\u0661"])
def test_a_wrong_line_is_named(root, line):
    root.mirflickr(images=30)
    root.text("mirflickr25k_annotations_v080/thing03.txt", "3", line)
    with pytest.raises(UsageError, match=r"thing03\.txt line 2: .*expected a number from 1 to 25,000"):
        get_dataset("mirflickr", root.folder, **SMALL).check()


def test_what_is_missing_is_named(root):
    root.mirflickr(images=30)
    (root.folder / "mirflickr25k_annotations_v080" / "thing03.txt").unlink()
    with pytest.raises(UsageError, match="has 37 of 38 annotation files"):
        get_dataset("mirflickr", root.folder, **SMALL).check()
    (root.folder / "mirflickr" / "im7.jpg").unlink()
    empty = root.folder / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match=r"missing: im1\.jpg \.\.\. im25000\.jpg .*annotations_v080/\*\.txt"):
        get_dataset("mirflickr", empty).check()


def test_an_image_that_is_annotated_but_not_there_is_told(root):
    root.mirflickr(images=40)
    (root.folder / "mirflickr" / "im7.jpg").unlink()
    with pytest.raises(UsageError, match=r"1 of 40 list rows have no image .*im7\.jpg"):
        get_dataset("mirflickr", root.folder, **SMALL).check()
