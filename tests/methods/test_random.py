"""Random codes: fair, independent, and a function of the row and the seed alone."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark import Split, evaluate, get_method


def codes(features: np.ndarray, bits: int = 16, seed: int = 0) -> np.ndarray:
    method = get_method("random")(bits, seed)
    split = Split(features=features)
    found: np.ndarray = method.fit(split).encode(split)
    return found


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((400, 5)).astype(np.float32)


@pytest.mark.parametrize("bits", [1, 7, 16, 48, 129])
def test_bits_are_fair_and_independent(features: np.ndarray, bits: int) -> None:
    found = codes(features, bits).astype(float)
    assert found.shape == (400, bits)
    assert np.abs(found.mean(axis=0)).max() < 0.25
    assert np.abs(found.T @ found / 400 - np.eye(bits)).max() < 0.3
    if bits >= 16:
        assert len(np.unique(found, axis=0)) > 390


def test_a_code_depends_on_the_row_and_the_seed_and_on_nothing_else(features: np.ndarray) -> None:
    whole, order = codes(features), np.random.default_rng(1).permutation(400)
    np.testing.assert_array_equal(codes(features[order]), whole[order])
    np.testing.assert_array_equal(codes(features[7:8]), whole[7:8])
    np.testing.assert_array_equal(codes(features.astype(np.float64)[::2]), whole[::2])
    assert (codes(features, seed=1) != whole).mean() == pytest.approx(0.5, abs=0.05)


def test_equal_rows_have_equal_codes_and_the_sign_of_zero_is_none() -> None:
    found = codes(np.array([[0.0, 1], [-0.0, 1], [0, 2]], np.float32), 64)
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_it_retrieves_by_chance(features: np.ndarray) -> None:
    labels = np.eye(4, dtype=bool)[np.arange(400) % 4]
    found = codes(features, 32)
    assert evaluate(found[:100], found[100:], labels[:100], labels[100:], k=None).map == pytest.approx(0.25, abs=0.03)
