"""`features:FILE.npz`: sound files load, and every malformed array is named before any work."""

import numpy as np
import pytest

from benchmark.commands import main
from benchmark.data.audit import audit
from benchmark.errors import UsageError
from benchmark.registry import get_dataset


def arrays(classes=3):
    random = np.random.default_rng(0)
    sizes = {"train": 12, "query": 5, "database": 20}
    held = {f"{part}_features": random.normal(size=(n, 4)) for part, n in sizes.items()}
    return {**held, **{f"{part}_labels": np.arange(n) % classes for part, n in sizes.items()}}


def file_of(tmp_path, **changes):
    held = {name: value for name, value in {**arrays(), **changes}.items() if value is not None}
    np.savez(tmp_path / "mine.npz", **held)
    return get_dataset(f"features:{tmp_path / 'mine.npz'}")


def test_class_numbers_and_multi_hot_mean_the_same(tmp_path):
    numbers = file_of(tmp_path)
    numbers.check()
    one = numbers.load()
    hot = {f"{part}_labels": split.labels.astype(np.uint8) for part, split in one.parts().items()}
    two = file_of(tmp_path, **hot).load()
    for part in one.parts():
        assert np.array_equal(one.parts()[part].labels, two.parts()[part].labels)
        np.testing.assert_allclose(one.parts()[part].features, arrays()[f"{part}_features"], rtol=1e-6)
        assert one.parts()[part].features.dtype == np.float32


@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.float64])
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)], ids=["flat", "column"])
def test_class_numbers_of_any_type_and_as_a_column_mean_the_same(tmp_path, kind, shape):
    """A9: unsigned labels crashed, a column was taken for multi-hot."""
    one = file_of(tmp_path).load()
    changed = {name: value.astype(kind).reshape(shape) for name, value in arrays().items() if name.endswith("labels")}
    two = file_of(tmp_path, **changed).load()
    for part in one.parts():
        assert np.array_equal(one.parts()[part].labels, two.parts()[part].labels)


def test_one_column_of_0_and_1_is_class_numbers_and_says_so(tmp_path):
    """A9: all parts are looked at together, and nothing is read silently that could be meant in two ways."""
    changed = {name: value[:, None] for name, value in arrays(2).items() if name.endswith("labels")}
    with pytest.warns(UserWarning, match="read as class numbers"):
        assert file_of(tmp_path, **changed).load().query.labels.shape == (5, 2)
    bools = {name: value.astype(bool) for name, value in changed.items()}
    assert file_of(tmp_path, **bools).load().query.labels.shape == (5, 1)


def test_attributes(tmp_path):
    dataset = file_of(tmp_path)
    assert (dataset.name, dataset.backbone, dataset.miniature, dataset.map_cutoff) == ("mine", None, False, 1000)
    revision = dataset.revision
    assert file_of(tmp_path, map_cutoff=np.array(7)).map_cutoff == 7
    assert file_of(tmp_path, map_cutoff=np.array(7)).revision != revision


def drawn_from(tmp_path, options, **changes):
    file_of(tmp_path, **changes)
    return get_dataset(f"features:{tmp_path / 'mine.npz'}", **options)


def test_training_rows_are_drawn_anew_in_another_imbalance(tmp_path):
    """As many as the file trains on, from its database rows alone, and queries and database stay what they are."""
    labels = np.repeat(np.arange(3), [40, 30, 30])
    changes = {"database_features": np.arange(400.0).reshape(100, 4), "database_labels": labels}
    own = file_of(tmp_path, **changes)
    told = {}
    for imbalance in ("balanced", "exponential:5"):
        dataset = drawn_from(tmp_path, {"imbalance": imbalance}, **changes)
        splits = dataset.load()
        rows = splits.train.features[:, 0] / 4
        assert sorted(set(rows)) == list(rows)
        assert np.array_equal(splits.train.labels, splits.database.labels[rows.astype(int)])
        assert np.array_equal(splits.query.features, own.load().query.features)
        told[imbalance] = sorted(splits.train.labels.sum(axis=0)), dataset.revision, dataset.title
    assert told["balanced"][0] == [4, 4, 4]
    assert told["balanced"][2] == "mine, imbalance balanced"
    assert told["exponential:5"][0] == [2, 3, 7]
    assert len({own.revision, told["balanced"][1], told["exponential:5"][1]}) == 3
    assert file_of(tmp_path, **changes).revision == own.revision
    larger = drawn_from(tmp_path, {"imbalance": "balanced", "train_size": 30}, **changes)
    other = drawn_from(tmp_path, {"imbalance": "balanced", "train_size": 30, "split_seed": 1}, **changes)
    assert len(larger.load().train) == 30
    assert "30 training rows" in larger.title
    assert not np.array_equal(larger.load().train.features, other.load().train.features)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"imbalance": "steep"}, r"features\.imbalance 'steep'.*or own"),
        ({"train_size": 5}, "give features.imbalance too"),
        ({"split_seed": 1}, "give features.imbalance too"),
        ({"imbalance": "balanced", "train_size": -1}, "features.train_size"),
    ],
)
def test_wrong_drawings_are_refused_before_the_file_is_read(tmp_path, options, told):
    with pytest.raises(UsageError, match=told):
        drawn_from(tmp_path, options, train_features=None)


