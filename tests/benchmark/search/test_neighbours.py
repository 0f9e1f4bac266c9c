"""Order, ties and checks that every kind of search shares."""

import numpy as np
import pytest

from benchmark.errors import UsageError
from benchmark.search.neighbours import check_count, check_database, check_query, padding, ranked


def test_rows_are_ranked_by_distance_and_then_by_number():
    found = ranked(np.array([7, 3, 5, 1]), np.array([2, 0, 2, 9]), n=3)
    assert found.rows.tolist() == [3, 5, 7]
    assert found.distances.tolist() == [0, 2, 2]


def test_what_stands_in_the_padding_is_no_part_of_a_code():
    packed = np.array([[0b11110101]], np.uint8)
    assert check_database(packed, 4).tolist() == [[0b11110000]]
    assert packed.tolist() == [[0b11110101]]  # the caller's array is the caller's
    assert [int(padding(bits)) for bits in (1, 7, 8, 9)] == [0b1111111, 1, 0, 0b1111111]


@pytest.mark.parametrize(
    ("codes", "bits", "told"),
    [
        (np.zeros((3, 2), np.uint8), 17, "expected packed uint8 of 3 columns for 17 bits"),
        (np.zeros((3, 2), np.int8), 16, "int8 of shape"),
        (np.zeros(3, np.uint8), 8, r"shape \(3,\)"),
        (np.zeros((3, 1), np.uint8), 0, "0 bits, expected 1 to 512"),
    ],
)
def test_codes_of_another_shape_are_refused(codes, bits, told):
    with pytest.raises(UsageError, match=told):
        check_database(codes, bits)


def test_a_query_of_another_length_and_a_negative_number_are_refused():
    with pytest.raises(UsageError, match="expected packed uint8 of 4 columns for 32 bits"):
        check_query(np.zeros(2, np.uint8), 32)
    with pytest.raises(UsageError, match="radius is -1, expected 0 or more"):
        check_count(-1, "radius")
