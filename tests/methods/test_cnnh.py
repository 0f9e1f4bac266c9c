"""CNNH: stage 1 lowers its loss and finds clean codes; stage 2 learns the code of the right row."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from benchmark import LabelSimilarity, PairSimilarity, Split, get_method
from benchmark.deep import Training

SHORT = Training(train="hash", steps=200, batch=64, device="cpu")


@pytest.fixture
def stage() -> Any:
    return sys.modules[get_method("cnnh").__module__]


def problem(seed: int, size: int = 30, bits: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random codes in [-1, 1], a random symmetric S over {-1, 1} and a symmetric mask of known pairs."""
    random = np.random.default_rng(seed)
    codes = random.uniform(-1, 1, (size, bits))
    similar, known = (np.triu(random.random((size, size)) < share) for share in (0.4, 0.8))
    np.fill_diagonal(similar, True)
    np.fill_diagonal(known, True)
    return codes, np.where(similar | similar.T, 1.0, -1.0), (known | known.T).astype(float)


def loss_of(codes: np.ndarray, target: np.ndarray, known: np.ndarray) -> float:
    return float((known * (codes @ codes.T - codes.shape[1] * target) ** 2).sum())


@pytest.mark.parametrize("masked", [False, True])
def test_derivatives_against_finite_differences(stage: Any, masked: bool) -> None:
    codes, target, known = problem(0)
    known = known if masked else np.ones_like(known)
    rows, bit, tiny = np.arange(5, 12), 2, 1e-4
    gap = (known * (codes @ codes.T - codes.shape[1] * target))[rows]
    column = codes[:, bit]
    own = gap[np.arange(len(rows)), rows]
    slope, curvature = stage.derivatives(gap @ column, known[rows] @ column**2, column[rows], own)
    for place, row in enumerate(rows):
        values = []
        for step in (-tiny, 0, tiny):
            moved = codes.copy()
            moved[row, bit] += step
            values.append(loss_of(moved, target, known))
        assert slope[place] == pytest.approx((values[2] - values[0]) / (2 * tiny), rel=1e-5)
        assert curvature[place] == pytest.approx((values[2] - 2 * values[1] + values[0]) / tiny**2, rel=1e-3)


def test_joint_change_of_the_loss_is_exact(stage: Any) -> None:
    codes, target, known = problem(1)
    rows, bit = np.arange(4, 15), 1
    gap = (known * (codes @ codes.T - codes.shape[1] * target))[rows]
    move = np.random.default_rng(2).uniform(-0.5, 0.5, len(rows))
    column, mask = codes[:, bit], known[rows]
    within = gap[:, rows], mask[:, rows]
    coefficients = stage.loss_change(move, column[rows], gap @ column, mask @ column**2, *within)
    for fraction in (1.0, 0.5, 0.1):
        moved = codes.copy()
        moved[rows, bit] += fraction * move
        expected = loss_of(moved, target, known) - loss_of(codes, target, known)
        assert coefficients @ fraction ** np.arange(1, 5) == pytest.approx(expected)


def test_stage_one_never_raises_its_loss(stage: Any) -> None:
    codes, target, known = problem(3, size=60, bits=6)
    codes = codes.astype(np.float32)
    before = loss_of(codes, target, known)
    for first in (0, 20, 40, 0, 20, 40):
        rows = np.arange(first, first + 20)
        stage.improve(codes, rows, target[rows], known[rows])
        after = loss_of(codes, target, known)
        assert after <= before * (1 + 1e-6)
        assert np.abs(codes).max() <= 1
        before = after


def test_clean_classes_get_one_code_each(stage: Any) -> None:
    labels = np.arange(40) % 2
    start = np.random.default_rng(0).uniform(-1, 1, (40, 8))
    codes = stage.fit_codes(LabelSimilarity(np.eye(2, dtype=bool)[labels]), start, 10) > 0
    for label in (0, 1):
        assert (codes[labels == label] == codes[labels == label][0]).all()
    assert (codes[0] != codes[1]).all()


def test_one_item_and_a_few_pairs_are_no_trouble(stage: Any) -> None:
    assert np.isfinite(stage.fit_codes(LabelSimilarity(np.ones((1, 1), bool)), np.full((1, 3), 0.5), 3)).all()
    few = PairSimilarity(5, np.array([[0, 1]]), np.array([False]))
    codes = stage.fit_codes(few, np.random.default_rng(1).uniform(-1, 1, (5, 4)), 10)
    assert codes[0] @ codes[1] == pytest.approx(-4, abs=0.1)


def test_the_network_learns_the_codes_of_the_right_rows() -> None:
    """Rows are told apart by their features alone, so a shift between the stages would show at once."""
    labels = np.random.default_rng(0).permutation(np.arange(200) % 4)
    train = Split(features=10 * np.eye(4, dtype=np.float32)[labels], labels=labels)
    method = get_method("cnnh")(12, training=SHORT).fit(train)
    assert (method.encode(train) == method._codes.numpy()).mean() > 0.99
