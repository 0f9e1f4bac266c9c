"""Blocks and degrees against a plain double loop over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmark import LabelSimilarity, PairSimilarity, UsageError

labels = st.integers(1, 8).flatmap(lambda n: arrays(bool, (n, 3)))


def loop(labels):
    return np.array([[any(a and b for a, b in zip(x, y, strict=True)) for y in labels] for x in labels])


@given(labels)
def test_label_similarity_equals_the_double_loop(labels):
    similarity, expected = LabelSimilarity(labels), loop(labels)
    every = np.arange(len(labels))
    similar, known = similarity.block(every, every)
    assert np.array_equal(similar, expected)
    assert known.all()
    degrees = similarity.degrees()
    assert np.array_equal(degrees.similar, expected.sum(1))
    assert np.array_equal(degrees.dissimilar, (~expected).sum(1))
    assert np.array_equal(degrees.total, degrees.similar + degrees.dissimilar)


@given(labels)
def test_a_full_pair_list_says_the_same_as_the_labels(labels):
    expected = loop(labels)
    pairs = np.array([(i, j) for i in range(len(labels)) for j in range(len(labels))])
    listed = PairSimilarity(len(labels), pairs, expected[pairs[:, 0], pairs[:, 1]])
    every = np.arange(len(labels))
    assert np.array_equal(listed.block(every, every)[0], expected)
    for name in ("total", "similar", "dissimilar"):
        assert np.array_equal(getattr(listed.degrees(), name), getattr(LabelSimilarity(labels).degrees(), name))


def test_unlisted_pairs_are_unknown_and_the_list_is_symmetric():
    listed = PairSimilarity(4, [[0, 1], [2, 1]], [True, False])
    similar, known = listed.block(np.arange(4), np.arange(4))
    assert similar[0, 1]
    assert similar[1, 0]
    assert not similar[1, 2]
    assert known.sum() == 4
    assert listed.degrees().total.tolist() == [1, 2, 1, 0]


def test_take_keeps_the_pairs_among_the_chosen():
    part = PairSimilarity(4, [[0, 1], [2, 1]], [True, False]).take(np.array([2, 1]))
    similar, known = part.block(np.arange(2), np.arange(2))
    assert known.tolist() == [[False, True], [True, False]]
    assert not similar.any()


def test_a_pair_that_names_no_item_is_an_error():
    with pytest.raises(UsageError, match="expected 0 to 1"):
        PairSimilarity(2, [[0, 2]], [True])
