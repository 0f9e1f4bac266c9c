"""cifar10: split as most papers do, from files that are what they should be."""

import pickle

import numpy as np
import pytest

from benchmark.data.audit import audit
from benchmark.errors import UsageError
from benchmark.registry import get_dataset


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
