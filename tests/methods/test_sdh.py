"""SDH: every step lowers the objective, the classifier solves its equations, unlabelled rows stay out."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark import Split, UsageError, get_method
from benchmark.shallow.projections import signs

SDH = get_method("sdh")
sdh = sys.modules[SDH.__module__]


def classes(items=120, dimension=6, count=4, seed=0):
    rng = np.random.default_rng(seed)
    label = np.arange(items) % count
    return rng.standard_normal((count, dimension))[label] * 2 + rng.standard_normal((items, dimension)), label


def objective(codes, targets, classifier, phi, projection, weight, nu):
    fit = ((targets - codes @ classifier) ** 2).sum() + weight * (classifier**2).sum()
    return fit + nu * ((codes - phi @ projection) ** 2).sum()


def plain_sweep(codes, targets, classifier, phi, projection, nu):
    """One sweep over all bits of all rows; each bit tries both values and keeps the better, the old one if equal."""
    codes = codes.astype(float)
    for k in range(codes.shape[1]):
        for i in range(len(codes)):
            cost = {}
            for bit in (-1.0, 1.0):
                row = codes[i].copy()
                row[k] = bit
                fit = ((targets[i] - row @ classifier) ** 2).sum()
                cost[bit] = fit + nu * ((row - phi[i] @ projection) ** 2).sum()
            if abs(cost[1.0] - cost[-1.0]) > 1e-12:
                codes[i, k] = min(cost, key=cost.get)
    return codes


def problem(seed, items=20, bits=5, count=3, width=4):
    rng = np.random.default_rng(seed)
    codes = signs(rng.standard_normal((items, bits)))
    targets = np.eye(count)[rng.integers(0, count, items)]
    return codes, targets, rng.standard_normal((items, width)), rng.standard_normal((width, bits))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 1e-5, 0.5]))
def test_codes_equal_the_plain_loop_and_never_raise_the_objective(seed, nu):
    codes, targets, phi, projection = problem(seed)
    classifier = sdh.best_classifier(codes, targets, 1.0)
    pull = targets @ classifier.T + nu * phi @ projection
    expected = codes
    for sweeps in range(1, 4):
        expected = plain_sweep(expected, targets, classifier, phi, projection, nu)
        got = sdh.best_codes(codes, classifier, pull, sweeps)
        np.testing.assert_array_equal(got, expected)
    before = objective(codes, targets, classifier, phi, projection, 1.0, nu)
    assert objective(got, targets, classifier, phi, projection, 1.0, nu) <= before + 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_the_objective_falls_bit_by_bit(seed):
    codes, targets, phi, projection = problem(seed)
    classifier = sdh.best_classifier(codes, targets, 1.0)
    pull = targets @ classifier.T + 0.1 * phi @ projection
    swept = sdh.best_codes(codes, classifier, pull, 1)
    states = [np.hstack([swept[:, :k], codes[:, k:]]) for k in range(codes.shape[1] + 1)]
    values = [objective(state, targets, classifier, phi, projection, 1.0, 0.1) for state in states]
    assert np.all(np.diff(values) <= 1e-9)


def test_the_classifier_solves_its_normal_equations():
    codes, targets, _, _ = problem(0)
    classifier = sdh.best_classifier(codes, targets, 0.7)
    wide = codes.astype(float)
    np.testing.assert_allclose(wide.T @ (wide @ classifier - targets) + 0.7 * classifier, 0, atol=1e-9)


def test_enough_bits_fit_any_labels_as_the_weight_goes_to_zero():
    codes = signs(np.random.default_rng(0).standard_normal((6, 16)))
    assert np.linalg.matrix_rank(codes.astype(float)) == 6
    targets = np.eye(6)
    error = [np.abs(targets - codes @ sdh.best_classifier(codes, targets, w)).max() for w in (1, 1e-3, 1e-8)]
    assert error[0] > error[1] > error[2]
    assert error[2] < 1e-6


def test_a_zero_keeps_the_old_bit():
    codes = signs(np.random.default_rng(0).standard_normal((7, 3)))
    np.testing.assert_array_equal(sdh.best_codes(codes, np.zeros((3, 2)), np.zeros((7, 3))), codes)


def test_classes_come_apart_out_of_sample():
    rows, label = classes(400)
    codes = SDH(16).fit(Split(features=rows[:300], labels=label[:300])).encode(Split(features=rows[300:]))
    agreement = codes.astype(int) @ codes.T.astype(int)
    same = label[300:, None] == label[300:]
    assert agreement[same].mean() > agreement[~same].mean() + 8


def test_unlabelled_rows_change_nothing_but_the_mean():
    rows, label = classes()
    noise = np.random.default_rng(5).standard_normal((30, 6)) * 9
    more = Split(features=np.vstack([rows, noise]), labels=np.concatenate([label, np.full(30, -1)]))
    query = Split(features=rows)
    plain = SDH(8, scaling="l2").fit(Split(features=rows, labels=label)).encode(query)
    np.testing.assert_array_equal(SDH(8, scaling="l2").fit(more).encode(query), plain)


def test_without_labels_it_declines():
    unlabelled = Split(features=np.ones((3, 2)), labels=np.zeros((3, 4), bool))
    assert "no training row has one" in SDH.unsupported(unlabelled, 8)
    with pytest.raises(UsageError, match="sdh"):
        SDH(8).fit(unlabelled)


def test_the_width_is_the_mean_distance_to_the_nearest_other_anchor():
    rows = np.array([[0.0, 0], [3, 4], [0, 1]], np.float32)
    squares = ((rows[:, None] - rows[None, [0, 1]]) ** 2).sum(axis=2)
    nearest = [5.0, 5.0, 1.0]  # rows 0 and 1 are the anchors and may not choose themselves
    assert sdh.nearest_anchor(squares, np.array([0, 1])) == pytest.approx(np.mean(nearest))
    assert sdh.nearest_anchor(np.zeros((1, 1)), np.array([0])) == 1.0


def test_many_labels_per_row_are_fine():
    rows, _ = classes()
    hot = np.random.default_rng(0).random((120, 5)) < 0.4
    codes = SDH(12).fit(Split(features=rows, labels=hot)).encode(Split(features=rows))
    assert codes.shape == (120, 12)
    assert set(np.unique(codes)) <= {-1, 1}
