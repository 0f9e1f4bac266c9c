"""PCAH: ITQ with the identity for its rotation, and falling variances."""

import sys

import numpy as np
import pytest

from benchmark import Split, UsageError, get_method

PCAH, ITQ = get_method("pcah"), get_method("itq")


def features():
    rng = np.random.default_rng(0)
    return rng.standard_normal((200, 10)) @ rng.standard_normal((10, 10)) + 2


def test_equals_itq_without_a_rotation(monkeypatch):
    monkeypatch.setattr(sys.modules[ITQ.__module__], "random_rotation", lambda bits, seed: np.eye(bits))
    split = Split(features=features())
    np.testing.assert_array_equal(PCAH(6).fit(split).encode(split), ITQ(6, iterations=0).fit(split).encode(split))


def test_variance_falls_from_the_first_bit_to_the_last():
    rows = features()
    method = PCAH(10, scaling="center").fit(Split(features=rows))
    assert np.all(np.diff((rows @ method.directions).var(axis=0)) <= 1e-9)


def test_more_bits_than_columns_are_declined():
    split = Split(features=features())
    assert PCAH.unsupported(split, 10) is None
    assert "10 columns" in PCAH.unsupported(split, 11)
    with pytest.raises(UsageError, match="use fewer bits"):
        PCAH(11).fit(split)
