"""Drawing of splits: the profiles of imbalance at any size, and queries from every class."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.data.split_drawing import (
    MultiLabelSizes,
    SingleLabelSizes,
    class_sizes,
    draw_multi_label,
    draw_queries,
    draw_single_label,
)
from benchmark.errors import UsageError


def test_the_papers_profile_at_its_own_size():
    sizes = np.sort(class_sizes("paper", np.full(100, 1300), 10_000, "any"))[::-1]
    assert sizes.sum() == 10_000
    assert sizes[0] == 1300
    assert all(370 <= size <= 440 for size in sizes[1:10])
    assert all(5 <= size <= 115 for size in sizes[10:])
    grouped = np.sort(class_sizes("groups", np.full(100, 1300), 10_000, "any"))[::-1]
    assert (grouped[0], set(grouped[1:10]), set(grouped[10:])) == (1300, {411}, {55, 56})


@given(rho=st.floats(1, 500), total=st.integers(100, 50_000), classes=st.integers(2, 120))
@settings(max_examples=80, deadline=None)
def test_exponential_falls_by_rho(rho, total, classes):
    sizes = class_sizes(f"exponential:{rho}", np.full(classes, 10**6), total, 0)
    exact = np.sort(rho ** -np.linspace(0, 1, classes))[::-1]
    exact = exact / exact.sum() * total
    assert np.abs(np.sort(sizes)[::-1] - np.maximum(exact, 1)).max() <= 1 + 1e-6


def test_a_class_gives_no_more_than_it_has():
    available = np.array([3] * 50 + [100] * 50)
    assert (class_sizes("paper", available, 10_000, 0) <= available).all()


@given(seed=st.integers(0, 50), per_class=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_queries_cover_every_class_that_has_enough(seed, per_class):
    labels = np.random.default_rng(seed).random((120, 6)) < 0.2
    query = draw_queries(labels, per_class, seed)
    assert len(set(query.tolist())) == len(query)
    for column in range(6):
        drawn = labels[query, column].sum()
        assert drawn >= min(per_class, labels[:, column].sum() // 2)


@pytest.mark.parametrize(
    ("exponent", "largest", "total", "smallest"),
    [(0.83, 500, 3732, 10), (0.99, 500, 2598, 5), (0.845, 1300, 9437, 26), (0.99, 1300, 6834, 13)],
)
def test_zipf_gives_the_sizes_of_the_long_tail_papers(exponent, largest, total, smallest):
    sizes = np.sort(class_sizes(f"zipf:{exponent}", np.full(100, largest), total, "any"))[::-1]
    assert sizes.tolist() == [int(largest * rank**-exponent) for rank in range(1, 101)]
    assert (sizes.sum(), sizes[0], sizes[-1]) == (total, largest, smallest)


@given(exponent=st.floats(0, 3), total=st.integers(200, 20_000), classes=st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_zipf_takes_as_much_as_it_may(exponent, total, classes):
    sizes = class_sizes(f"zipf:{exponent}", np.full(classes, 10**6), total, 0)
    more = np.floor((sizes.max() + 1) / np.arange(1, classes + 1) ** exponent)
    assert np.maximum(sizes - 1, 0).sum() <= total < more.sum()


def test_which_class_is_large_is_drawn_among_those_that_have_enough():
    available = np.array([100] * 3 + [20] * 7)
    large = {int(class_sizes("zipf:1", available, 250, seed).argmax()) for seed in range(30)}
    assert large == {0, 1, 2}
    assert (class_sizes("zipf:1", available, 10_000, 0) <= available).all()


@pytest.mark.parametrize("profile", ["zipf", "zipf:", "zipf:-1", "zipf:nan", "zipf:inf", "exponential:0.5", "flat"])
def test_a_wrong_profile_is_told(profile):
    with pytest.raises(UsageError, match=f"imbalance '{profile}': expected .*"):
        class_sizes(profile, np.full(10, 100), 50, 0)


def test_multi_label_rows_whatever_their_classes():
    labels = np.random.default_rng(0).random((200, 5)) < 0.2
    drawn = draw_multi_label(labels, MultiLabelSizes(queries=30, train_size=50, train_in_database=False), 0)
    assert (len(drawn.query), len(drawn.train), len(drawn.database)) == (30, 50, 120)
    assert sorted([*drawn.query, *drawn.train, *drawn.database]) == list(range(200))
    within = draw_multi_label(labels, MultiLabelSizes(queries=30, train_size=50), 0)
    assert sorted([*drawn.train, *drawn.database]) == within.database.tolist()
    with pytest.raises(UsageError, match="170 images remain, too few for 171 training images"):
        draw_multi_label(labels, MultiLabelSizes(queries=30, train_size=171), 0)


def test_training_rows_of_every_class():
    labels = np.random.default_rng(1).random((900, 6)) < 0.3
    drawn = draw_multi_label(labels, MultiLabelSizes(queries_per_class=5, train_per_class=20), 0)
    assert len(drawn.query) == 30
    assert len(drawn.train) == 120
    assert (labels[drawn.train].sum(axis=0) >= 20).all()


def test_queries_of_the_official_test_part():
    labels, in_test = np.eye(4, dtype=bool)[np.arange(200) % 4], np.arange(200) >= 160
    whole = draw_single_label(labels, in_test, SingleLabelSizes(official=True), 0)
    assert whole.query.tolist() == list(range(160, 200))
    assert whole.train.tolist() == whole.database.tolist() == list(range(160))
    some = draw_single_label(labels, in_test, SingleLabelSizes(8, 40, official=True), 0)
    assert in_test[some.query].all()
    assert labels[some.query].sum(axis=0).tolist() == [8] * 4
    assert some.database.tolist() == list(range(160))
    assert labels[some.train].sum(axis=0).tolist() == [10] * 4
