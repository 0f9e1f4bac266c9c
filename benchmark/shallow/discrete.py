"""Codes found bit by bit: the discrete steps of methods that learn codes themselves, not only what predicts them."""

from __future__ import annotations

import numpy as np


def best_classifier(codes: np.ndarray, targets: np.ndarray, weight: float) -> np.ndarray:
    """W = (B^T B + lambda I)^-1 B^T Y, K x c: least ||Y - B W||^2 + lambda ||W||^2."""
    codes = codes.astype(np.float64)
    return np.linalg.solve(codes.T @ codes + weight * np.eye(codes.shape[1]), codes.T @ targets)


def best_codes(codes: np.ndarray, coupling: np.ndarray, pull: np.ndarray, sweeps: int = 10) -> np.ndarray:
    """Discrete cyclic coordinate descent on tr(B C B^T) - 2 tr(B Q^T) over codes B, with C the coupling of bits, K x K,
    and Q the pull, n x K: b_k = sign(q_k - B' c_k), where 0 keeps the bit and C's diagonal does not matter.

    ||Y - B W||^2 + nu ||B - P||^2 is of that kind, with C = W W^T and Q = Y W^T + nu P. Never raises it; stops when a
    sweep changes nothing.
    """
    codes = np.asfortranarray(codes, dtype=np.float64)  # columns are read and written whole
    coupling = coupling.copy()
    np.fill_diagonal(coupling, 0)
    for _ in range(sweeps):
        changed = 0
        for k in range(codes.shape[1]):
            value = pull[:, k] - codes @ coupling[:, k]
            bit = np.where(value == 0, codes[:, k], np.where(value > 0, 1, -1))
            changed += int(np.count_nonzero(bit != codes[:, k]))
            codes[:, k] = bit
        if not changed:
            break
    return codes.astype(np.int8)
