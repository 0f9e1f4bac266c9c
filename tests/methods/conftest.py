"""What the tests of class-based methods share: rows of easy classes, some without a label, and what they teach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmark import Split, evaluate, get_method
from benchmark.deep import Training


def fit_beside_unlabelled_rows(name: str, several: bool = False, **parameters: Any) -> tuple[Any, float]:
    """The method, fitted on four easy classes of which every fifth row has lost its labels, and its MAP on all rows.

    With `several`, the rows of two classes have a fifth label in common.
    """
    random = np.random.default_rng(0)
    classes = np.arange(120) % 4
    features = (3 * random.standard_normal((4, 16))[classes] + random.standard_normal((120, 16))).astype(np.float32)
    labels = np.eye(5, dtype=bool)[classes]
    labels[:, 4] = several & (classes < 2)
    shown = labels.copy()
    shown[::5] = False
    training = Training(train="hash", steps=100, batch=16, learning_rate=0.01, device="cpu")
    method = get_method(name)(16, training=training, **parameters).fit(Split(features=features, labels=shown))
    codes = method.encode(Split(features=features))
    return method, evaluate(codes, codes, labels, labels, k=None).map


@pytest.fixture
def beside_unlabelled_rows() -> Callable[..., tuple[Any, float]]:
    return fit_beside_unlabelled_rows
