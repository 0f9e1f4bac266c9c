"""cifar10, cifar100 and cifar100-lt: the splits in use, from files that are what they should be."""

import numpy as np
import pytest

from benchmark import as_multi_hot
from benchmark.data.audit import audit, audit_text
from benchmark.data.list_files import read_list
from benchmark.data.split_drawing import draw_single_label
from benchmark.errors import UsageError
from benchmark.registry import get_dataset
from tests.datasets.conftest import trust_cifar


@pytest.fixture
def cifar(root, monkeypatch):
    """Both in small: six files of 20 rows, and two of 200."""
    root.cifar(10, rows=20)
    root.cifar(100, rows=200)
    trust_cifar(monkeypatch)
    return root


def test_cifar10_is_split_as_most_papers_do(cifar):
    dataset = get_dataset("cifar10", cifar.folder, queries_per_class=2, train_size=30)
    dataset.check()
    splits = dataset.load()
    assert set(splits.query.labels.sum(axis=0)) == {2}
    assert set(splits.train.labels.sum(axis=0)) == {3}
    assert len(splits.database) == 100
    assert splits.class_names[3] == "class 3"
    found = audit(splits, 10)
    assert (found.overlap, found.train_outside_database, found.errors) == (0, 0, [])
    skewed = get_dataset("cifar10", cifar.folder, queries_per_class=2, train_size=40, imbalance="exponential:5")
    assert skewed.revision != dataset.revision
    assert len(set(skewed.load().train.labels.sum(axis=0))) > 1


def test_rows_are_those_of_the_files(cifar):
    splits = get_dataset("cifar10", cifar.folder, queries_per_class=2, train_size=30).load()
    for split in splits.parts().values():
        for row, name in enumerate(split.ids):
            assert split.images[row].shape == (32, 32, 3)
            assert (split.images[row] == int(name) // 20).all()
            assert split.labels[row].argmax() == int(name) % 20 % 10


def test_the_default_is_not_a_named_protocol(cifar):
    plain, named = get_dataset("cifar10", cifar.folder), get_dataset("cifar10", cifar.folder, protocol=59000)
    assert (plain.map_cutoff, named.map_cutoff) == (1000, 0)
    assert plain.protocol == named.protocol
    assert plain.protocol == "drawn, 100 queries per class, imbalance balanced, 5000 training images, seed 0"
    with pytest.raises(UsageError, match=r"cifar10\.protocol='5': expected 59000 or 54000 or 50000"):
        get_dataset("cifar10", cifar.folder, protocol=5)


def parts(splits):
    return {name: set(split.ids) for name, split in splits.parts().items()}


def test_the_three_splits_in_use(cifar):
    small = {"queries_per_class": 2, "train_size": 30}
    within = parts(get_dataset("cifar10", cifar.folder, protocol="59000", **small).load())
    apart = parts(get_dataset("cifar10", cifar.folder, protocol="54000", **small).load())
    assert apart["train"] == within["train"]
    assert apart["database"] == within["database"] - within["train"]
    assert within["train"] < within["database"]
    whole = parts(get_dataset("cifar10", cifar.folder, protocol="50000", queries_per_class=2).load())
    assert whole["train"] == whole["database"] == within["database"]
    with pytest.raises(UsageError, match="give train_size too"):
        get_dataset("cifar10", cifar.folder, protocol="50000", imbalance="paper")


def test_cifar100_has_its_training_rows_outside_the_database(cifar):
    dataset = get_dataset("cifar100", cifar.folder, queries_per_class=1, train_size=100)
    splits = dataset.load()
    assert {name: len(split) for name, split in splits.parts().items()} == {"query": 100, "train": 100, "database": 200}
    assert "MAP@all of a random ranking" in audit_text(audit(splits, dataset.map_cutoff))
    assert get_dataset("cifar100", cifar.folder).sizes.train_size == 10_000


def test_the_long_tail_has_the_official_parts(cifar):
    splits = get_dataset("cifar100-lt", cifar.folder).load()
    assert set(splits.query.ids) == {f"{row:05d}" for row in range(200, 400)}
    assert set(splits.database.ids) == {f"{row:05d}" for row in range(200)}
    assert set(splits.train.labels.sum(axis=0)) == {2}  # more there is not in these files
    with pytest.raises(UsageError, match=r"cifar100-lt\.imbalance_factor=10: expected 50 or 100"):
        get_dataset("cifar100-lt", cifar.folder, imbalance_factor=10)


@pytest.mark.parametrize(("factor", "total", "smallest"), [(50, 3732, 10), (100, 2598, 5)])
def test_the_long_tail_is_sized_as_in_the_papers(root, factor, total, smallest):
    drawing = get_dataset("cifar100-lt", root.folder, imbalance_factor=factor).sizes
    labels, in_test = as_multi_hot(np.arange(60_000) % 100), np.arange(60_000) >= 50_000
    drawn = draw_single_label(labels, in_test, drawing, 0)
    assert (len(drawn.query), len(drawn.database), len(drawn.train)) == (10_000, 50_000, total)
    sizes = labels[drawn.train].sum(axis=0)
    assert (sizes.max(), sizes.min(), sizes.max() // sizes.min()) == (500, smallest, factor)


def test_lists_are_written_by_row_number(cifar):
    dataset = get_dataset("cifar10", cifar.folder, queries_per_class=2, train_size=30)
    splits = dataset.load()
    for part, path in dataset.lists().items():
        rows = read_list(path, 10)
        assert [entry.removesuffix(".png") for entry in rows.entries] == list(splits.parts()[part].ids)
        np.testing.assert_array_equal(rows.labels, splits.parts()[part].labels)


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "cifar100-lt"])
def test_cifar_says_what_is_missing(cifar, name):
    folder = "cifar-10-batches-py" if name == "cifar10" else "cifar-100-python"
    last = "test_batch" if name == "cifar10" else "test"
    (cifar.folder / folder / last).unlink()
    with pytest.raises(UsageError, match=f"lacks {last}"):
        get_dataset(name, cifar.folder).check()
    assert not get_dataset(name, cifar.folder).pieces()[0].complete
    with pytest.raises(UsageError, match=rf"{folder}/ is not under .*; unpack https"):
        get_dataset(name, cifar.folder / folder).check()
    with pytest.raises(UsageError, match="needs real data"):
        get_dataset(name)


def test_cifar10_refuses_files_with_other_checksums(cifar, monkeypatch):
    monkeypatch.undo()
    dataset = get_dataset("cifar10", cifar.folder)
    with pytest.raises(UsageError, match="unpack https"):
        dataset.load()
