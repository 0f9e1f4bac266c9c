"""Principal directions: those of the singular value decomposition, exact or by a Krylov space."""

import numpy as np
import pytest

from benchmark import UsageError
from benchmark.shallow import principal
from benchmark.shallow.principal import fix_signs, principal_directions


def test_principal_directions_equal_those_of_the_singular_value_decomposition():
    rows = np.random.default_rng(0).standard_normal((200, 10)) * np.arange(1, 11) + 5
    mean, directions = principal_directions(rows, 4)
    _, _, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(mean, rows.mean(axis=0))
    np.testing.assert_allclose(directions, fix_signs(right[:4].T), atol=1e-8)


def decaying_rows(items, dimension):
    rng = np.random.default_rng(1)
    spectrum = 1 / np.sqrt(1 + np.arange(dimension))
    basis = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    return (rng.standard_normal((items, dimension)) * spectrum @ basis + 1).astype(np.float32)


def test_krylov_space_holds_the_variance_of_the_exact_directions(monkeypatch):
    rows = decaying_rows(1500, 600)
    _, exact = principal_directions(rows, 16)
    monkeypatch.setattr(principal, "EXACT_DIMENSION", 1)
    _, krylov = principal_directions(rows, 16)
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose((centred @ krylov).var(axis=0), (centred @ exact).var(axis=0), rtol=1e-4)
    np.testing.assert_allclose(krylov.T @ krylov, np.eye(16), atol=1e-6)


def test_more_directions_than_columns_is_an_error():
    with pytest.raises(UsageError, match="use fewer bits"):
        principal_directions(np.ones((5, 3)), 4)
