"""Blocks and degrees against a plain double loop over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmark import LabelSimilarity, PairSimilarity, TripletList, UsageError

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


def test_a_list_of_all_triplets_of_labels_has_the_degrees_of_their_pairs():
    """But for the pair of an item with itself, which no triplet holds."""
    labels = np.eye(3, dtype=bool)[[0, 0, 0, 1, 1, 2, 2]]
    alike = labels @ labels.T
    told = [
        (i, j, k) for i in range(7) for j in range(7) for k in range(7) if i != j and alike[i, j] and not alike[i, k]
    ]
    found, known = TripletList(7, np.array(told)).degrees(), LabelSimilarity(labels).degrees()
    assert found.similar.tolist() == (known.similar - 1).tolist()
    assert found.dissimilar.tolist() == known.dissimilar.tolist()
    assert found.total.tolist() == (known.total - 1).tolist()


def test_a_pair_counts_once_for_both_of_its_members_and_may_be_of_both_kinds():
    found = TripletList(4, np.array([[0, 1, 2], [0, 1, 3], [1, 0, 2], [2, 3, 0]])).degrees()
    assert found.similar.tolist() == [1, 1, 1, 1]  # 01, 23
    assert found.dissimilar.tolist() == [2, 1, 2, 1]  # 02, 03, 12
    assert found.total.tolist() == [3, 2, 3, 2]


def test_triplets_among_chosen_items():
    chosen = TripletList(5, np.array([[0, 1, 2], [4, 2, 1], [1, 3, 0]])).take(np.array([2, 4, 1]))
    assert len(chosen) == 3
    assert chosen.triplets.tolist() == [[1, 0, 2]]


def test_a_triplet_that_names_no_item_is_an_error():
    with pytest.raises(UsageError, match="triplet list: item 5 named, expected 0 to 4"):
        TripletList(5, np.array([[0, 1, 5]]))
