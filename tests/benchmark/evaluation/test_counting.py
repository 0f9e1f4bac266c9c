"""Counts are compared with two nested loops, integer by integer."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.errors import InvalidCodes, UsageError
from benchmark.evaluation.codes import pack
from benchmark.evaluation.counting import Counts, count


def slow_counts(query, database, query_labels, database_labels, graded=False):
    most = max(1, int(query_labels.sum(axis=1).max())) if graded else 1
    counts = np.zeros((len(query), query.shape[1] + 1, most + 1), int)
    for i in range(len(query)):
        for j in range(len(database)):
            shared = int((query_labels[i] & database_labels[j]).sum())
            counts[i, (query[i] != database[j]).sum(), shared if graded else min(shared, 1)] += 1
    return counts


def random_case(seed, bits, queries, items, classes, share):
    random = np.random.default_rng(seed)
    codes = [np.where(random.random((n, bits)) < 0.5, -1, 1).astype(np.int8) for n in (queries, items)]
    labels = [random.random((n, classes)) < share for n in (queries, items)]
    return codes[0], codes[1], labels[0], labels[1]


cases = st.builds(
    random_case,
    st.integers(0, 2**32),
    st.one_of(st.integers(1, 70), st.sampled_from([100, 127, 128, 129, 256, 512])),
    st.integers(1, 4),
    st.integers(0, 80),
    st.sampled_from([1, 2, 5, 70]),
    st.sampled_from([0.0, 0.05, 0.4, 1.0]),
)


@given(cases, st.booleans())
@settings(max_examples=100, deadline=None)
def test_without_its_own_entry_a_query_is_compared_with_all_others(case, graded):
    codes, rest, labels, rest_labels = case
    both = np.concatenate([codes, rest]), np.concatenate([labels, rest_labels])
    found = count(codes, both[0], labels, both[1], graded=graded).without_own()
    for i in range(len(codes)):
        others = np.arange(len(both[0])) != i
        expected = slow_counts(codes, both[0][others], labels, both[1][others], graded=graded)[i]
        np.testing.assert_array_equal(found.counts[i], expected)


@given(cases, st.booleans())
@settings(max_examples=200, deadline=None)
def test_counts_are_those_of_two_loops(case, graded):
    np.testing.assert_array_equal(count(*case, graded=graded).counts, slow_counts(*case, graded=graded))


@given(cases, st.integers(0, 80))
@settings(max_examples=60, deadline=None)
def test_counts_add_over_the_database(case, cut):
    query, database, query_labels, database_labels = case
    parts = [
        count(query, database[part], query_labels, database_labels[part]) for part in (slice(cut), slice(cut, None))
    ]
    np.testing.assert_array_equal((parts[0] + parts[1]).counts, count(*case).counts)


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_class_numbers_mean_the_same_as_multi_hot(seed, items):
    random = np.random.default_rng(seed)
    query, database, *_ = random_case(seed, 6, 3, items, 1, 0)
    numbers = [random.integers(-1, 5, n) for n in (3, items)]
    hot = [np.arange(5) == number[:, None] for number in numbers]
    expected = slow_counts(query, database, *hot)
    for query_labels in (numbers[0], hot[0]):
        for database_labels in (numbers[1], hot[1]):
            np.testing.assert_array_equal(count(query, database, query_labels, database_labels).counts, expected)


def test_alphabets_and_packing_count_alike():
    query, database, *labels = random_case(1, 12, 3, 50, 4, 0.3)
    expected = count(query, database, *labels).counts
    np.testing.assert_array_equal(count(query > 0, database.astype(float), *labels).counts, expected)
    np.testing.assert_array_equal(count(pack(query), pack(database), *labels, bits=12).counts, expected)


NUMBERS = np.array([4, 0, 2]), np.array([0, 4, 4, 7, 2, 0, 1])
COLUMN_FORMS = {
    "column": lambda numbers: numbers[:, None],
    "unsigned": lambda numbers: numbers.astype(np.uint8),
    "unsigned column": lambda numbers: numbers[:, None].astype(np.uint8),
    "real": lambda numbers: numbers.astype(np.float32),
    "tensor": torch.from_numpy,
    "bfloat16 column": lambda numbers: torch.from_numpy(numbers[:, None]).bfloat16(),
    "series": lambda numbers: pd.Series(numbers, index=numbers + 5),
    "list": lambda numbers: numbers.tolist(),
    "lists": lambda numbers: [[number] for number in numbers.tolist()],
    "sets": lambda numbers: [{number} for number in numbers.tolist()],
}


@pytest.mark.parametrize("form", COLUMN_FORMS.values(), ids=COLUMN_FORMS)
@pytest.mark.parametrize("other", [None, *COLUMN_FORMS.values()], ids=["plain", *COLUMN_FORMS])
def test_every_form_of_class_numbers_counts_alike(form, other):
    """A9: (n, 1) class numbers were taken for multi-hot of one class, and unsigned ones crashed."""
    query, database, *_ = random_case(3, 8, 3, 7, 1, 0)
    hot = [np.arange(8) == numbers[:, None] for numbers in NUMBERS]
    expected = slow_counts(query, database, *hot)
    for query_form, database_form in ((form, other), (other, form)):
        labels = [
            numbers if one is None else one(numbers)
            for one, numbers in zip((query_form, database_form), NUMBERS, strict=True)
        ]
        np.testing.assert_array_equal(count(query, database, *labels).counts, expected)


@given(st.integers(0, 2**32), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_ragged_lists_count_as_their_multi_hot(seed, items):
    query, database, *hot = random_case(seed, 6, 3, items, 5, 0.4)
    lists = [[np.flatnonzero(row) for row in labels] for labels in hot]
    sets = [[set(row.tolist()) for row in rows] for rows in lists]
    expected = slow_counts(query, database, *hot, graded=True)
    for labels in (sets, [sets[0], hot[1]], [hot[0], sets[1]]):
        np.testing.assert_array_equal(count(query, database, *labels, graded=True).counts, expected)


def test_codes_of_one_bit_are_told_from_packed_ones():
    """A9, a relative: 0 and 1 of one bit were taken for packed bytes where `bits=1` was given, all of them alike."""
    codes = np.array([[0], [1]], np.uint8)
    expected = count(codes, codes, [0, 1], [0, 1]).counts
    np.testing.assert_array_equal(count(codes, codes, [0, 1], [0, 1], bits=1).counts, expected)
    np.testing.assert_array_equal(count(codes << 7, codes << 7, [0, 1], [0, 1], bits=1).counts, expected)
    np.testing.assert_array_equal(count(codes * 2.0 - 1, codes, [0, 1], [0, 1], bits=1).counts, expected)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_tensors_count_like_arrays(kind, requires_grad):
    query, database, *labels = random_case(1, 12, 3, 50, 4, 0.3)
    tensors = [torch.tensor(codes, dtype=kind, requires_grad=requires_grad) for codes in (query, database)]
    found = count(*tensors, *map(torch.from_numpy, labels)).counts
    np.testing.assert_array_equal(found, count(query, database, *labels).counts)
    np.testing.assert_array_equal(count(list(tensors[0]), tensors[1], *labels).counts, found)


def test_the_queries_labels_are_kept():
    case = random_case(2, 8, 3, 5, 4, 0.5)
    counts = count(*case)
    np.testing.assert_array_equal(counts.query_labels, case[2])
    np.testing.assert_array_equal((counts + counts).query_labels, case[2])


GOOD = random_case(2, 8, 3, 5, 4, 0.5)


@pytest.mark.parametrize(
    ("place", "value", "error", "message"),
    [
        (0, GOOD[0][:, :7], UsageError, "database codes: 8 bits, expected 7"),
        (0, GOOD[0][:0], UsageError, "query codes: no rows"),
        (0, GOOD[0] * np.nan, InvalidCodes, "query codes: nan"),
        (1, GOOD[1] * (np.arange(8) != 3), InvalidCodes, "database codes: 5 zeros among 40"),
        (1, GOOD[1] * 0.5, InvalidCodes, "database codes: .*not binary"),
        (2, GOOD[2][:2], UsageError, "query labels: 2 rows, expected 3"),
        (3, GOOD[3][:2], UsageError, "database labels: 2 rows, expected 5"),
        (3, GOOD[3][:, :3], UsageError, "labels"),
        (3, np.array([0, 1, 2, 3, 4]), UsageError, "class number 4"),
        (3, GOOD[3].astype(float) * 0.5, UsageError, "0 and 1"),
        (0, [[1, -1], [1]], InvalidCodes, "query codes: cannot be read as an array"),
        (1, [[1, -1], [1]], UsageError, "database codes: cannot be read as an array"),
        (1, 3, UsageError, "database codes: .* is not an array of rows"),
        (2, np.array([0, 1, 10**9]), UsageError, "query labels: class number 1000000000"),
        (2, ["cat", "dog", "cow"], UsageError, "query labels: type <U3"),
        (3, ["cat"] * 5, UsageError, "database labels: type <U3"),
    ],
)
def test_bad_input_is_named(place, value, error, message):
    arguments = list(GOOD)
    arguments[place] = value
    with pytest.raises(error, match=message):
        count(*arguments)


def test_counts_of_different_queries_do_not_add():
    with pytest.raises(UsageError, match="cannot be added"):
        Counts(np.zeros((2, 3, 2), int)) + Counts(np.zeros((3, 3, 2), int))


@pytest.mark.parametrize("options", [{"bits": 0}, {"bits": 8.0}, {"classes": -1}, {"threads": 0}, {"threads": "2"}])
def test_bad_options_are_named(options):
    with pytest.raises(UsageError, match=f"{next(iter(options))}: .*, expected a whole number"):
        count(*GOOD, **options)
