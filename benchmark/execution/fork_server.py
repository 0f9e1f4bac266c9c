"""Imported by the server that cells are forked from: does once what every cell would otherwise repeat.

What is imported here is shared by all cells, so it must start no thread and draw no random number. No plugin is
loaded: a cell loads its own and no other.
"""

from __future__ import annotations

import scipy.linalg
import scipy.special
import threadpoolctl

import benchmark.execution.worker
from benchmark.execution.provenance import provenance

provenance(threads=1)

__all__ = ["benchmark", "scipy", "threadpoolctl"]
