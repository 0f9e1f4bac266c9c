"""Labels as people have them -> multi-hot: class numbers, a column of them, lists of them per row, 0/1 arrays.

What a label array means is read off its shape and type, never off its values, so that no part of a data set is read
otherwise than another: see `as_multi_hot`. Packed labels are known to `evaluation` only.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.arrays import as_array
from benchmark.errors import UsageError
from benchmark.wording import counted

MAX_CLASSES = 10**6  # of class numbers: beyond, they are names of something and no count of classes
_FAR = 2**53  # what does not fit into int64 is beyond any class, and here stays so


def as_multi_hot(labels: Any, classes: int | None = None, drop_others: bool = False) -> np.ndarray:
    """Labels of any customary form as a bool array (n, classes).

    - (n,) or a column (n, 1) of whole numbers of any type: class numbers, -1 meaning unlabelled.
    - A sequence of n rows, each a list, set or array of class numbers (none, one or several): multi-label class
      numbers. Lists of one and the same length, two or more, that hold 0 and 1 only are multi-hot instead, as an
      array of them would be; sets never are.
    - (n, c) of bool, or of 0 and 1, c > 1: multi-hot.
    - (n, 1) of bool: multi-hot of one class. One column of 0 and 1 as *numbers* is class numbers, as said above;
      since one class as multi-hot could be meant, a warning says so, and with `classes=1` it is an error.

    Numpy arrays, lists, tensors, sparse matrices and series will do. classes: the width; by default the highest class
    number + 1. drop_others: a class number of `classes` or more means unlabelled instead of being an error.
    """
    found = read_labels(labels)
    if isinstance(found, LabelLists):
        return _hot(found.rows(), found.numbers, len(found), classes, drop_others)
    if holds_class_numbers(found):
        if found.ndim == 2 and not drop_others:
            _check_column(found, classes)
        numbers = _whole(found.reshape(-1))
        return _hot(np.arange(len(numbers)), numbers, len(numbers), classes, drop_others)
    if found.ndim != 2:
        raise UsageError(f"labels: {counted(found.ndim, 'dimension')}, expected (n,) class numbers or (n, c) multi-hot")
    if found.dtype != bool and not np.isin(found, (0, 1)).all():
        raise UsageError(
            "labels: a multi-hot array may hold 0 and 1 only (class numbers are (n,) or, several per row, lists)"
        )
    if classes is not None and found.shape[1] != classes:
        raise UsageError(f"labels: {counted(found.shape[1], 'column')}, expected {classes}")
    return found.astype(bool)


@dataclass(frozen=True, eq=False)
class LabelLists:
    """Any number of class numbers per row."""

    numbers: np.ndarray  # of all rows, one after another
    edges: np.ndarray  # [n + 1]: row i has numbers[edges[i]:edges[i + 1]]

    @classmethod
    def of(cls, rows: Sequence[np.ndarray]) -> LabelLists:
        numbers = np.concatenate([_whole(row) for row in rows]) if rows else np.zeros(0, np.int64)
        return cls(numbers, np.cumsum([0, *(len(row) for row in rows)]))

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, part: slice) -> LabelLists:
        first, last, _ = part.indices(len(self))
        edges = self.edges[first : max(first, last) + 1]
        return LabelLists(self.numbers[edges[0] : edges[-1]], edges - edges[0])

    def rows(self) -> np.ndarray:
        """The row of each number."""
        return np.repeat(np.arange(len(self)), np.diff(self.edges))


def read_labels(labels: Any) -> np.ndarray | LabelLists:
    """An array of numbers, or lists of class numbers per row; what the array means is `holds_class_numbers`' answer."""
    if isinstance(labels, LabelLists):
        return labels
    given = labels if isinstance(labels, (list, tuple)) else as_array(labels, "labels")
    if isinstance(given, np.ndarray) and given.dtype == object:  # a series of lists, nullable integers
        given = given.tolist()
    found = _of_sequence(given) if isinstance(given, (list, tuple)) else given
    if isinstance(found, np.ndarray) and found.dtype.kind not in "biuf":
        remedy = "names become numbers by np.unique(names, return_inverse=True)[1], over all parts together"
        raise UsageError(f"labels: type {found.dtype}, expected class numbers or multi-hot; {remedy}")
    return found


def holds_class_numbers(array: Any) -> bool:
    """Whether an array (anything with shape and dtype) is class numbers: (n,), or one column that is not bool."""
    return len(array.shape) == 1 or (len(array.shape) == 2 and array.shape[1] == 1 and array.dtype != bool)


def could_be_lists(given: Any, found: np.ndarray | LabelLists) -> bool:
    """Whether lists were read as multi-hot that, beside lists of class numbers, might be such lists as well."""
    return isinstance(given, (list, tuple)) and isinstance(found, np.ndarray) and found.ndim == 2 and found.shape[1] > 1


