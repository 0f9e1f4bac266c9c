"""PCA-RR: principal components under a random rotation."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark import Split, get_method


@pytest.fixture
def train() -> Split:
    stretched = np.random.default_rng(0).standard_normal((300, 12)) * np.linspace(5, 0.1, 12)
    return Split(features=(3 + stretched).astype(np.float32))


def test_directions_are_orthonormal_and_span_the_principal_ones(train: Split) -> None:
    method = get_method("pca-rr")(4, seed=1, scaling="center").fit(train)
    np.testing.assert_allclose(method.directions.T @ method.directions, np.eye(4), atol=1e-6)
    features: np.ndarray = train.features  # type: ignore[assignment]
    centred = features - features.mean(axis=0)
    _, _, right = np.linalg.svd(centred, full_matrices=False)
    kept = right[:4].T @ (right[:4] @ method.directions)
    np.testing.assert_allclose(kept, method.directions, atol=1e-3)


def test_it_is_itq_before_its_first_iteration(train: Split) -> None:
    codes = [get_method(name)(6, seed=3, **more).fit(train).encode(train) for name, more in
             (("pca-rr", {}), ("itq", {"iterations": 0}))]  # fmt: skip
    np.testing.assert_array_equal(*codes)


def test_rotation_shares_the_variance_among_the_bits(train: Split) -> None:
    method = get_method("pca-rr")(8, seed=0, scaling="center").fit(train)
    projected = method.project(method.scaler.transform(train.features))
    spread = projected.var(axis=0)
    plain = np.sort(np.linalg.eigvalsh(np.cov(train.features.T)))[::-1][:8]  # type: ignore[union-attr]
    assert spread.sum() == pytest.approx(plain.sum(), rel=0.02)
    assert spread.max() / spread.min() < 0.5 * plain.max() / plain.min()


def test_a_constant_added_to_all_rows_changes_nothing_and_the_seed_decides(train: Split) -> None:
    features: np.ndarray = train.features  # type: ignore[assignment]
    codes = [get_method("pca-rr")(5, seed).fit(train).encode(train) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(codes[0], codes[1])
    assert (codes[0] != codes[2]).any()
    moved = Split(features=features + 8)
    assert (get_method("pca-rr")(5, 0).fit(moved).encode(moved) != codes[0]).mean() < 0.01


def test_more_bits_than_columns_are_declined(train: Split) -> None:
    assert "12 columns" in get_method("pca-rr").unsupported(train, 13)
