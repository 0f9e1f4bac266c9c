"""The pieces shallow methods share: signs, encoding by chunks."""

import numpy as np

from benchmark import Split
from benchmark.shallow import scaling
from benchmark.shallow.projections import encode_rows, signs
from benchmark.shallow.scaling import FeatureScaling


def test_signs_never_leave_hamming_space():
    codes = signs(np.array([[0.0, -0.0, 1e-30, -3.0]]))
    np.testing.assert_array_equal(codes, [[-1, -1, 1, -1]])
    assert codes.dtype == np.int8


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
