"""Random numbers derived from named parts, so that adding a method never changes another's numbers."""

from __future__ import annotations

import hashlib

import numpy as np


def derive_seed(*parts: object) -> int:
    """A 31-bit seed that depends on these parts and on nothing else."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def generator(*parts: object) -> np.random.Generator:
    """A numpy generator seeded by named parts."""
    return np.random.default_rng(derive_seed(*parts))