def test_rows_of_several_labels_are_not_drawn_by_class(tmp_path):
    several = {
        f"{part}_labels": np.ones((n, 2), np.uint8) for part, n in (("train", 12), ("query", 5), ("database", 20))
    }
    with pytest.raises(UsageError, match=r"mine\.npz has rows of several labels.*leave the option out"):
        drawn_from(tmp_path, {"imbalance": "balanced"}, **several).check()


def test_names_of_classes_and_rows(tmp_path):
    ids = {f"{part}_ids": np.array([f"{part}{n % 4}" for n in range(size)])
           for part, size in (("train", 12), ("query", 5), ("database", 20))}  # fmt: skip
    splits = file_of(tmp_path, class_names=np.array(["a", "b", "c"]), **ids).load()
    assert splits.class_names == ["a", "b", "c"]
    assert audit(splits, 5).parts["train"].duplicates == 8


def test_unlabelled_rows_and_classes_absent_from_training(tmp_path):
    splits = file_of(tmp_path, train_labels=np.array([-1] * 6 + [0, 1] * 3)).load()
    assert splits.train.labels.shape == (12, 3)
    assert not splits.train.labels[:6].any()


def nan(rows, *where):
    array = np.ones((rows, 4))
    array[list(where), 1] = np.nan
    return array


BAD = {
    "train_features lacks": ({"train_features": None}, "lacks train_features; it has "),
    "all labels lack": (
        {f"{part}_labels": None for part in ("train", "query", "database")},
        "lacks train_labels, query_labels, database_labels",
    ),
    "NaN": ({"query_features": nan(5, 2, 3)}, "array query_features: row 2 holds NaN or infinity (2 such rows)"),
    "too large for float32": ({"query_features": np.full((5, 4), 1e300)}, "row 0 holds NaN or infinity"),
    "another width": ({"database_features": np.ones((20, 5))}, "array database_features: 5 columns, expected 4"),
    "one dimension": ({"train_features": np.ones(12)}, "array train_features: shape (12,)"),
    "words": ({"train_features": np.array([["a"]])}, "array train_features: shape (1, 1) of <U1"),
    "no rows": ({"query_features": np.ones((0, 4))}, "array query_features: empty"),
    "too few labels": ({"query_labels": np.arange(4)}, "array query_labels: shape (4,), expected 5 rows"),
    "a bare number": ({"query_labels": np.array(3)}, "array query_labels: shape ()"),
    "mixed formats": ({"query_labels": np.eye(5, 3)}, "array query_labels: multi-hot, but train_labels is class"),
    "labels of another width": (
        {"train_labels": np.eye(12, 3), "query_labels": np.eye(5, 4), "database_labels": np.eye(20, 3)},
        "array query_labels: labels: 4 columns, expected 3",
    ),
    "fractions": ({"query_labels": np.arange(5) / 2}, "array query_labels: labels: class numbers of type float64"),
    "a huge class number": (
        {"query_labels": np.array([0, 1, 10**9, 0, 0])},
        "array query_labels: labels: class number 1000000000",
    ),
    "below -1": ({"query_labels": np.array([0, 1, -2, 0, 0])}, "array query_labels: labels: class number -2"),
    "a cut-off below nothing": ({"map_cutoff": np.array(-1)}, "array map_cutoff: expected one whole number"),
    "pickled": ({"query_labels": np.array([{}] * 5, object)}, "array query_labels: cannot be read"),
    "class names too few": ({"class_names": np.array(["a"])}, "array class_names: 1 names, expected 3"),
    "row names too few": ({"query_ids": np.array(["a"])}, "array query_ids: 1 names, expected 5"),
}


@pytest.mark.parametrize("kind", BAD)
def test_malformed_arrays_are_one_line(tmp_path, kind):
    changes, message = BAD[kind]
    dataset = file_of(tmp_path, **changes)
    for _ in range(2):  # a file found wanting is not remembered as sound
        with pytest.raises(UsageError) as caught:
            dataset.check()
        assert message in str(caught.value)
        assert str(tmp_path / "mine.npz") in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("content", "message"), [(b"", "is no npz file"), (b"PK\x03\x04 cut", "is no npz file")])
def test_files_that_are_no_npz(tmp_path, content, message):
    (tmp_path / "mine.npz").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        get_dataset(f"features:{tmp_path / 'mine.npz'}").check()
    np.save(tmp_path / "mine.npy", np.ones(3))
    with pytest.raises(UsageError, match="one bare array"):
        get_dataset(f"features:{tmp_path / 'mine.npy'}").check()
    with pytest.raises(UsageError, match="does not exist"):
        get_dataset("features:nowhere.npz")


def test_a_sound_file_is_examined_once(tmp_path, monkeypatch):
    dataset = file_of(tmp_path)
    dataset.check()
    monkeypatch.setattr(type(dataset), "load", lambda self: pytest.fail("read again"))
    dataset.check()


def test_a_cut_off_of_0_is_shown_as_all(tmp_path, capsys):
    dataset = file_of(tmp_path, map_cutoff=np.array(0))
    assert dataset.map_cutoff == 0
    spec = f"features:{tmp_path / 'mine.npz'}"
    words = ["--results", str(tmp_path / "results"), "--reports", str(tmp_path / "reports")]
    assert main(["run", "--datasets", spec, "--methods", "lsh", "--bits", "8", "--jobs", "1", *words]) == 0
    told = capsys.readouterr()
    assert "MAP@all" in told.out + told.err
    table = next((tmp_path / "reports" / "default" / "tables").glob("map*.md")).read_text()
    assert "MAP@all" in table
    assert "k = all" in table
