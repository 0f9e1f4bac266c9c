"""Feature scaling against the slow, obvious definition, and what it promises for all inputs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmark import UsageError
from benchmark.shallow import scaling
from benchmark.shallow.scaling import FeatureScaling

MODES = ("center-l2", "center", "l2", "none")
rows = arrays(np.float32, st.tuples(st.integers(1, 9), st.just(4)), elements=st.floats(-100, 100, width=16))


def plain(train, row, mode, gain):
    """One row, as the words say."""
    value = row.astype(float)
    if "center" in mode:
        value = value - train.astype(float).mean(axis=0)
    if "l2" in mode:
        length = np.sqrt((value**2).sum())
        value = value / length if length > 0 else value
    return value * gain


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("gain", "number"), [(1.0, 1.0), (2.5, 2.5), ("sqrt", np.sqrt(6)), ("even", 256 / np.sqrt(6))])
def test_equals_the_plain_definition(mode, gain, number):
    rng = np.random.default_rng(0)
    train, query = rng.random((50, 6), dtype=np.float32), rng.random((7, 6), dtype=np.float32)
    out = FeatureScaling.fit(train, mode, gain).transform(query)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, [plain(train, row, mode, number) for row in query], rtol=1e-4, atol=1e-5)


@settings(max_examples=50, deadline=None)
@given(rows)
def test_rows_have_unit_length_or_are_zero(train):
    lengths = np.linalg.norm(FeatureScaling.fit(train).transform(train), axis=1)
    assert np.all(np.isclose(lengths, 1, atol=1e-4) | (lengths == 0))


@settings(max_examples=50, deadline=None)
@given(rows, st.sampled_from(MODES))
def test_input_is_not_modified_and_chunks_do_not_matter(train, mode):
    before = train.copy()
    train.setflags(write=False)
    fitted = FeatureScaling.fit(train, mode)
    whole = fitted.transform(train)
    np.testing.assert_array_equal(whole, np.concatenate([fitted.transform(row[None]) for row in train]))
    np.testing.assert_array_equal(train, before)


def test_small_chunks_give_the_same_rows(monkeypatch):
    features = np.random.default_rng(0).random((101, 8), dtype=np.float32)
    fitted = FeatureScaling.fit(features)
    whole = fitted.transform(features)
    monkeypatch.setattr(scaling, "CHUNK_BYTES", 4 * 8 * 10)
    np.testing.assert_array_equal(fitted.transform(features), whole)


def test_a_row_equal_to_the_mean_becomes_zero_not_noise():
    constant = np.full((30, 5), 0.1, np.float32)
    np.testing.assert_array_equal(FeatureScaling.fit(constant).transform(constant), 0)


def test_half_precision_is_read_as_the_numbers_it_holds():
    half = np.random.default_rng(0).random((20, 5)).astype(np.float16)
    single = FeatureScaling.fit(half.astype(np.float32)).transform(half.astype(np.float32))
    np.testing.assert_array_equal(FeatureScaling.fit(half).transform(half), single)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_rejected_by_row(bad):
    features = np.ones((9, 3))
    fitted = FeatureScaling.fit(features)
    features[4, 1] = bad
    with pytest.raises(UsageError, match="first is row 4"):
        fitted.transform(features)
    with pytest.raises(UsageError, match="first is row 4"):
        FeatureScaling.fit(features)


def test_errors_say_what_was_expected():
    fitted = FeatureScaling.fit(np.ones((3, 4)))
    with pytest.raises(UsageError, match="5 columns, expected the training set's 4"):
        fitted.transform(np.ones((3, 5)))
    with pytest.raises(UsageError, match="expected one of center-l2"):
        FeatureScaling.fit(np.ones((3, 4)), "whiten")
    with pytest.raises(UsageError, match="no training rows"):
        FeatureScaling.fit(np.ones((0, 4)))
    with pytest.raises(UsageError, match="this split has none"):
        FeatureScaling.fit(None)


def test_components_are_the_leading_principal_directions_of_the_training_rows():
    rng = np.random.default_rng(3)
    train = rng.standard_normal((80, 12)) * np.linspace(3, 0.1, 12) + 4
    rows = rng.standard_normal((9, 12)) + 4
    scaling = FeatureScaling.fit(train, "center", gain="sqrt", components=5)
    _, _, right = np.linalg.svd(train - train.mean(axis=0), full_matrices=False)
    expected = (rows - train.mean(axis=0)) @ right[:5].T * np.sqrt(5)
    np.testing.assert_allclose(np.abs(scaling.transform(rows)), np.abs(expected), rtol=1e-3, atol=1e-3)
    assert (scaling.dimension, scaling.width) == (12, 5)


def test_as_many_components_as_columns_change_nothing():
    train = np.random.default_rng(4).standard_normal((30, 6))
    np.testing.assert_array_equal(
        FeatureScaling.fit(train, components=6).transform(train), FeatureScaling.fit(train).transform(train)
    )


def test_few_rows_give_few_components():
    train = np.random.default_rng(5).standard_normal((4, 10))
    assert FeatureScaling.fit(train, components=8).width == 3
