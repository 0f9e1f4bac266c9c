"""The pieces shallow methods share: signs, principal directions, encoding by chunks."""

import numpy as np
import pytest

from benchmark import Split, UsageError
from benchmark.shallow import projections as shallow
from benchmark.shallow import scaling
from benchmark.shallow.projections import encode_rows, fix_signs, principal_directions, signs
from benchmark.shallow.scaling import FeatureScaling


def test_signs_never_leave_hamming_space():
    codes = signs(np.array([[0.0, -0.0, 1e-30, -3.0]]))
    np.testing.assert_array_equal(codes, [[-1, -1, 1, -1]])
    assert codes.dtype == np.int8


def test_principal_directions_equal_those_of_the_singular_value_decomposition():
    rows = np.random.default_rng(0).standard_normal((200, 10)) * np.arange(1, 11) + 5
    mean, directions = principal_directions(rows, 4)
    _, _, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(mean, rows.mean(axis=0))
    np.testing.assert_allclose(directions, fix_signs(right[:4].T), atol=1e-8)


def decaying_rows(items, dimension):
    rng = np.random.default_rng(1)
    spectrum = 1 / np.sqrt(1 + np.arange(dimension))
    basis = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    return (rng.standard_normal((items, dimension)) * spectrum @ basis + 1).astype(np.float32)


def test_krylov_space_holds_the_variance_of_the_exact_directions(monkeypatch):
    rows = decaying_rows(1500, 600)
    _, exact = principal_directions(rows, 16)
    monkeypatch.setattr(shallow, "EXACT_DIMENSION", 1)
    _, krylov = principal_directions(rows, 16)
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose((centred @ krylov).var(axis=0), (centred @ exact).var(axis=0), rtol=1e-4)
    np.testing.assert_allclose(krylov.T @ krylov, np.eye(16), atol=1e-6)


def test_more_directions_than_columns_is_an_error():
    with pytest.raises(UsageError, match="use fewer bits"):
        principal_directions(np.ones((5, 3)), 4)


def test_encoding_does_not_depend_on_the_chunks(monkeypatch):
    features = np.random.default_rng(0).random((57, 6))
    scaler = FeatureScaling.fit(features)
    whole = encode_rows(Split(features=features), scaler, lambda rows: rows)
    monkeypatch.setattr(scaling, "CHUNK_BYTES", 4 * 6 * 7)
    np.testing.assert_array_equal(encode_rows(Split(features=features), scaler, lambda rows: rows), whole)


def test_no_rows_give_no_codes():
    scaler = FeatureScaling.fit(np.ones((2, 6)))
    codes = encode_rows(Split(features=np.empty((0, 6))), scaler, lambda rows: rows @ np.ones((6, 3)))
    assert codes.shape == (0, 3)
    assert codes.dtype == np.int8
