"""Pairwise similarity, first class because the paper's method learns from pairs alone; and relative similarity.

Two sources of pairs: multi-hot labels (sharing a label means similar) and an explicit list of known pairs. Both answer
the same two questions, a block s_ij with the mask of known pairs, and the degrees of the whole training graph;
neither ever holds a dense n x n matrix. Relative similarity is a list of triplets, which says of no pair that it is
similar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benchmark.errors import UsageError


@dataclass(frozen=True)
class Degrees:
    """Per item i: |S_i|, |S_i^1| and |S_i^0|, the pairs, similar pairs and dissimilar pairs that hold i (eq. 8)."""

    total: np.ndarray
    similar: np.ndarray
    dissimilar: np.ndarray


class Similarity(Protocol):
    """s_ij over the items of one split."""

    def __len__(self) -> int: ...

    def block(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(similar, known): two bool arrays of shape (len(rows), len(columns))."""
        ...

    def degrees(self) -> Degrees:
        """Over the whole graph, the pair (i, i) included where it is known."""
        ...

    def take(self, indices: np.ndarray) -> Similarity:
        """The similarity among the chosen items only."""
        ...


class LabelSimilarity:
    """Items are similar when they share a label; every pair is known. Unlabelled items are similar to none."""

    def __init__(self, labels: np.ndarray) -> None:
        self._labels = np.ascontiguousarray(labels, dtype=np.float32)
        single = self._labels.sum(axis=1) == 1
        # Where every item has one label, numbers to compare do for the product of labels, several times as fast.
        self._class = self._labels.argmax(axis=1) if len(single) and single.all() else None

    def __len__(self) -> int:
        return len(self._labels)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._class is not None:
            similar = self._class[rows][:, None] == self._class[columns][None, :]
        else:
            similar = self._labels[rows] @ self._labels[columns].T > 0
        return similar, np.ones_like(similar)

    def degrees(self) -> Degrees:
        # Items with the same label set have the same degree, so the work is over distinct label sets.
        distinct, inverse, counts = np.unique(self._labels, axis=0, return_inverse=True, return_counts=True)
        similar = np.empty(len(distinct), np.int64)
        for start in range(0, len(distinct), 1024):
            shared = distinct[start : start + 1024] @ distinct.T > 0
            similar[start : start + 1024] = shared @ counts
        similar = similar[inverse.reshape(-1)]
        total = np.full(len(self), len(self), np.int64)
        return Degrees(total, similar, total - similar)

    def take(self, indices: np.ndarray) -> LabelSimilarity:
        return LabelSimilarity(self._labels[indices])


class PairSimilarity:
    """An explicit list of known pairs (i, j, s_ij); every other pair is unknown. Symmetric."""

    def __init__(self, size: int, pairs: np.ndarray, similar: np.ndarray) -> None:
        from scipy import sparse

        pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
        similar = np.asarray(similar, bool)
        if len(pairs) != len(similar):
            raise UsageError(f"pair list: {len(pairs)} pairs but {len(similar)} similarity values")
        if len(pairs) and (pairs.min() < 0 or pairs.max() >= size):
            raise UsageError(f"pair list: item {pairs.max()} named, expected 0 to {size - 1}")
        self.pairs, self.similar, self._size = pairs.view(), similar.view(), size
        self.pairs.flags.writeable = self.similar.flags.writeable = False  # a method is given this very object
        both = np.concatenate([pairs, pairs[:, ::-1]])
        value = np.tile(np.where(similar, 2, 1), 2)  # 2 similar, 1 dissimilar, 0 unknown
        both, first = np.unique(both, axis=0, return_index=True)
        self._matrix = sparse.csr_matrix((value[first], (both[:, 0], both[:, 1])), shape=(size, size))

    def __len__(self) -> int:
        return self._size

    def block(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value = self._matrix[rows][:, columns].toarray()
        return value == 2, value > 0

    def degrees(self) -> Degrees:
        similar = np.asarray((self._matrix == 2).sum(axis=1)).ravel().astype(np.int64)
        total = np.diff(self._matrix.indptr).astype(np.int64)
        return Degrees(total, similar, total - similar)

    def take(self, indices: np.ndarray) -> PairSimilarity:
        part = self._matrix[indices][:, indices].tocoo()
        return PairSimilarity(len(indices), np.stack([part.row, part.col], 1), part.data == 2)


class TripletList:
    """An explicit list of triplets (i, j, k): item i is more like j than like k. Nothing else is known."""

    def __init__(self, size: int, triplets: np.ndarray) -> None:
        triplets = np.asarray(triplets, np.int64).reshape(-1, 3)
        if len(triplets) and (triplets.min() < 0 or triplets.max() >= size):
            raise UsageError(f"triplet list: item {triplets.max()} named, expected 0 to {size - 1}")
        self.triplets, self._size = triplets.view(), size
        self.triplets.flags.writeable = False  # a method is given this very object

    def __len__(self) -> int:
        """The number of items, not of triplets."""
        return self._size

    def degrees(self) -> Degrees:
        """A pair ij counts as similar, a pair ik as dissimilar, each once; a pair may be both."""
        similar, dissimilar = (self._partners(self.triplets[:, [0, other]]) for other in (1, 2))
        return Degrees(similar + dissimilar, similar, dissimilar)

    def _partners(self, pairs: np.ndarray) -> np.ndarray:
        """How many others each item meets."""
        distinct = np.unique(np.sort(pairs, axis=1), axis=0)
        return np.bincount(distinct.ravel(), minlength=self._size)

    def take(self, indices: np.ndarray) -> TripletList:
        """The triplets among the chosen items only."""
        place = np.full(self._size, -1)
        place[indices] = np.arange(len(indices))
        told = place[self.triplets]
        return TripletList(len(indices), told[(told >= 0).all(axis=1)])
