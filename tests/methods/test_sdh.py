"""SDH: classes come apart, unlabelled rows stay out; its discrete steps are tested with benchmark.shallow."""

import sys

import numpy as np
import pytest

from benchmark import Split, UsageError, get_method

SDH = get_method("sdh")
sdh = sys.modules[SDH.__module__]


def classes(items=120, dimension=6, count=4, seed=0):
    rng = np.random.default_rng(seed)
    label = np.arange(items) % count
    return rng.standard_normal((count, dimension))[label] * 2 + rng.standard_normal((items, dimension)), label


def test_classes_come_apart_out_of_sample():
    rows, label = classes(400)
    codes = SDH(16).fit(Split(features=rows[:300], labels=label[:300])).encode(Split(features=rows[300:]))
    agreement = codes.astype(int) @ codes.T.astype(int)
    same = label[300:, None] == label[300:]
    assert agreement[same].mean() > agreement[~same].mean() + 8


def test_unlabelled_rows_change_nothing_but_the_mean():
    rows, label = classes()
    noise = np.random.default_rng(5).standard_normal((30, 6)) * 9
    more = Split(features=np.vstack([rows, noise]), labels=np.concatenate([label, np.full(30, -1)]))
    query = Split(features=rows)
    plain = SDH(8, scaling="l2").fit(Split(features=rows, labels=label)).encode(query)
    np.testing.assert_array_equal(SDH(8, scaling="l2").fit(more).encode(query), plain)


def test_without_labels_it_declines():
    unlabelled = Split(features=np.ones((3, 2)), labels=np.zeros((3, 4), bool))
    assert "no training row has one" in SDH.unsupported(unlabelled, 8)
    with pytest.raises(UsageError, match="sdh"):
        SDH(8).fit(unlabelled)


def test_the_width_is_the_mean_distance_to_the_nearest_other_anchor():
    rows = np.array([[0.0, 0], [3, 4], [0, 1]], np.float32)
    squares = ((rows[:, None] - rows[None, [0, 1]]) ** 2).sum(axis=2)
    nearest = [5.0, 5.0, 1.0]  # rows 0 and 1 are the anchors and may not choose themselves
    assert sdh.nearest_anchor(squares, np.array([0, 1])) == pytest.approx(np.mean(nearest))
    assert sdh.nearest_anchor(np.zeros((1, 1)), np.array([0])) == 1.0


def test_many_labels_per_row_are_fine():
    rows, _ = classes()
    hot = np.random.default_rng(0).random((120, 5)) < 0.4
    codes = SDH(12).fit(Split(features=rows, labels=hot)).encode(Split(features=rows))
    assert codes.shape == (120, 12)
    assert set(np.unique(codes)) <= {-1, 1}
