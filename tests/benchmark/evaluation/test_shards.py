"""A database may be arrays, files or shards of them; a bad one is named."""

import numpy as np
import pytest

from benchmark.errors import UsageError
from benchmark.evaluation.codes import pack
from benchmark.evaluation.counting import Counts, count
from benchmark.evaluation.metrics import score_counts
from benchmark.evaluation.shards import TILE, FileRows, Shard


def random_case(seed, bits, queries, items, classes, share):
    random = np.random.default_rng(seed)
    codes = [np.where(random.random((n, bits)) < 0.5, -1, 1) for n in (queries, items)]
    labels = [random.random((n, classes)) < share for n in (queries, items)]
    return codes[0], codes[1], labels[0], labels[1]


def test_files_are_read_in_place(tmp_path):
    query, database, query_labels, database_labels = case = random_case(6, 24, 4, TILE + 100, 12, 0.2)
    expected = count(*case, kernel="numpy").counts
    np.save(tmp_path / "codes.npy", pack(database))
    np.save(tmp_path / "labels.npy", np.packbits(database_labels, axis=1))
    packed = {"bits": 24, "classes": 12}
    paths = tmp_path / "codes.npy", tmp_path / "labels.npy"
    for which in ("numpy", "numba"):
        found = count(query, paths[0], query_labels, paths[1], kernel=which, **packed).counts
        np.testing.assert_array_equal(found, expected)
        mapped = [np.load(path, mmap_mode="r") for path in paths]
        found = count(pack(query), mapped[0], np.packbits(query_labels, axis=1), mapped[1], kernel=which, **packed)
        np.testing.assert_array_equal(found.counts, expected)


def test_rows_of_a_file_can_be_cut_again(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(20).reshape(10, 2))
    rows = FileRows.whole(tmp_path / "rows.npy").part(2, 8)
    assert len(rows) == 6
    np.testing.assert_array_equal(rows.part(1, 4)[1:], np.arange(20).reshape(10, 2)[4:6])


@pytest.mark.parametrize(
    ("database", "labels", "options", "message"),
    [
        (np.ones((2, 4)), None, {}, "database labels: missing"),
        ([np.ones((2, 4))], None, {}, "shard 0: ndarray, expected a pair"),
        ([(np.ones((2, 4)), [0])], None, {}, "1 row, expected 2"),
        ("nowhere.npy", [0, 1], {}, "nowhere.npy: cannot be read"),
        (np.ones((2, 4)), [0, 1], {"kernel": "cuda"}, "kernel: 'cuda'"),
        (np.ones((2, 4)), np.ones((2, 3)), {}, "database labels: 3 columns, expected 2"),
    ],
)
def test_a_bad_database_is_named(database, labels, options, message):
    with pytest.raises(UsageError, match=message):
        count(np.ones((1, 4)), database, np.ones((1, 2)), labels, **options)


def test_no_shards_at_all_count_nothing():
    counts = count(np.ones((2, 4)), [], [0, 1])
    assert counts.counts.shape == (2, 5, 2)
    assert counts.database_size == 0
    with pytest.raises(UsageError, match="database codes: no rows"):
        score_counts(counts)
    assert isinstance(counts + counts, Counts)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64])
def test_a_file_with_a_column_of_class_numbers_is_read_as_such(tmp_path, kind):
    """A9: in a file, too."""
    numbers = np.array([0, 4, 2, 0, 200])
    np.save(tmp_path / "codes.npy", np.ones((5, 4)))
    np.save(tmp_path / "labels.npy", numbers[:, None].astype(kind))
    counts = count(np.ones((3, 4)), tmp_path / "codes.npy", [0, 2, 3], tmp_path / "labels.npy")
    assert counts.relevant.sum(axis=1).tolist() == [2, 1, 0]


def test_an_empty_file_is_no_rows(tmp_path):
    np.save(tmp_path / "codes.npy", np.ones((0, 4)))
    np.save(tmp_path / "labels.npy", np.zeros(0, int))
    assert count(np.ones((1, 4)), tmp_path / "codes.npy", [0], tmp_path / "labels.npy").database_size == 0


def test_lists_of_labels_are_split_with_their_rows():
    shard = Shard.of(np.arange(10).reshape(5, 2), [{0}, {1, 2}, set(), {3}, {0, 3}])
    parts = shard.split(2)
    assert [len(part) for part in parts] == [2, 3]
    assert parts[1].labels.numbers.tolist() == [3, 0, 3]
