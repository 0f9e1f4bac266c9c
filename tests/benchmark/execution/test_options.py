"""How to run: numbers that make no sense are refused when they are said, from Python as from the command line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from benchmark import UsageError
from benchmark.execution.options import Options, usable_cores


@pytest.mark.parametrize(
    "wrong",
    [
        *({"timeout": value} for value in (math.nan, math.inf, -math.inf, 0, -1, 1e300)),
        *({"memory": value} for value in (0, -5 << 30, 1.5, True)),
        *({"jobs": value} for value in (0, -1, 1.5, True)),
        *({"threads": value} for value in (0, -1)),
        *({"dask": value} for value in ("", " ", "local:", "local:0", "local:-1", "local:x")),
    ],
    ids=str,
)
def test_nonsense_is_refused_by_its_flag(wrong: dict[str, Any]) -> None:
    """E: --timeout nan, --memory=-5G, --dask local:0."""
    with pytest.raises(UsageError, match=f"^--{next(iter(wrong))} "):
        Options(**wrong)


def test_what_makes_sense_is_taken() -> None:
    found = Options(jobs=2, threads=np.int64(3), timeout=0.5, memory=1, dask="local:2")  # type: ignore[arg-type]
    assert (found.jobs, found.threads, found.timeout, found.memory) == (2, 3, 0.5, 1)
    assert Options(dask="tcp://127.0.0.1:8786").dask == "tcp://127.0.0.1:8786"


def test_no_more_cells_at_once_than_cores() -> None:
    assert Options(jobs=10**6, threads=1).cells_at_once == usable_cores()
    assert Options(jobs=8, threads=10**6).cells_at_once == 1
    assert Options(jobs=1).cells_at_once == 1
