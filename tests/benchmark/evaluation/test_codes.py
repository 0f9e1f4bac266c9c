"""Codes are checked with words that name the fault, and packing is undone by unpacking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmark.errors import InvalidCodes
from benchmark.evaluation.codes import check_codes, health, pack, pack_any, unpack, words

signs = st.integers(1, 70).flatmap(
    lambda bits: arrays(np.int8, st.tuples(st.integers(0, 5), st.just(bits)), elements=st.sampled_from([-1, 1]))
)


@given(signs)
def test_unpack_undoes_pack(codes):
    packed = pack(codes)
    assert packed.shape == (len(codes), -(-codes.shape[1] // 8))
    np.testing.assert_array_equal(unpack(packed, codes.shape[1]), codes)


@given(signs, st.sampled_from([np.int8, np.int64, np.float32, np.float64]))
def test_every_number_type_over_plus_and_minus_one_is_taken(codes, kind):
    checked = check_codes(codes.astype(kind))
    assert checked.dtype == np.int8
    np.testing.assert_array_equal(checked, codes)


@given(signs)
def test_alphabets_pack_alike(codes):
    packed, bits = pack_any(codes)
    for other in (codes > 0, (codes > 0).astype(np.uint8), (codes > 0).astype(float)):
        np.testing.assert_array_equal(pack_any(other)[0], packed)
    np.testing.assert_array_equal(pack_any(packed, bits)[0], packed)


@given(signs)
def test_word_distance_is_the_hamming_distance_whatever_the_padding_holds(codes):
    packed, bits = pack_any(codes)
    dirty = packed.copy()
    if bits % 8:
        dirty[:, -1] |= 0xFF >> (bits % 8)
    clean = words(packed, bits)
    np.testing.assert_array_equal(words(dirty, bits), clean)
    for i in range(len(codes)):
        distance = np.bitwise_count(clean ^ clean[:, i : i + 1]).sum(axis=0)
        np.testing.assert_array_equal(distance, (codes != codes[i]).sum(axis=1))


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.ones(3), "shape"),
        (np.ones((2, 4)), "4 bits, expected 5"),
        (np.ones((3, 5)), "3 rows, expected 2"),
        (np.array([[1, -1, 0, 1, 1]] * 2), "2 zeros among 10"),
        (np.array([[1, -1, np.nan, 1, 1]] * 2), "nan at row 0, bit 2"),
        (np.array([[1, -1, np.inf, 1, 1]] * 2), "inf at row 0, bit 2"),
        (np.array([[1, -1, 0.3, 1, 1]] * 2), "not binary"),
        (np.array([[True, False, True, True, True]] * 2), "expected -1 and \\+1"),
        (np.array([["a"] * 5] * 2), "type"),
    ],
)
def test_a_bad_code_array_is_named(codes, message):
    with pytest.raises(InvalidCodes, match=message):
        check_codes(codes, bits=5, rows=2)


def test_one_bad_value_far_down_is_found():
    codes = np.ones((5000, 300))
    codes[4000, 7] = 0.3
    with pytest.raises(InvalidCodes, match=r"values 0.3 are not binary"):
        check_codes(codes)


@pytest.mark.parametrize("packed", [np.zeros((2, 3), np.uint8), np.zeros((2, 2), np.int8), np.zeros(2, np.uint8)])
def test_packed_codes_must_have_the_width_of_their_bits(packed):
    with pytest.raises(InvalidCodes, match="expected 12 columns for 12 bits, or packed uint8 of 2 columns"):
        pack_any(packed, 12)


@pytest.mark.parametrize("bits", [0, 513])
def test_bits_have_limits(bits):
    with pytest.raises(InvalidCodes, match="expected 1 to 512"):
        pack_any(np.ones((2, bits)))


def test_health_sees_constant_bits_and_collapse():
    random = np.random.default_rng(0)
    good = np.where(random.random((500, 16)) < 0.5, -1, 1)
    report = health(good)
    assert not report["collapsed"]
    assert report["constant_bits"] == 0
    assert report["distinct"] == len({tuple(row) for row in good.tolist()})
    assert report["bit_balance"] == pytest.approx(np.mean([abs(column.mean()) for column in good.T]))
    good[:, 3] = 1
    assert health(good)["constant_bits"] == 1 / 16
    assert health(np.ones((5, 16)))["collapsed"]
