"""Discrete steps: each lowers the objective, bit by bit; the classifier solves its equations."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.shallow import best_classifier, best_codes, signs


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
    classifier = best_classifier(codes, targets, 1.0)
    pull = targets @ classifier.T + nu * phi @ projection
    expected = codes
    for sweeps in range(1, 4):
        expected = plain_sweep(expected, targets, classifier, phi, projection, nu)
        got = best_codes(codes, classifier @ classifier.T, pull, sweeps)
        np.testing.assert_array_equal(got, expected)
    before = objective(codes, targets, classifier, phi, projection, 1.0, nu)
    assert objective(got, targets, classifier, phi, projection, 1.0, nu) <= before + 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_the_objective_falls_bit_by_bit(seed):
    codes, targets, phi, projection = problem(seed)
    classifier = best_classifier(codes, targets, 1.0)
    pull = targets @ classifier.T + 0.1 * phi @ projection
    swept = best_codes(codes, classifier @ classifier.T, pull, 1)
    states = [np.hstack([swept[:, :k], codes[:, k:]]) for k in range(codes.shape[1] + 1)]
    values = [objective(state, targets, classifier, phi, projection, 1.0, 0.1) for state in states]
    assert np.all(np.diff(values) <= 1e-9)


def test_the_classifier_solves_its_normal_equations():
    codes, targets, _, _ = problem(0)
    classifier = best_classifier(codes, targets, 0.7)
    wide = codes.astype(float)
    np.testing.assert_allclose(wide.T @ (wide @ classifier - targets) + 0.7 * classifier, 0, atol=1e-9)


def test_enough_bits_fit_any_labels_as_the_weight_goes_to_zero():
    codes = signs(np.random.default_rng(0).standard_normal((6, 16)))
    assert np.linalg.matrix_rank(codes.astype(float)) == 6
    targets = np.eye(6)
    error = [np.abs(targets - codes @ best_classifier(codes, targets, w)).max() for w in (1, 1e-3, 1e-8)]
    assert error[0] > error[1] > error[2]
    assert error[2] < 1e-6


def test_a_zero_keeps_the_old_bit():
    codes = signs(np.random.default_rng(0).standard_normal((7, 3)))
    np.testing.assert_array_equal(best_codes(codes, np.zeros((3, 3)), np.zeros((7, 3))), codes)


def test_the_coupling_is_left_as_it_was_and_its_diagonal_does_not_matter():
    rng = np.random.default_rng(0)
    codes, pull, half = signs(rng.standard_normal((9, 4))), rng.standard_normal((9, 4)), rng.standard_normal((4, 4))
    coupling = half @ half.T
    kept = coupling.copy()
    found = best_codes(codes, coupling, pull)
    np.testing.assert_array_equal(coupling, kept)
    np.testing.assert_array_equal(best_codes(codes, coupling + np.diag([5.0, 0, 1, 9]), pull), found)
