"""Fixtures for the whole suite."""

import os
from pathlib import Path

# One thread per library, before any is loaded: tests run beside each other, and threads that wait spin.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import pytest  # noqa: E402

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout; tests that need it skip where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data (../shared/data) is not on this machine")
    return folder
