"""The two sides of a count are read together: neither is taken for what the other shows it is not."""

import warnings

import numpy as np
import pytest

from benchmark.errors import UsageError
from benchmark.evaluation.counting import count
from benchmark.evaluation.queries import read_queries
from benchmark.evaluation.shards import Shard


def test_packed_queries_are_those_unpacked():
    random = np.random.default_rng(0)
    codes, labels = random.random((5, 20)) < 0.5, random.random((5, 11)) < 0.3
    plain = read_queries(codes, labels, None, None, None, True)
    packed = read_queries(np.packbits(codes, axis=1), np.packbits(labels, axis=1), 20, 11, None, True)
    np.testing.assert_array_equal(packed.packed, plain.packed)
    np.testing.assert_array_equal(packed.labels, labels)
    assert plain.grades == packed.grades == 1 + labels.sum(axis=1).max()


def test_a_multi_hot_database_tells_the_number_of_classes():
    example = Shard.of(np.ones((1, 4)), np.zeros((1, 9), bool))
    queries = read_queries(np.ones((2, 4)), [0, 3], None, None, example, False)
    assert queries.labels.shape == (2, 9)
    with pytest.raises(UsageError, match="query labels: class number 12, expected less than 9"):
        read_queries(np.ones((2, 4)), [0, 12], None, None, example, False)


def test_labels_that_could_be_read_in_two_ways_are_refused_or_told():
    """A9: neither side may be silently read otherwise than the user meant."""
    query, database = np.ones((2, 8)), np.ones((3, 8))
    ragged, bits_or_numbers = [[0], [1], [0, 1]], [[0, 1], [1, 0]]
    with pytest.raises(UsageError, match="query labels: lists of 0 and 1 on one side"):
        count(query, database, bits_or_numbers, ragged)
    with pytest.raises(UsageError, match="lists of 0 and 1 on one side"):
        count(database, query, ragged, bits_or_numbers)
    count(query, database, np.array(bits_or_numbers), ragged)
    column = np.array([[0], [1]], np.uint8)
    with pytest.warns(UserWarning, match="read as class numbers"):
        count(query, query, column, column)
    with pytest.raises(UsageError, match="query labels: one column of int64 with one class"):
        count(query, query, column.astype(int), column.astype(bool))
    with pytest.raises(UsageError, match="database labels: one column of int64 with one class"):
        count(query, query, column.astype(bool), column.astype(int))
    for classes in (1, 5, 8):
        with pytest.raises(UsageError, match=r"query labels: one column of uint8 .* class numbers or packed"):
            count(query, query, column, column, classes=classes)
        with pytest.raises(UsageError, match=r"database labels: one column of uint8 .* class numbers or packed"):
            count(query, query, [0, 0], column, classes=classes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the other side tells
        count(query, database, column, np.array([[0], [2], [1]]))
        count(query, query, column, [0, 1])
        count(query, query, column.astype(int), [0, 1], classes=5)
        count(query, query, column.astype(bool), column.astype(bool), classes=1)


def test_queries_of_one_class_still_meet_a_column_of_class_numbers():
    """A9, a relative: one class among the queries does not make the database's column multi-hot."""
    query, database = np.ones((2, 8)), np.ones((3, 8))
    counts = count(query, database, [0, 0], np.array([[0], [3], [0]], np.uint8))
    assert counts.relevant.sum(axis=1).tolist() == [2, 2]
