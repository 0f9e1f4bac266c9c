"""Draws are a function of seed and step, and fair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark import LabelSimilarity, PairSimilarity, TripletList, UsageError
from benchmark.deep import ListedTriplets, PairStreams, Stream, TripletStreams, triplets


@given(size=st.integers(1, 60), batch=st.integers(1, 70))
def test_every_row_comes_once_before_any_comes_twice(size: int, batch: int) -> None:
    stream = Stream(size, batch, 0)
    drawn = np.concatenate([stream.draw(step) for step in range(2 * size // stream.batch + 2)])
    for epoch in range(len(drawn) // size):
        assert sorted(drawn[epoch * size : (epoch + 1) * size]) == list(range(size))


def test_a_draw_depends_on_seed_and_step_alone() -> None:
    in_order = [stream.draw(step) for stream in [Stream(50, 8, 1)] for step in range(20)]
    for step in reversed(range(20)):
        np.testing.assert_array_equal(Stream(50, 8, 1).draw(step), in_order[step])
    assert not np.array_equal(Stream(50, 8, 2).draw(0), in_order[0])


def test_the_two_streams_are_independent() -> None:
    streams = PairStreams(LabelSimilarity(np.eye(200, dtype=bool)), 100, 0)
    rows, columns = streams.draw(0)
    assert 20 < len(np.intersect1d(rows, columns)) < 80  # 50 expected


def test_a_listed_pair_is_always_in_its_block() -> None:
    random = np.random.default_rng(0)
    pairs = random.integers(0, 10_000, (500, 2))
    similarity = PairSimilarity(10_000, pairs, random.random(500) < 0.5)
    streams = PairStreams(similarity, 64, 3)
    for step in range(5):
        rows, columns = streams.draw(step)
        _, known = similarity.block(rows, columns)
        assert known[np.arange(64), np.arange(64)].all()


def test_every_listed_pair_is_drawn() -> None:
    pairs = np.array([[0, 1], [2, 3], [4, 5]])
    streams = PairStreams(PairSimilarity(6, pairs, np.array([True, False, True])), 2, 0)
    drawn = {frozenset(map(int, pair)) for step in range(3) for pair in zip(*streams.draw(step), strict=True)}
    assert drawn == {frozenset(map(int, pair)) for pair in pairs}


def test_an_empty_pair_list_is_an_error() -> None:
    with pytest.raises(UsageError, match="pair list is empty"):
        PairStreams(PairSimilarity(6, np.empty((0, 2)), np.empty(0)), 2, 0)


@given(seed=st.integers(0, 1000), limit=st.integers(1, 40))
def test_triplets_hold_a_similar_and_a_dissimilar_partner(seed: int, limit: int) -> None:
    random = np.random.default_rng(seed)
    similar, known = random.random((2, 6, 7)) < 0.5
    rows, positives, negatives = triplets(similar, known, limit, random)
    assert len(rows) == len(positives) == len(negatives) <= limit
    assert (similar & known)[rows, positives].all()
    assert (~similar & known)[rows, negatives].all()
    usable = (similar & known) & (~similar & known).any(axis=1)[:, None]
    assert len(rows) == min(limit, usable.sum())


def test_every_dissimilar_partner_can_be_drawn() -> None:
    similar = np.array([[True, False, False, False]])
    drawn = {int(triplets(similar, similar | True, 9, np.random.default_rng(s))[2][0]) for s in range(50)}
    assert drawn == {1, 2, 3}


def test_triplets_of_a_step_lie_in_the_block_that_pairwise_losses_see() -> None:
    classes = np.arange(40) % 4
    similarity = LabelSimilarity(np.eye(4, dtype=bool)[classes])
    source, streams = TripletStreams(similarity, 16, 20, 3), PairStreams(similarity, 16, 3)
    for step in (5, 0, 5):
        rows, columns, (anchor, closer, further) = source.draw(step)
        for found, expected in zip((rows, columns), streams.draw(step), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert len(anchor) == 20
        assert (classes[rows[anchor]] == classes[columns[closer]]).all()
        assert (classes[rows[anchor]] != classes[columns[further]]).all()
        assert (rows[anchor] != columns[closer]).all()  # nobody is their own partner
        np.testing.assert_array_equal(source.draw(step)[2], (anchor, closer, further))
    np.testing.assert_array_equal(source.degrees().similar, np.full(40, 10))


def test_listed_triplets_inside_the_block_and_no_others_are_drawn() -> None:
    """Against a look at every triplet of the list."""
    random = np.random.default_rng(0)
    told = np.array([random.permutation(30)[:3] for _ in range(400)])
    source = ListedTriplets(TripletList(30, told), 16, 10_000, 3)
    for step in range(10):
        rows, columns, places = source.draw(step)
        drawn = np.stack([rows[places[0]], columns[places[1]], columns[places[2]]], axis=1)
        inside = [one for one in told.tolist() if one[0] in rows and {*one[1:]} <= set(columns.tolist())]
        assert sorted(drawn.tolist()) == sorted(inside)
        assert len(rows) <= 16
        assert len(drawn) >= 16


def test_every_listed_triplet_comes_and_a_draw_depends_on_seed_and_step_alone() -> None:
    told = np.array([[0, 1, 2], [3, 4, 5], [5, 1, 0], [2, 0, 4]])
    made = [ListedTriplets(TripletList(6, told), 2, 1, 0) for _ in range(2)]
    seen = set()
    for step in range(40):
        rows, columns, places = made[0].draw(step)
        for one, other in zip(made[1].draw(step), (rows, columns, places), strict=True):
            np.testing.assert_array_equal(one, other)
        assert places.shape == (3, 1)  # the limit
        seen.add((int(rows[places[0, 0]]), int(columns[places[1, 0]]), int(columns[places[2, 0]])))
    assert seen == set(map(tuple, told.tolist()))


def test_an_empty_triplet_list_is_an_error() -> None:
    with pytest.raises(UsageError, match="triplet list is empty"):
        ListedTriplets(TripletList(6, np.empty((0, 3))), 2, 9, 0)
