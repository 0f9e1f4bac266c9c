"""Drawing of splits: the profiles of imbalance at any size, and queries from every class."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.data.split_drawing import class_sizes, draw_queries


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
