"""How to run, as opposed to what: cells at once, threads, limits, and where; checked when it is said."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.errors import UsageError

MOST_SECONDS = 10**9  # thirty years; far beyond it clocks overflow


@dataclass(frozen=True)
class Options:
    """The names are those of the flags."""

    jobs: int = 1
    threads: int = 1
    timeout: float | None = None
    memory: int | None = None
    gpus: Sequence[str] = ()
    allow_overlap: bool = False
    dask: str | None = None
    keep_models: bool = False
    log: str | None = None

    def __post_init__(self) -> None:
        for name in ("jobs", "threads", "memory"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1):
                raise UsageError(f"--{name} {value}: expected a whole number of 1 or more")
        seconds = self.timeout
        if seconds is not None and not (math.isfinite(seconds) and 0 < seconds <= MOST_SECONDS):
            raise UsageError(f"--timeout {seconds}: expected seconds, more than 0 and at most {MOST_SECONDS:,}")
        if self.dask is not None:
            from benchmark.execution.dask_client import check_address

            check_address(self.dask)
        if self.log is not None:
            from benchmark.execution.training_log import check_log

            check_log(self.log)

    @property
    def cells_at_once(self) -> int:
        """`jobs`, but no more than there are cores for them: more only makes every cell slower."""
        return max(1, min(self.jobs, usable_cores() // self.threads))


def usable_cores() -> int:
    """The cores this process may use, which on a shared machine are not all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def visible_gpus() -> list[str]:
    """The CUDA devices cells may be given, one each; asked without importing torch."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [part for part in named.split(",") if part.strip()]
    folder = Path("/proc/driver/nvidia/gpus")
    return [str(number) for number, _ in enumerate(folder.iterdir())] if folder.is_dir() else []
