"""Accelerated descent: against a plain loop, to the minimum that is known, never upwards, and at an end of its own."""

import numpy as np
import pytest

from benchmark.shallow import accelerated_descent


def squares(targets):
    """The cost sum (v - t)^2 of values v."""
    return lambda values: (float(((values - targets) ** 2).sum()), 2 * (values - targets))


def waves(targets):
    """Not convex: sum of 1 - cos(v - t)."""
    return lambda values: (float((1 - np.cos(values - targets)).sum()), np.sin(values - targets))


def problem(seed, items=12, columns=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((items, columns)), rng.standard_normal(items), rng.standard_normal(columns)


def plain(rows, cost_of, start, settled, steps):
    """The same, everything computed anew from the vector."""

    def cost(vector):
        return cost_of(rows @ vector)[0]

    points, thetas, beta = [start, start], [0.0, 1.0], 1.0
    for _ in range(steps):
        v = points[-1] + (thetas[-2] - 1) / thetas[-1] * (points[-1] - points[-2])
        slope = rows.T @ cost_of(rows @ v)[1]
        while True:
            z = v - slope / beta
            if cost(z) <= cost(v) + slope @ (z - v) + beta / 2 * ((z - v) ** 2).sum():
                break
            beta *= 2
        points.append(z)
        thetas.append((1 + np.sqrt(1 + 4 * thetas[-1] ** 2)) / 2)
        if abs(cost(points[-1]) - cost(points[-2])) <= settled:
            break
    return points[-1]


@pytest.mark.parametrize("kind", [squares, waves])
@pytest.mark.parametrize("steps", [1, 2, 5, 40])
def test_it_equals_the_plain_loop(kind, steps):
    for seed in range(5):
        rows, targets, start = problem(seed)
        found = accelerated_descent(rows, kind(targets), start, settled=0.05, steps=steps)
        np.testing.assert_allclose(found, plain(rows, kind(targets), start, 0.05, steps), rtol=1e-9)


def test_least_squares_are_found():
    rows, targets, start = problem(7, items=40, columns=4)
    expected = np.linalg.lstsq(rows, targets, rcond=None)[0]
    found = accelerated_descent(rows, squares(targets), start, settled=0.0, steps=5000)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_it_never_ends_above_its_start():
    for seed in range(20):
        rows, targets, start = problem(seed)
        cost = waves(targets)
        end = accelerated_descent(rows, cost, start, settled=0.01)
        assert cost(rows @ end)[0] <= cost(rows @ start)[0]


def test_where_no_step_helps_it_stays():
    rows, targets, start = problem(0)
    cost = squares(targets)
    uphill = lambda values: (cost(values)[0], -cost(values)[1])  # noqa: E731
    np.testing.assert_array_equal(accelerated_descent(rows, uphill, start, settled=0.0), start)