def class_count(labels: Any) -> int:
    """How many classes labels tell of: their columns, or their highest class number + 1."""
    found = read_labels(labels)
    if not isinstance(found, LabelLists) and not holds_class_numbers(found):
        return int(found.shape[1])
    numbers = found.numbers if isinstance(found, LabelLists) else _whole(found.reshape(-1))
    return _possible(int(numbers.max(initial=-1)) + 1)


def warn_if_ambiguous(*labels: Any) -> None:
    """Say how labels are read that might all be one-class multi-hot: one column of 0 and 1 as numbers, 0 among them."""
    if all(_may_be_multi_hot(one) for one in labels) and any((np.asarray(one) == 0).any() for one in labels):
        warnings.warn(
            "labels: one column of 0 and 1 is read as class numbers, so that two rows of 0 are alike; "
            "give bool where it is multi-hot of one class, shape (n,) where it is class numbers",
            stacklevel=3,
        )


def _may_be_multi_hot(labels: Any) -> bool:
    column = isinstance(labels, np.ndarray) and labels.ndim == 2 and holds_class_numbers(labels)
    return column and bool(np.isin(labels, (0, 1)).all())


def _check_column(column: np.ndarray, classes: int | None) -> None:
    """Refuse what could be read in two ways, warn where one of them is unlikely."""
    if classes == 1:
        raise UsageError(
            f"labels: one column of {column.dtype} with one class may be class numbers or multi-hot; "
            "give bool where it is multi-hot, shape (n,) where it is class numbers"
        )
    if classes is None:
        warn_if_ambiguous(column)


def _of_sequence(labels: Sequence[Any]) -> np.ndarray | LabelLists:
    """A list: of numbers, or of rows that are multi-hot or lists of class numbers."""
    if not any(_is_row(row) for row in labels):
        return as_array(labels, "labels")
    strays = [row for row in labels if not _is_row(row)]
    if strays:
        raise UsageError(f"labels: {strays[0]!r} among rows that are lists; expected a list of class numbers there too")
    if not any(isinstance(row, (set, frozenset)) for row in labels) and len({len(row) for row in labels}) == 1:
        array = as_array(labels, "labels")
        if array.ndim != 2 or array.shape[1] < 2 or np.isin(array, (0, 1)).all():
            return array
    rows = [as_array(sorted(row) if isinstance(row, (set, frozenset)) else row, "labels") for row in labels]
    if any(row.ndim != 1 for row in rows):
        raise UsageError("labels: lists within lists of a row, expected one list of class numbers per row")
    return LabelLists.of(rows)


def _is_row(row: Any) -> bool:
    return isinstance(row, (list, tuple, set, frozenset)) or getattr(row, "ndim", 0) > 0


def _whole(numbers: np.ndarray) -> np.ndarray:
    """Class numbers as int64; UsageError where they are not whole numbers."""
    if not numbers.size:
        return np.zeros(0, np.int64)
    if numbers.dtype == bool:
        raise UsageError(
            "labels: class numbers of type bool, expected integers (0 and 1 for two classes); "
            "a column (n, 1) of bool is multi-hot of one class"
        )
    if numbers.dtype.kind == "f":
        fractions = numbers[~np.isfinite(numbers) | (numbers != np.rint(numbers))]
        if fractions.size:
            raise UsageError(f"labels: class numbers of type {numbers.dtype}, {fractions[0]} among them, not integers")
    elif numbers.dtype.kind not in "iu":
        raise UsageError(f"labels: class numbers of type {numbers.dtype}, expected integers")
    if numbers.dtype.kind == "f":
        return np.clip(numbers.astype(np.float64), -_FAR, _FAR).astype(np.int64)
    return np.minimum(numbers, np.uint64(_FAR)).astype(np.int64) if numbers.dtype == np.uint64 else numbers.astype(int)


def _hot(row: np.ndarray, number: np.ndarray, rows: int, classes: int | None, drop_others: bool) -> np.ndarray:
    """Multi-hot (rows, classes) with `number[i]` set in `row[i]`, both 1-D."""
    if number.size and number.min() < -1:
        raise UsageError(f"labels: class number {number.min()}, expected -1 (unlabelled) or more")
    highest = int(number.max(initial=-1))
    width = highest + 1 if classes is None else classes
    if highest >= width and not drop_others:
        raise UsageError(f"labels: class number {highest}, expected less than {width}")
    try:
        hot = np.zeros((rows, _possible(width)), bool)
    except MemoryError:
        raise UsageError(f"labels: {rows} rows of {width} classes do not fit into memory as multi-hot") from None
    set_ = (number >= 0) & (number < width)
    hot[row[set_], number[set_]] = True
    return hot


def _possible(classes: int) -> int:
    if classes > MAX_CLASSES:
        raise UsageError(
            f"labels: class number {classes - 1}, expected numbers from 0 up, less than {MAX_CLASSES}; "
            "number the classes anew: np.unique(labels, return_inverse=True)[1], over all parts together"
        )
    return classes
