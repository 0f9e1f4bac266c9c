"""Classes held out of training: which rows leave, which queries remain, and what is relevant to them."""

import numpy as np
import pytest

from benchmark.contracts import Split, Splits
from benchmark.errors import UsageError
from benchmark.registry import get_dataset, plugin_of
from benchmark.similarity import PairSimilarity
from benchmark.unseen import held_classes, hold_out


def splits_of(labels):
    """Each part with the same labels; the feature is the row's number."""
    rows = np.arange(len(labels), dtype=float)[:, None]
    train, query, database = (Split(features=rows, labels=labels, ids=[f"{n}" for n in rows]) for _ in range(3))
    return Splits(train, query, database, notes=("before",))


def test_training_has_seen_classes_alone_and_queries_unseen_ones_alone():
    numbers = np.arange(60) % 12
    whole = splits_of(numbers)
    splits, held = hold_out(whole, 0.25, "any", 0), held_classes(12, 0.25, "any", 0)
    assert held.sum() == 3
    assert sorted(splits.train.features[:, 0]) == [row for row in range(60) if not held[numbers[row]]]
    assert sorted(splits.query.features[:, 0]) == [row for row in range(60) if held[numbers[row]]]
    assert splits.database is whole.database
    assert splits.notes == ("before", "3 of 12 classes held out of training, 15 rows with them")
    assert splits.train.labels.shape == (45, 12)
    known, _ = splits.train.similarity.block(np.arange(45), np.arange(45))
    np.testing.assert_array_equal(known > 0, splits.train.labels.astype(int) @ splits.train.labels.T > 0)


def test_of_several_labels_only_those_held_out_say_what_is_relevant():
    labels = np.random.default_rng(0).random((80, 8)) < 0.3
    splits, held = hold_out(splits_of(labels), 0.25, "any", 1), held_classes(8, 0.25, "any", 1)
    for row, own in zip(splits.query.features[:, 0].astype(int), splits.query.labels, strict=True):
        assert own.tolist() == (labels[row] & held).tolist()
        assert own.any()
    assert not (splits.train.labels & held).any()
    kept = splits.train.features[:, 0].astype(int)
    assert sorted(kept) == [row for row in range(80) if not (labels[row] & held).any()]
    assert (splits.database.labels == labels).all()


@pytest.mark.parametrize(("classes", "share", "held"), [(100, 0.25, 25), (3, 0.01, 1), (3, 0.99, 2), (2, 0.5, 1)])
def test_at_least_one_class_is_held_out_and_not_all(classes, share, held):
    assert held_classes(classes, share, "any", 0).sum() == held


def test_another_seed_holds_out_other_classes():
    drawn = {held_classes(100, 0.25, "any", seed).tobytes() for seed in range(5)}
    assert len(drawn) == 5
    np.testing.assert_array_equal(held_classes(100, 0.25, "any", 3), held_classes(100, 0.25, "any", 3))


def test_what_cannot_be_held_out_is_told():
    whole = splits_of(np.arange(6) % 3)
    pairs = Split(similarity=PairSimilarity(2, np.array([[0, 1]]), np.array([True])))
    with pytest.raises(UsageError, match="its training rows have no labels"):
        hold_out(Splits(pairs, whole.query, whole.database), 0.5, "any", 0)
    with pytest.raises(UsageError, match="1 of 2 classes are held out, and no training row is left"):
        hold_out(splits_of(np.ones((4, 2), bool)), 0.5, "any", 0)
    with pytest.raises(UsageError, match="1 class, expected at least 2"):
        hold_out(splits_of(np.zeros(4, int)), 0.5, "any", 0)


@pytest.fixture
def file(tmp_path):
    parts = ("train", "query", "database")
    rows = {f"{part}_features": np.random.default_rng(1).normal(size=(40, 4)) for part in parts}
    np.savez(tmp_path / "f.npz", **rows, **{f"{part}_labels": np.arange(40) % 8 for part in parts})
    return f"features:{tmp_path / 'f.npz'}"


def test_every_data_set_takes_it_and_is_another_protocol_with_it(file):
    for spec in (file, "coco-mini", "imagenet"):
        plain, unseen, other = (get_dataset(spec, **given) for given in ({}, {"unseen": 0.25}, {"unseen": 0.5}))
        assert len({plain.revision, unseen.revision, other.revision}) == 3
        assert unseen.protocol == f"{plain.protocol}, 25 % of the classes unseen, seed 0"
        assert unseen.title == f"{plain.title}, 25 % unseen"
        assert (unseen.name, unseen.map_cutoff, unseen.backbone) == (plain.name, plain.map_cutoff, plain.backbone)
        assert plugin_of(unseen) is plugin_of(plain) is type(plain)
        assert not hasattr(unseen, "lists")
    seed = get_dataset(file, unseen=0.25, unseen_seed=1)
    assert seed.revision != get_dataset(file, unseen=0.25).revision


def test_a_file_of_features_with_classes_held_out(file):
    dataset = get_dataset(file, unseen=0.25)
    dataset.check()
    splits = dataset.load()
    assert (len(splits.train), len(splits.query), len(splits.database)) == (30, 10, 40)


@pytest.mark.parametrize("given", [0, 1, -0.1, 1.5, "half", True, float("nan"), None])
def test_a_share_is_a_share(file, given):
    with pytest.raises(UsageError, match=r"features\.unseen=.*: expected a share of the classes"):
        get_dataset(file, unseen=given)


@pytest.mark.parametrize("given", [{"unseen_seed": 1}, {"unseen": 0.5, "unseen_seed": -1}, {"unseen": 0.5, "x": 1}])
def test_wrong_words_are_told(file, given):
    with pytest.raises(UsageError, match=r"give unseen too|expected a whole number|no parameter 'x'; known: .*unseen"):
        get_dataset(file, **given)
