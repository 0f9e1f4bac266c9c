"""Real Tiny-ImageNet images, laid out as class folders and as lists of class numbers, under the paper's skew."""

import numpy as np
import pytest

from benchmark.data.audit import audit
from benchmark.registry import get_dataset

QUERIES, DATABASE = 2, 8  # of the 50 and 150 images per class


@pytest.fixture(scope="module")
def tiny(shared_data, tmp_path_factory):
    """The first images of each class as train/WNID/NAME and val/WNID/NAME; (folder, entries of both parts)."""
    folder = tmp_path_factory.mktemp("tiny")
    with np.load(shared_data / "tiny100_images.npz") as arrays:
        jpeg, offset, label, split = (arrays[name] for name in ("jpeg", "offset", "label", "split"))
        names, wnids = arrays["filename"], arrays["wnid"]
    entries = {0: [], 1: []}
    for part, kind, count in ((0, "val", QUERIES), (1, "train", DATABASE)):
        for number, wnid in enumerate(wnids):
            (folder / kind / wnid).mkdir(parents=True)
            for row in np.flatnonzero((label == number) & (split == part))[:count]:
                path = f"{kind}/{wnid}/{names[row]}"
                (folder / path).write_bytes(jpeg[offset[row] : offset[row + 1]].tobytes())
                entries[part].append(f"{path} {number}")
    return folder, entries


def test_as_class_folders_with_the_papers_skew(tiny):
    folder, _ = tiny
    dataset = get_dataset(f"folder:{folder / 'train'}", queries_per_class=2, train_size=180, imbalance="paper")
    dataset.check()
    splits = dataset.load()
    found = audit(splits, dataset.map_cutoff)
    assert found.classes == 100
    assert not found.errors
    assert (len(splits.query), len(splits.database)) == (200, 600)
    counts = sorted(found.parts["train"].class_counts, reverse=True)
    assert counts[0] == 6  # all that the largest class has
    assert counts[-1] == 1
    for row in range(0, 600, 97):
        assert splits.database.images[row].shape == (64, 64, 3)


def test_as_lists_of_class_numbers(tiny):
    folder, entries = tiny
    for name, rows in (("query", entries[0]), ("database", entries[1]), ("train", entries[1][::3])):
        (folder / f"{name}.txt").write_text("\n".join(rows) + "\n")
    dataset = get_dataset(f"lists:{folder}")
    dataset.check()
    found = audit(dataset.load(), 1000)
    assert {name: part.rows for name, part in found.parts.items()} == {"train": 267, "query": 200, "database": 800}
    assert found.overlap == found.train_outside_database == 0
    # 8 relevant of 800, all of them within the first 800: the mean of (H + 7/799 (800 - H)) / 800 over all orders.
    harmonic = sum(1 / n for n in range(1, 801))
    assert found.chance_map == pytest.approx((harmonic + 7 / 799 * (800 - harmonic)) / 800)
