"""Every customary form of labels becomes the same multi-hot array; what could be read in two ways is never guessed."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmark import UsageError, as_multi_hot
from benchmark.labels import LabelLists, class_count, read_labels

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def slow_multi_hot(rows, classes):
    return [[number in row for number in range(classes)] for row in rows]


@given(st.lists(st.integers(-1, 100), min_size=1, max_size=20), st.sampled_from([*INTEGERS, np.float32, np.float64]))
def test_class_numbers_of_any_type_mean_the_same(numbers, kind):
    """A9: unsigned labels crashed; a column (n, 1) was taken for multi-hot of one class."""
    if np.dtype(kind).kind == "u":
        numbers = [max(0, number) for number in numbers]
    expected = slow_multi_hot([[number] for number in numbers], max(numbers) + 1)
    array = np.array(numbers, kind)
    assert as_multi_hot(array).tolist() == expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column of 0 and 1 is read alike, with a warning
        assert as_multi_hot(array[:, None]).tolist() == expected
    assert class_count(array) == max(numbers) + 1


ROWS = [[0, 3], [1], [], [2, 0, 1]]
RAGGED = {
    "lists": ROWS,
    "tuples": tuple(map(tuple, ROWS)),
    "sets": [set(row) for row in ROWS],
    "arrays": [np.array(row, np.uint8) for row in ROWS],
    "object array": np.array([np.array(row) for row in ROWS], object),
    "tensors": [torch.tensor(row) for row in ROWS],
    "series": pd.Series(ROWS),
    "padded": [[0, 3, -1], [1], [-1], [2, 0, 1]],
    "read before": read_labels(ROWS),
}


@pytest.mark.parametrize("labels", RAGGED.values(), ids=RAGGED)
def test_lists_of_class_numbers_are_multi_label(labels):
    assert as_multi_hot(labels).tolist() == slow_multi_hot(ROWS, 4)
    assert class_count(labels) == 4


@given(st.lists(st.lists(st.integers(-1, 5), max_size=4), max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_part_of_the_lists_is_the_part_of_the_rows(rows, first, last):
    lists = LabelLists.of([np.array(row) for row in rows])
    part = as_multi_hot(lists[first:last], 6)
    assert part.tolist() == slow_multi_hot(rows[first:last], 6)


def test_lists_of_one_length_are_class_numbers_unless_they_hold_0_and_1_only():
    assert as_multi_hot([[0, 2], [1, 3]]).tolist() == slow_multi_hot([[0, 2], [1, 3]], 4)
    assert as_multi_hot([[0, 1], [1, 1]]).tolist() == [[False, True], [True, True]]
    assert as_multi_hot([{0, 1}, {1}]).tolist() == [[True, True], [False, True]]
    assert as_multi_hot([[3], [1]]).tolist() == slow_multi_hot([[3], [1]], 4)


@pytest.mark.parametrize("kind", [bool, np.uint8, np.float64])
def test_multi_hot_stays_multi_hot(kind):
    hot = np.array([[1, 0, 1], [0, 0, 0]], kind)
    assert as_multi_hot(hot).tolist() == [[True, False, True], [False] * 3]
    assert as_multi_hot(torch.from_numpy(hot)).tolist() == [[True, False, True], [False] * 3]


def test_what_comes_out_goes_in_unchanged():
    """One class too: a column of bool is multi-hot, whatever a column of numbers is."""
    once = as_multi_hot([0, -1, 0])
    assert once.shape == (3, 1)
    assert as_multi_hot(once).tolist() == once.tolist()
    assert as_multi_hot(once, 1).tolist() == once.tolist()


def test_one_column_of_0_and_1_is_class_numbers_and_says_so():
    """A9: the one form that could be meant in two ways is never read silently."""
    column = np.array([[0], [1], [0]], np.uint8)
    with pytest.warns(UserWarning, match="read as class numbers"):
        assert as_multi_hot(column).tolist() == [[True, False], [False, True], [True, False]]
    with pytest.raises(UsageError, match="class numbers or multi-hot; give bool"):
        as_multi_hot(column, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_multi_hot(column, 2)  # two classes: class numbers without doubt
        as_multi_hot(column.reshape(-1))
        as_multi_hot(column.astype(bool))
        as_multi_hot(column + 1)


def test_other_classes_can_be_dropped():
    expected = [[True, False], [False, False], [False, True]]
    for labels in ([0, 7, 1], np.array([0, 2**64 - 1, 1], np.uint64), [[0, 9], [5], [1]], np.array([0, 1e300, 1])):
        assert as_multi_hot(labels, 2, drop_others=True).tolist() == expected


@pytest.mark.parametrize(
    ("labels", "classes", "fault"),
    [
        ([0.5, 1.0], None, "integers"),
        ([np.nan, 1.0], None, "nan among them, not integers"),
        ([np.inf, 1.0], None, "inf among them, not integers"),
        ([-2, 0], None, "-1"),
        ([3], 3, "less than 3"),
        (np.array([3], np.uint8), 3, "less than 3"),
        ([10**9], None, "class number 1000000000, expected numbers from 0 up"),
        ([[10**9, 3], [1]], None, "class number 1000000000"),
        (np.array([2**64 - 1], np.uint64), None, "class number"),
        ([10**9], 10**9 + 1, "number the classes anew"),
        (np.array([[0, 2]]), None, "0 and 1"),
        (np.array([[0, np.nan]]), None, "0 and 1"),
        (np.array([[0, 1]]), 3, "expected 3"),
        ([[[1]]], None, "dimensions"),
        (np.array(3), None, "dimensions"),
        ([[1], [[2], [3]]], None, "lists within lists"),
        ([[1], 2], None, "2 among rows that are lists"),
        ([True, False], None, "bool"),
        (["cat", "dog"], None, "names become numbers"),
        ([["cat"], ["dog", "cow"]], None, "integers"),
        ([None, 1], None, "type object"),
        ("cat", None, "type"),
        ([[1.5], [2, 3]], None, "1.5 among them"),
        ([1 + 2j], None, "type complex"),
    ],
)
def test_bad_labels_are_named(labels, classes, fault):
    with pytest.raises(UsageError, match=fault):
        as_multi_hot(labels, classes)
