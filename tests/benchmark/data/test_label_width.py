"""How many classes can be held. E: class number 10^9 asked for a table of a thousand gigabytes."""

import numpy as np
import pytest

from benchmark.data.label_width import MAX_CLASS, check_width
from benchmark.errors import UsageError
from benchmark.registry import get_dataset


def test_any_real_data_set_fits():
    check_width("x", 21_841, 1000)
    check_width("x", 1000, 10_000)


@pytest.mark.parametrize(("classes", "rows"), [(MAX_CLASS + 1, 1), (10**9, 3), (MAX_CLASS, 10**12)])
def test_an_absurd_table_is_one_line(classes, rows):
    with pytest.raises(UsageError, match="too many to hold; class numbers run from 0 without gaps"):
        check_width("x", classes, rows)


@pytest.mark.parametrize("number", [10**9, 2**31, 2**62])
def test_an_absurd_class_number_in_a_features_file(tmp_path, number):
    parts = {f"{part}_features": np.ones((2, 3)) for part in ("train", "query", "database")}
    labels = {f"{part}_labels": np.array([0, number]) for part in ("train", "query", "database")}
    np.savez(tmp_path / "f.npz", **parts, **labels)
    with pytest.raises(UsageError, match=r"too many to hold|less than 1000000"):
        get_dataset(f"features:{tmp_path / 'f.npz'}").check()


@pytest.mark.parametrize("number", ["1000000000", "99999", "9" * 5000])
def test_an_absurd_class_number_in_a_list(tmp_path, number):
    for part in ("train", "query", "database"):
        (tmp_path / f"{part}.txt").write_text(f"a.jpg {number}\n" * 3)
    dataset = get_dataset(f"lists:{tmp_path}")
    if number == "99999":  # large, but it can be held
        assert dataset.splits.load().train.labels.shape == (3, 100_000)
        return
    with pytest.raises(UsageError, match=r"train.txt line 1: class number \d+, expected -1"):
        dataset.check()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, np.int8])
@pytest.mark.parametrize("column", [False, True])
def test_class_numbers_of_any_integer_type_and_as_a_column(tmp_path, dtype, column):
    """A9: unsigned labels, which people have, crashed features:."""
    rows = {f"{part}_features": np.ones((4, 3)) for part in ("train", "query", "database")}
    numbers = np.array([0, 1, 2, 1], dtype)
    labels = {f"{part}_labels": numbers[:, None] if column else numbers for part in ("train", "query", "database")}
    np.savez(tmp_path / "f.npz", **rows, **labels)
    splits = get_dataset(f"features:{tmp_path / 'f.npz'}").load()
    assert splits.query.labels.argmax(axis=1).tolist() == [0, 1, 2, 1]
