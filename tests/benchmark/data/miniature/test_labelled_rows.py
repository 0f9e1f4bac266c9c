"""Rows of a miniature: splits and proportions as its protocol says, and its name seeds them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmark import get_dataset
from benchmark.contracts import Splits
from benchmark.data.miniature.labelled_rows import ManyLabelsProtocol, OneLabelProtocol, miniature_splits
from benchmark.data.miniature.scenes import Palette, Variation

NAMES = ("imagenet-mini", "nus-mini", "coco-mini")


@pytest.fixture(scope="module", params=NAMES)
def splits(request: pytest.FixtureRequest) -> Splits:
    return get_dataset(request.param).load()


def test_training_rows_are_database_rows_and_queries_are_not(splits: Splits) -> None:
    database = {row: i for i, row in enumerate(splits.database.ids)}
    assert len(database) == len(splits.database)
    assert len(set(splits.train.ids)) == len(splits.train)
    assert not database.keys() & set(splits.query.ids)
    for i in range(0, len(splits.train), 500):
        row = database[splits.train.ids[i]]
        assert np.array_equal(splits.train.images[i], splits.database.images[row])
        assert np.array_equal(splits.train.labels[i], splits.database.labels[row])


def test_every_class_has_ten_queries_and_a_name(splits: Splits) -> None:
    classes = splits.query.labels.shape[1]
    assert splits.query.labels.sum(0).min() >= 10
    assert splits.query.labels.any(1).all()
    assert len(set(splits.class_names)) == classes
    assert splits.train.labels.any(0).all()


ONE = OneLabelProtocol(Palette(("red", "blue")), Variation((14, 16)), 30, 20, 4, 8, 3)
MANY = ManyLabelsProtocol(
    Palette(("red",)), (1, 2, 1), decay=0.5, population=400, database=100, train=30, queries_per_class=2
)


def test_sizes_are_those_of_the_protocol() -> None:
    one, many = miniature_splits("one", ONE), miniature_splits("many", MANY)
    train, database = one.train.labels.sum(0), one.database.labels.sum(0)
    assert train.max() == database.max() == 30
    assert np.array_equal(database, np.maximum(train, 8))
    assert sorted(train)[-10:-1] == list(range(16, 25))
    assert (one.query.labels.sum(0) == 3).all()
    assert (len(many.database), len(many.train)) == (100, 30)
    assert 10 <= len(many.query) <= 20  # two per class, and one image may be for two classes
    assert many.database.labels.sum(1).max() == 2


@pytest.mark.parametrize("protocol", [ONE, MANY])
def test_the_name_seeds_every_number(protocol: OneLabelProtocol | ManyLabelsProtocol) -> None:
    same, again, other = (miniature_splits(name, protocol) for name in ("a", "a", "b"))
    assert same.train.ids == again.train.ids
    assert np.array_equal(same.database.images[7], again.database.images[7])
    assert not np.array_equal(same.database.images[7], other.database.images[7])


def test_the_dominant_class_is_in_the_stated_share_of_images() -> None:
    wide = dataclasses.replace(MANY, dominant=600, population=4000, database=3000, label_counts=(0, 1, 1))
    assert miniature_splits("wide", wide).database.labels[:, 0].mean() == pytest.approx(0.6, abs=0.05)
