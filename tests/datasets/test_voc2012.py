"""voc2012: the image sets of trainval, one file per class."""

import numpy as np
import pytest

from benchmark.errors import UsageError
from benchmark.registry import get_dataset

SMALL = {"queries": 6, "train_size": 20}
MAIN = "VOCdevkit/VOC2012/ImageSets/Main"


def test_labels_are_those_of_the_image_sets(root):
    root.voc(images=60)
    dataset = get_dataset("voc2012", root.folder, **SMALL)
    dataset.check()
    splits = dataset.load()
    assert dataset.map_cutoff == 0
    assert splits.class_names == [f"class{column:02d}" for column in range(20)]
    seen = []
    for split in splits.parts().values():
        for name, labels in zip(split.ids, split.labels, strict=True):
            number = int(name[-10:-4])
            seen.append(number)
            expected = {number % 20} | ({3} if number % 4 == 0 else set())  # what is difficult to see does not count
            assert set(np.flatnonzero(labels)) == expected
    assert sorted(seen) == list(range(60))
    assert (len(splits.query), len(splits.train), len(splits.database)) == (6, 20, 34)


def test_the_official_sizes_are_the_default(root):
    root.voc(images=30)
    told = "drawn, 1000 queries, 4000 training images outside the database, unlabelled keep, seed 0"
    assert get_dataset("voc2012", root.folder).protocol == told
    with pytest.raises(UsageError, match="30 images remain, too few for 1,000 queries"):
        get_dataset("voc2012", root.folder).check()


def test_damage_is_one_line(root):
    root.voc(images=30)
    root.text(f"{MAIN}/class04_trainval.txt", "2008_000000 -1", "2008_000001 2")
    with pytest.raises(UsageError, match=r"class04_trainval\.txt line 2: '2008_000001 2', expected an image and 1, 0"):
        get_dataset("voc2012", root.folder, **SMALL).check()
    root.text(f"{MAIN}/class04_trainval.txt", "2008_000000 -1")
    with pytest.raises(UsageError, match=r"class04_trainval\.txt names other images than class00"):
        get_dataset("voc2012", root.folder, **SMALL).check()
    (root.folder / MAIN / "class04_trainval.txt").unlink()
    with pytest.raises(UsageError, match=r"has 19 of 20 files \*_trainval\.txt"):
        get_dataset("voc2012", root.folder, **SMALL).check()


def test_what_is_missing_is_named(root):
    with pytest.raises(UsageError, match=r"missing: VOCdevkit.*_trainval\.txt .*JPEGImages/ \(2 GB, http"):
        get_dataset("voc2012", root.folder).check()
