"""Imported by the server that cells are forked from: does once what every cell would otherwise repeat.

What is imported here is shared by all cells, so it must start no thread and draw no random number.
"""

from __future__ import annotations

import contextlib

import scipy.linalg
import scipy.special
import threadpoolctl

import benchmark.execution.worker
from benchmark.execution.fingerprint import method_sources
from benchmark.execution.provenance import provenance
from benchmark.registry import datasets, methods

with contextlib.suppress(Exception):  # a broken plugin is told of by whoever asks for it
    methods.load()
    datasets.load()
    for method in methods:
        method_sources(method.info.source)  # hashed now, when they are imported, whatever happens to the files later
provenance(threads=1)

__all__ = ["benchmark", "scipy", "threadpoolctl"]
