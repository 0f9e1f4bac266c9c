"""Codewords of classes: how far apart they lie, that they differ, and that the seed decides them."""

from __future__ import annotations

import itertools
from math import comb
from typing import Any

import numpy as np
import pytest

from benchmark import Split, UsageError
from benchmark.deep import (
    CENTRE_KINDS,
    class_centres,
    gilbert_varshamov_distance,
    griesmer_distance,
    hadamard,
    too_many_classes,
)


def distances(words: np.ndarray) -> list[int]:
    """Hamming distances of all pairs, counted bit by bit."""
    return [int(sum(a != b for a, b in zip(*pair, strict=True))) for pair in itertools.combinations(words, 2)]


@pytest.mark.parametrize("order", [1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 44, 48, 64, 96, 128])
def test_rows_of_a_hadamard_matrix_are_orthogonal(order: int) -> None:
    matrix: Any = hadamard(order)
    assert set(np.unique(matrix)) <= {-1, 1}
    np.testing.assert_array_equal(matrix.astype(int) @ matrix.T.astype(int), order * np.eye(order))


@pytest.mark.parametrize("order", [3, 6, 10, 18, 50, 92])
def test_no_matrix_where_there_is_none_or_none_is_known(order: int) -> None:
    assert hadamard(order) is None


@pytest.mark.parametrize("bits", [4, 12, 16, 48, 64])
def test_hadamard_rows_are_half_the_bits_apart_and_negatives_all_of_them(bits: int) -> None:
    words = class_centres("hadamard", 2 * bits, bits, seed=3)
    assert set(distances(words[:bits])) == {bits // 2}
    assert set(distances(words)) == {bits // 2, bits}
    np.testing.assert_array_equal(words[:bits], -words[bits:])
    assert distances(words).count(bits) == bits


def test_no_bit_of_hadamard_rows_is_the_same_for_all() -> None:
    """As it stands, the first column of the matrix is: a bit that tells nothing."""
    for seed in range(5):
        words = class_centres("hadamard", 20, 64, seed)
        assert (np.abs(words.sum(axis=0)) < 20).all()


@pytest.mark.parametrize(("classes", "bits"), [(33, 16), (100, 16), (21, 10), (100, 48), (1000, 24), (3000, 16)])
@pytest.mark.parametrize("kind", ["hadamard", "gilbert-varshamov"])
def test_far_words_reach_the_distance_of_gilbert_and_varshamov(kind: Any, classes: int, bits: int) -> None:
    words = class_centres(kind, classes, bits)
    least = (bits - (words @ words.T - 2 * bits * np.eye(classes)).max()) / 2
    assert least >= gilbert_varshamov_distance(classes, bits)


def test_distance_of_gilbert_and_varshamov_against_its_definition() -> None:
    for bits, classes in itertools.product((1, 2, 5, 8, 11), (2, 3, 4, 9, 16, 60, 256)):
        if classes <= 2**bits:
            fitting = [d for d in range(1, bits + 1) if (classes - 1) * sum(comb(bits, i) for i in range(d)) < 2**bits]
            assert gilbert_varshamov_distance(classes, bits) == max(fitting)
    assert gilbert_varshamov_distance(1, 8) == 8
    assert gilbert_varshamov_distance(100, 48) == 16


def test_griesmer_distance_of_codes_that_are_known_to_reach_it() -> None:
    """The simplex code [7, 3, 4], first-order Reed-Muller [16, 5, 8] and [32, 6, 16], Golay [24, 12, 8], [16, 7, 6]."""
    known = {(8, 7): 4, (32, 16): 8, (64, 32): 16, (4096, 24): 8, (100, 16): 6, (2, 9): 9, (1, 9): 9, (512, 9): 1}
    assert {key: griesmer_distance(*key) for key in known} == known
    assert griesmer_distance(513, 9) == 0
    assert [griesmer_distance(classes, 32) for classes in (2, 4, 16, 64, 1024)] == [
        32,
        21,
        16,
        16,
        13,
    ]  # 13 + 7 + 4 + 2 + 6 = 32


@pytest.mark.parametrize("kind", CENTRE_KINDS)
@pytest.mark.parametrize(
    ("classes", "bits"), [(1, 1), (2, 1), (8, 3), (5, 3), (64, 6), (31, 5), (12, 48), (300, 17), (4096, 12), (1, 128)]
)
def test_any_number_of_classes_has_words_that_differ(kind: Any, classes: int, bits: int) -> None:
    words = class_centres(kind, classes, bits, seed=1)
    assert words.shape == (classes, bits)
    assert words.dtype == np.float32
    assert set(np.unique(words)) <= {-1, 1}
    assert len(np.unique(words, axis=0)) == classes


@pytest.mark.parametrize("kind", CENTRE_KINDS)
def test_the_seed_decides(kind: Any) -> None:
    one, same, other = (class_centres(kind, 12, 24, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_coins_are_fair() -> None:
    words = class_centres("bernoulli", 2000, 40)
    assert np.abs(words.mean(axis=0)).max() < 0.1
    assert np.abs(words.T @ words / 2000 - np.eye(40)).max() < 0.12


@pytest.mark.parametrize("kind", CENTRE_KINDS)
def test_more_classes_than_words_are_told(kind: Any) -> None:
    with pytest.raises(UsageError, match="9 classes need a code each, but 3 bits have only 8: use more bits"):
        class_centres(kind, 9, 3)


def test_declining_in_time() -> None:
    train = Split(labels=np.eye(5, dtype=bool))
    assert too_many_classes(train, 3) is None
    assert "use more bits" in str(too_many_classes(train, 2))
    assert too_many_classes(Split(features=np.zeros((2, 2))), 1) is None


def test_an_unknown_kind_is_told() -> None:
    unknown: Any = "far"
    with pytest.raises(UsageError, match="kind = 'far', expected one of hadamard, bernoulli, gilbert-varshamov"):
        class_centres(unknown, 4, 8)
