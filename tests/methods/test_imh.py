"""IMH: base points keep their own embedding, others get a weighted mean, bits are centred."""

import sys

import numpy as np
import pytest

from benchmark import Split, evaluate, get_method

IMH = get_method("imh")
imh = sys.modules[IMH.__module__]


def clusters(items=200, count=4, dimension=6, seed=0):
    label = np.arange(items) % count
    centres = 4 * np.random.default_rng(9).standard_normal((count, dimension))
    rows = centres[label] + np.random.default_rng(seed).standard_normal((items, dimension))
    return rows.astype(np.float32), label


@pytest.fixture(scope="module")
def fitted():
    rows, _ = clusters()
    return IMH(8, base=20, perplexity=5.0, scaling="none").fit(Split(features=rows))


def test_a_base_point_with_one_neighbour_has_the_sign_of_its_embedding(fitted):
    alone = IMH(8, base=20, perplexity=5.0, nearest=1, scaling="none").fit(Split(features=clusters()[0]))
    np.testing.assert_array_equal(
        alone.encode(Split(features=alone.base_rows)), np.where(alone.embedding - alone.offset > 0, 1, -1)
    )


def test_a_row_lies_at_the_weighted_mean_of_its_nearest_base_points(fitted):
    rows, _ = clusters(30, seed=1)
    train, _ = clusters()
    squares = ((train[:, None] - fitted.base_rows[None]) ** 2).sum(axis=2)
    width = np.mean([np.sort(row)[:5] for row in squares])
    values = fitted.project(rows)
    for row, found in zip(rows, values, strict=True):
        distance = ((row - fitted.base_rows) ** 2).sum(axis=1)
        near = np.argsort(distance)[:5]
        weights = np.exp(-distance[near] / width)
        mean = (weights[:, None] * fitted.embedding[near]).sum(axis=0) / weights.sum()
        np.testing.assert_allclose(found, mean - fitted.offset, rtol=1e-3, atol=1e-2)


def test_training_rows_are_centred(fitted):
    values = fitted.project(clusters()[0])
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-6 * np.abs(values).max())


def test_neighbours_stay_neighbours_without_a_label():
    rows, label = clusters()
    query, other = clusters(40, seed=1)
    method = IMH(16, base=60, perplexity=10.0).fit(Split(features=rows))
    codes = [method.encode(Split(features=part)) for part in (query, rows)]
    assert evaluate(*codes, other, label, k=None).map > 0.5  # chance is 0.25


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_a_handful_of_rows_is_enough(rows):
    features = clusters(rows)[0]
    codes = IMH(12).fit(Split(features=features)).encode(Split(features=features))
    assert codes.shape == (rows, 12)


def test_rows_that_are_all_alike_have_one_base_point():
    method = IMH(4).fit(Split(features=np.ones((9, 3), np.float32)))
    assert set(np.unique(method.encode(Split(features=np.ones((2, 3), np.float32))))) <= {-1, 1}
