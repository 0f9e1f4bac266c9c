"""How a data set is built to be tried, and what its content is told by."""

import numpy as np
import pytest

from benchmark import Split, Splits, UsageError
from benchmark.conformance import DatasetTrial, Recipe
from benchmark.conformance.dataset_trial import content_digest
from benchmark.registry import datasets


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"dataset": object}, "register_dataset"),
        ({"dataset": "nothing"}, "unknown dataset 'nothing'"),
        ({"dataset": "features"}, "needs a path"),
        ({"dataset": "coco-mini", "options": {"colour": 1}}, "no parameter 'colour'"),
    ],
)
def test_what_cannot_be_built_is_a_usage_error(words, told):
    with pytest.raises(UsageError, match=told):
        DatasetTrial(**words)


def test_a_class_whose_data_are_missing_is_not_checked_by_its_stand_in():
    with pytest.raises(UsageError, match="--data-root"):
        DatasetTrial(datasets.get("coco"))


def splits(row=None):
    """300 rows of each part; one row of the training part may be another."""
    features = np.arange(600.0).reshape(300, 2)
    changed = features.copy()
    changed[row if row is not None else 0] += row is not None
    labels = np.arange(300) % 3
    return Splits(*(Split(features=rows, labels=labels) for rows in (changed, features, features)))


@pytest.mark.parametrize(("row", "noticed"), [(0, True), (299, True), (1, False)])
def test_a_sample_holds_both_ends_and_all_rows_hold_all(row, noticed):
    assert (content_digest(splits()) != content_digest(splits(row))) == noticed
    assert content_digest(splits(), whole=True) != content_digest(splits(row), whole=True)
    assert content_digest(splits(), whole=True) == content_digest(splits(), whole=True)


def test_a_moved_recipe_reads_copies(tmp_path):
    given, folder = tmp_path / "given", tmp_path / "elsewhere"
    given.mkdir()
    (given / "own.npz").write_bytes(b"x")
    (given / "neighbour.txt").write_bytes(b"y")
    moved = Recipe(f"features:{given / 'own.npz'}").moved(folder)
    assert moved.spec == f"features:{folder / 'argument' / 'given' / 'own.npz'}"
    assert moved.argument.with_name("neighbour.txt").read_bytes() == b"y"
    assert Recipe("coco-mini").moved(folder) is None
