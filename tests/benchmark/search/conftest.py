"""Codes to search, and what is nearest to a query found the slow, obvious way."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from benchmark.evaluation.codes import pack


@st.composite
def searches(draw, longest=128):
    """(packed queries, packed database, bits): random codes, duplicates among them, perhaps none at all."""
    bits = draw(st.integers(1, longest))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    database = random.integers(0, 2, (draw(st.integers(0, 60)), bits))
    if len(database) and draw(st.booleans()):  # few distinct codes, many ties
        database = database[random.integers(0, min(3, len(database)), len(database))]
    queries = random.integers(0, 2, (2, bits))
    if len(database):
        queries[0] = database[random.integers(len(database))]
        queries[0, random.integers(bits)] ^= 1
    return pack(queries), pack(database), bits


def slow_ranking(query, database, bits):
    """(distance, row) of every code, nearest first, bit by bit."""
    ones = np.unpackbits(database, axis=1, count=bits) if len(database) else np.empty((0, bits), np.uint8)
    wanted = np.unpackbits(query, count=bits)
    return sorted((sum(int(a != b) for a, b in zip(row, wanted, strict=True)), i) for i, row in enumerate(ones))


def pairs(found):
    """(distance, row) of what a search found, in its order."""
    return list(zip(found.distances.tolist(), found.rows.tolist(), strict=True))
