"""Accelerated gradient descent on a function of projected rows, for methods that learn one projection at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Cost = Callable[[np.ndarray], tuple[float, np.ndarray]]  # of the values of all rows: the cost, and its slope in them
DOUBLINGS = 51  # of beta in one step; after that no step helps


def accelerated_descent(
    rows: np.ndarray, cost_of: Cost, start: np.ndarray, settled: float, steps: int = 500
) -> np.ndarray:
    """Nesterov's accelerated gradient on a -> cost of `rows` a: the step 1 / beta only shrinks, until the quadratic
    bound holds. Stops when the cost changes by no more than `settled`, or no step satisfies the bound.

    `seen` are the values of all rows for the vector of the same name: kept up by their linearity, so that a trial of
    beta costs no product with the rows.
    """
    now, seen = start, rows @ start
    before, seen_before = now, seen
    cost, _ = cost_of(seen)
    theta_before, theta, beta = 0.0, 1.0, 1.0
    for _ in range(steps):
        push = (theta_before - 1) / theta
        ahead, seen_ahead = now + push * (now - before), seen + push * (seen - seen_before)
        cost_ahead, slope = cost_of(seen_ahead)
        gradient = rows.T @ slope
        turned, steepness = rows @ gradient, gradient @ gradient
        for _ in range(DOUBLINGS):
            seen_next = seen_ahead - turned / beta
            cost_next, _ = cost_of(seen_next)
            if cost_next <= cost_ahead - steepness / beta / 2:  # with the step -gradient / beta
                break
            beta *= 2
        else:
            return now
        before, now, seen_before, seen = now, ahead - gradient / beta, seen, seen_next
        theta_before, theta = theta, (1 + math.sqrt(1 + 4 * theta**2)) / 2
        if abs(cost_next - cost) <= settled:
            return now
        cost = cost_next
    return now
