"""How many classes a data set may have: as many as a multi-hot table of its rows can hold here.

Class numbers run from 0 without gaps. A number of nine digits among a few images is a mistake (an identity, a
date), and must not end in a table of a thousand gigabytes.
"""

from __future__ import annotations

import os

from benchmark.errors import UsageError

MAX_CLASS = 100_000  # a larger class number is a mistake, not a class


def check_width(where: str, classes: int, rows: int) -> None:
    """UsageError where a table of so many rows and classes, a byte each, takes over half of the memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if classes > MAX_CLASS or classes * rows > memory // 2:
        raise UsageError(
            f"{where}: {classes:,} classes for {rows:,} rows, too many to hold; class numbers run from 0 without gaps"
        )
