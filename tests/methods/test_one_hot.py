"""One-hot: a codeword for each predicted class."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark import Split, UsageError, get_method


def rows(count: int = 200, classes: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    number = np.arange(count) % classes
    centres = 2 * np.random.default_rng(9).standard_normal((classes, 10))
    return (centres[number] + random.standard_normal((count, 10))).astype(np.float32), number


def test_each_class_has_one_code_and_most_rows_have_that_of_their_class() -> None:
    features, number = rows()
    method = get_method("one-hot")(16).fit(Split(features=features, labels=number))
    others, truth = rows(seed=1)
    codes = method.encode(Split(features=others))
    words = np.unique(codes, axis=0)
    assert len(words) == 5
    assert all((words[i] != words[j]).sum() == 8 for i in range(5) for j in range(i))  # Hadamard rows
    assert (codes == method.words[truth]).all(axis=1).mean() > 0.9


def test_the_classifier_is_the_ridge_regression_of_the_labels() -> None:
    """Against a solver of the same problem with the constant as one more column that costs nothing."""
    features, _ = rows()
    labels = np.random.default_rng(3).random((200, 3)) < 0.4
    method = get_method("one-hot")(8, ridge=0.7).fit(Split(features=features, labels=labels))
    some = labels.any(axis=1)
    assert not some.all()  # rows without a label are left out
    x = np.column_stack([method.scaler.transform(features)[some], np.ones(some.sum())]).astype(np.float64)
    y = labels[some] / labels[some].sum(axis=1, keepdims=True)
    costs = 0.7 * np.diag([1.0] * 10 + [0.0])
    solved = np.linalg.lstsq(np.vstack([x, np.sqrt(costs)]), np.vstack([y, np.zeros((11, 3))]), rcond=None)[0]
    np.testing.assert_allclose(method.weights, solved[:10], atol=1e-8)
    np.testing.assert_allclose(method.start, solved[10], atol=1e-8)


def test_one_class_is_one_code() -> None:
    features, _ = rows(20)
    codes = (
        get_method("one-hot")(8)
        .fit(Split(features=features, labels=np.zeros(20, int)))
        .encode(Split(features=features))
    )
    assert len(np.unique(codes, axis=0)) == 1


def test_more_classes_than_codes_are_declined() -> None:
    features, number = rows()
    with pytest.raises(UsageError, match="one-hot: 5 classes need a code each, but 2 bits have only 4"):
        get_method("one-hot")(2).fit(Split(features=features, labels=number))
