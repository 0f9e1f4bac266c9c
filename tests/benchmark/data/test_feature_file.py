"""Arrays of a features file: read by name, checked each by each; a fault names the file and the array."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.feature_file import MAP_CUTOFF, FeatureFile
from benchmark.errors import UsageError


def held(**arrays: Any) -> FeatureFile:
    """As if it had been read."""
    return FeatureFile(Path("mine.npz"), {name: np.asarray(array) for name, array in arrays.items()})


def test_what_is_asked_for_is_read_and_nothing_else(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", a=np.arange(3), b=np.ones(2), pickled=np.array([{}], object))
    found = FeatureFile.read(tmp_path / "f.npz", ["a"], ["b", "c"])
    assert set(found.arrays) == {"a", "b"}
    np.testing.assert_array_equal(found.arrays["a"], np.arange(3))
    with pytest.raises(UsageError, match="lacks c, d; it has a, b, pickled"):
        FeatureFile.read(tmp_path / "f.npz", ["a", "c", "d"])
    with pytest.raises(UsageError, match="array pickled: cannot be read"):
        FeatureFile.read(tmp_path / "f.npz", ["pickled"])


def test_a_file_that_may_not_be_read_is_not_called_a_wrong_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    np.savez(tmp_path / "f.npz", a=np.arange(3))
    monkeypatch.setattr(np, "load", refused)  # by no rights of a file, which a test as root would not feel
    with pytest.raises(UsageError, match=r"f\.npz cannot be read: Permission denied$"):
        FeatureFile.read(tmp_path / "f.npz", ["a"])


def test_one_bare_array_is_no_features_file(tmp_path: Path) -> None:
    with (tmp_path / "f.npz").open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(UsageError, match="one bare array, expected an npz of named arrays"):
        FeatureFile.read(tmp_path / "f.npz", ["a"])


def test_the_whole_database_is_0() -> None:
    assert held(map_cutoff=0).map_cutoff() == 0


@pytest.mark.parametrize("value", [7, [7], [[7]], np.uint8(7)])
def test_the_cut_off_is_one_whole_number(value: Any) -> None:
    assert held(map_cutoff=value).map_cutoff() == 7
    assert held().map_cutoff() == MAP_CUTOFF


@pytest.mark.parametrize("value", [-1, 7.0, [1, 2], [], "7", True, 10**18])
def test_any_other_cut_off_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match=r"mine\.npz, array map_cutoff: expected one whole number from 1"):
        held(map_cutoff=value).map_cutoff()


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int8, np.uint64])
def test_features_of_any_type_of_number_become_float32(kind: Any) -> None:
    rows = np.arange(6).reshape(3, 2).astype(kind)
    found = held(a_features=rows, b_features=rows[:1]).features(["a", "b"])
    assert {part: array.dtype for part, array in found.items()} == {"a": np.float32, "b": np.float32}
    np.testing.assert_array_equal(found["a"], rows)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones(3), "shape (3,) of float64, expected (n, d) numbers"),
        (np.ones((2, 2), bool), "of bool, expected"),
        (np.ones((0, 2)), "empty, shape (0, 2)"),
        (np.ones((2, 3)), "3 columns, expected 2 as a_features"),
        (np.array([[1, 2], [np.inf, 0], [0, np.nan]]), "row 1 holds NaN or infinity (2 such rows)"),
        (np.array([[1e300, 0]]), "row 0 holds NaN or infinity"),
    ],
)
def test_other_features_are_refused_by_array(rows: np.ndarray, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        held(a_features=np.ones((2, 2)), b_features=rows).features(["a", "b"])
    assert str(caught.value).startswith("features file mine.npz, array b_features: ")
    assert message in str(caught.value)


def test_labels_of_all_parts_have_the_width_of_the_greatest_class() -> None:
    found = held(
        a_features=np.ones((3, 1)), b_features=np.ones((2, 1)), a_labels=[0, 1, -1], b_labels=[[3], [0]]
    ).labels(["a", "b"])  # fmt: skip
    np.testing.assert_array_equal(found["a"], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(found["b"], [[0, 0, 0, 1], [1, 0, 0, 0]])


def test_names_are_as_many_as_asked_for_and_blank_ends_do_not_count() -> None:
    file = held(class_names=[" a ", "b"])
    assert file.names("class_names", 2) == ["a", "b"]
    assert file.names("query_ids", 2) is None
    with pytest.raises(UsageError, match="array class_names: 2 names, expected 3"):
        file.names("class_names", 3)
    with pytest.raises(UsageError, match="array class_names: name"):
        held(class_names=["a\nb", "c"]).names("class_names", 2)
