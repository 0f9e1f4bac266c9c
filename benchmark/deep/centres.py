"""Codewords for classes: rows of +-1 that lie far apart, for losses that pull each class to a target of its own.

Needs numpy only. Everything is drawn from the seed, and no two classes ever share a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Literal, get_args

import numpy as np

from benchmark.contracts import Split
from benchmark.errors import UsageError
from benchmark.seeds import generator

CentreKind = Literal["hadamard", "bernoulli", "gilbert-varshamov"]
CENTRE_KINDS: tuple[CentreKind, ...] = get_args(CentreKind)
LISTED_BITS = 16  # up to here all words are listed, beyond they are drawn


def class_centres(kind: CentreKind, classes: int, bits: int, seed: int = 0) -> np.ndarray:
    """(classes, bits) float32 of +-1, all rows different.

    "hadamard": rows of a Hadamard matrix, distance bits/2, and beyond `bits` classes their negatives, distance bits.
    Where there are more classes than twice the bits, or no such matrix is known here, it is "gilbert-varshamov".
    "bernoulli": fair coins. "gilbert-varshamov": random words at no less than `gilbert_varshamov_distance`.
    """
    if reason := _too_many(classes, bits):
        raise UsageError(f"centres: {reason}")
    random = generator("centres", kind, classes, bits, seed)
    if kind == "hadamard" and classes <= 2 * bits and (matrix := hadamard(bits)) is not None:
        return _hadamard_rows(matrix, classes, random).astype(np.float32)
    if kind in ("hadamard", "gilbert-varshamov"):
        return _far_words(classes, bits, random).astype(np.float32)
    if kind == "bernoulli":
        return _different_words(classes, bits, random).astype(np.float32)
    raise UsageError(f"centres: kind = {kind!r}, expected one of {', '.join(CENTRE_KINDS)}")


def too_many_classes(train: Split, bits: int) -> str | None:
    """For `unsupported` of methods that give each class a word of its own."""
    return None if train.labels is None else _too_many(train.labels.shape[1], bits)


def _too_many(classes: int, bits: int) -> str | None:
    if classes <= 2**bits:
        return None
    return f"{classes} classes need a code each, but {bits} bits have only {2**bits}: use more bits"


# Distances


def gilbert_varshamov_distance(classes: int, bits: int) -> int:
    """The largest distance at which so many words surely exist: words - 1 balls of radius d - 1 leave a word over."""
    distance, ball = 0, 0
    while distance <= bits and (classes - 1) * (ball + comb(bits, distance)) < 2**bits:
        ball += comb(bits, distance)
        distance += 1
    return min(distance, bits)


def griesmer_distance(classes: int, bits: int) -> int:
    """The largest distance that Griesmer's bound leaves a linear code of so many words: bits >= sum_i ceil(d / 2^i),
    i below ceil(log2 words). 0 where there are more words than the bits can tell apart."""
    informative = max(1, (classes - 1).bit_length())

    def needed(distance: int) -> int:
        return sum(-(-distance // 2**i) for i in range(informative))

    return max(distance for distance in range(bits + 1) if needed(distance) <= bits)


# Words


def hadamard(order: int) -> np.ndarray | None:
    """A Hadamard matrix of this order by Paley's first construction and Sylvester's doubling; None where neither has
    one. Orders 1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, .. have one."""
    if order == 1:
        return np.ones((1, 1), np.int8)
    prime = order - 1
    if order % 4 == 0 and all(prime % divisor for divisor in range(3, int(prime**0.5) + 1, 2)):
        return _paley(prime)
    half = hadamard(order // 2) if order % 2 == 0 else None
    return None if half is None else np.block([[half, half], [half, -half]])


def _paley(prime: int) -> np.ndarray:
    """I + S, S skew: quadratic residues of differences, bordered by ones; for primes 3 mod 4."""
    residue = np.full(prime, -1, np.int8)
    residue[np.arange(1, prime, dtype=np.int64) ** 2 % prime] = 1
    residue[0] = 0
    matrix = np.ones((prime + 1, prime + 1), np.int8)
    matrix[1:, 1:] = residue[(np.arange(prime)[None, :] - np.arange(prime)[:, None]) % prime]
    matrix[1:, 0] = -1
    matrix[np.arange(1, prime + 1), np.arange(1, prime + 1)] = 1
    return matrix


def _hadamard_rows(matrix: np.ndarray, classes: int, random: np.random.Generator) -> np.ndarray:
    """Rows in random order and of random sign, then their negatives: the first rows as they stand have bits that are
    the same for every class."""
    rows = random.permutation(matrix) * random.choice((-1, 1), (len(matrix), 1))
    return np.concatenate([rows, -rows])[:classes]


def _listed(numbers: np.ndarray, bits: int) -> np.ndarray:
    """The words with these numbers."""
    return 2 * (numbers[:, None] >> np.arange(bits) & 1) - 1


def _different_words(classes: int, bits: int, random: np.random.Generator) -> np.ndarray:
    if bits <= LISTED_BITS:
        return _listed(random.permutation(2**bits)[:classes], bits)
    words = np.empty((0, bits), np.int8)
    while len(words) < classes:  # twice at most: coins repeat a word once in thousands of years
        words = np.unique(np.concatenate([words, _coins(classes - len(words), bits, random)]), axis=0)
    return random.permutation(words)


def _coins(rows: int, bits: int, random: np.random.Generator) -> np.ndarray:
    return random.choice(np.array([-1, 1], np.int8), (rows, bits))


def _far_words(classes: int, bits: int, random: np.random.Generator) -> np.ndarray:
    """Each next word that is far enough from all before. Of all words in turn one always is, by Gilbert and Varshamov;
    of random words every third or so."""
    distance = gilbert_varshamov_distance(classes, bits)
    if distance <= 1:
        return _different_words(classes, bits, random)
    found, known = np.empty((classes, bits), np.float32), 0
    for word in _candidates(bits, random):
        if not known or (found[:known] @ word).max() <= bits - 2 * distance:
            found[known] = word
            known += 1
            if known == classes:
                break
    return found


def _candidates(bits: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    if bits <= LISTED_BITS:
        yield from _listed(random.permutation(2**bits), bits).astype(np.float32)
    while bits > LISTED_BITS:
        yield from _coins(1024, bits, random).astype(np.float32)
