"""The stable pieces that losses are written with: likelihoods, penalties, weights, and what a batch holds.

Everything works on tensors of any floating type and stays finite at any finite input. No loss lives here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt

import numpy as np

from benchmark.deep.lazy import torch
from benchmark.errors import UsageError
from benchmark.similarity import Degrees, Similarity

NORM_FLOOR = 1e-8  # of a code that is all zero, whose direction is undefined
COSINE_EDGE = 1e-6  # keeps (1 - q) ** gamma away from 0, where its slope is infinite for gamma < 1


@dataclass(frozen=True)
class Codes:
    """Codes of a batch of two streams: (B + B', K), the rows of a block of pairs first, then its columns.

    A loss is given the network's raw outputs u; `codes.tanh()` is h.
    """

    both: torch.Tensor
    size: int  # B

    @property
    def rows(self) -> torch.Tensor:
        return self.both[: self.size]

    @property
    def columns(self) -> torch.Tensor:
        return self.both[self.size :]

    def tanh(self, sharpness: float = 1.0) -> Codes:
        """h = tanh(sharpness u)."""
        return Codes(torch.tanh(self.both if sharpness == 1 else sharpness * self.both), self.size)

    @cached_property
    def inner(self) -> torch.Tensor:
        """<h_i, h_j> for all pairs of a row and a column."""
        return self.rows @ self.columns.T

    def squared_distance(self) -> torch.Tensor:
        """||u_i - u_j||^2 for all pairs, without a (B, B', K) tensor."""
        squares = self.both.square().sum(1)
        total = squares[: self.size, None] + squares[None, self.size :]
        return (total - 2 * self.inner).clamp_min(0)


@dataclass(frozen=True)
class PairCounts:
    """Numbers of known pairs, similar pairs and dissimilar pairs: |S_i|, |S_i^1|, |S_i^0| per item, or |S| in all."""

    total: torch.Tensor
    similar: torch.Tensor
    dissimilar: torch.Tensor

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter((self.total, self.similar, self.dissimilar))

    def floored(self) -> PairCounts:
        """The three counts, none below 1, to divide by: an item without a similar pair has no weight to compute."""
        return PairCounts(*(count.clamp_min(1) for count in self))

    def roots(self) -> tuple[torch.Tensor, torch.Tensor]:
        """|S_i| / sqrt(|S_i^1|) and |S_i| / sqrt(|S_i^0|): an image's factor of a weight for its similar pairs and of
        one for its dissimilar pairs, the larger the rarer they are."""
        total, similar, dissimilar = self.floored()
        return total / similar.sqrt(), total / dissimilar.sqrt()

    def take(self, items: np.ndarray) -> PairCounts:
        """The counts of these items."""
        return PairCounts(*(count[torch.from_numpy(items)] for count in self))

    def to(self, device: torch.device) -> PairCounts:
        return PairCounts(*(count.to(device) for count in self))


def counts_of(degrees: Degrees) -> PairCounts:
    """The degrees of a training set as tensors."""
    parts = np.stack([degrees.total, degrees.similar, degrees.dissimilar]).astype(np.float32)
    return PairCounts(*torch.from_numpy(parts))


@dataclass(frozen=True)
class PairBlock:
    """s_ij between the rows and the columns of a batch: 1 or 0 in `similar`, or between them where a method asked for
    degrees of similarity; `known` is 0 where it is unknown."""

    similar: torch.Tensor
    known: torch.Tensor
    rows: PairCounts  # of each row, over the whole training set
    columns: PairCounts
    whole: PairCounts  # of the whole training set

    def mean(
        self, values: torch.Tensor, weights: torch.Tensor | None = None, priority: torch.Tensor | None = None
    ) -> torch.Tensor:
        """sum w p v / sum w over known pairs, 0 where none is known: `priority` p is left out of the normaliser."""
        return _weighted_mean(values, self.known if weights is None else self.known * weights, priority)

    def to(self, device: torch.device) -> PairBlock:
        counts = (self.rows.to(device), self.columns.to(device), self.whole.to(device))
        return PairBlock(self.similar.to(device), self.known.to(device), *counts)

    def counted(self) -> tuple[PairCounts, PairCounts]:
        """The degrees of rows and of columns inside this block alone."""
        similar = self.similar * self.known
        return _count(self.known, similar, 1), _count(self.known, similar, 0)


def _weighted_mean(values: torch.Tensor, weights: torch.Tensor, priority: torch.Tensor | None) -> torch.Tensor:
    if values.shape != weights.shape:
        given, wanted = tuple(values.shape), tuple(weights.shape)
        raise UsageError(f"mean over pairs or triplets: values of shape {given}, expected one number of each, {wanted}")
    total = weights.sum().clamp_min(torch.finfo(weights.dtype).tiny)
    if priority is not None:
        weights = weights * priority
    return (weights * values).sum() / total


def _count(known: torch.Tensor, similar: torch.Tensor, axis: int) -> PairCounts:
    total, positive = known.sum(axis), similar.sum(axis)
    return PairCounts(total, positive, total - positive)


class PairGraph:
    """The similarity of a training set, ready to be cut into blocks.

    Given labels, a pair is as similar as the cosine of its two label vectors, from 0 to 1; counts stay those of pairs
    that share a label.
    """

    def __init__(self, similarity: Similarity, self_pairs: bool = False, labels: np.ndarray | None = None) -> None:
        self.similarity, self.self_pairs = similarity, self_pairs
        self._labels = None if labels is None else torch.from_numpy(labels.astype(np.float32))
        self._degrees = counts_of(similarity.degrees())
        self._whole = PairCounts(*(count.sum() for count in self._degrees))

    def __len__(self) -> int:
        return len(self.similarity)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> PairBlock:
        """All pairs between these rows and these columns; an item's pair with itself counts only on request."""
        similar, known = self.similarity.block(rows, columns)
        if not self.self_pairs:
            known = known & (rows[:, None] != columns[None, :])
        values = (self._grades(rows, columns, similar), torch.from_numpy(known).float())
        return PairBlock(*values, self._degrees.take(rows), self._degrees.take(columns), self._whole)

    def _grades(self, rows: np.ndarray, columns: np.ndarray, similar: np.ndarray) -> torch.Tensor:
        if self._labels is None:
            return torch.from_numpy(similar).float()
        of_rows, of_columns = self._labels[torch.from_numpy(rows)], self._labels[torch.from_numpy(columns)]
        # Whole numbers but for one root, so that the same labels have a cosine of exactly 1.
        return of_rows @ of_columns.T / torch.outer(of_rows.sum(1), of_columns.sum(1)).clamp_min(1).sqrt()


@dataclass(frozen=True)
class StoredBatch:
    """Rows of the training set and their similarity to all of it."""

    items: torch.Tensor
    similarity: PairBlock

    def to(self, device: torch.device) -> StoredBatch:
        return StoredBatch(self.items.to(device), self.similarity.to(device))


@dataclass(frozen=True)
class Triplets:
    """i among the rows of a batch, j and k among its columns, where i is more like j than like k."""

    size: int  # rows of the batch
    places: torch.Tensor  # (3, triplets): the row of i, the column of j, the column of k
    rows: PairCounts  # of each row, over the whole training set
    columns: PairCounts

    def of(self, block: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The values of (i, j) and of (i, k) in a block of all pairs of a row and a column, a number per triplet."""
        anchor, closer, further = self.places
        return block[anchor, closer], block[anchor, further]

    def rarity(self) -> torch.Tensor:
        """alpha_ij alpha_ik of each triplet, DPH's weights of a similar and a dissimilar pair (eq. 9):
        |S_i||S_j| / sqrt(|S_i^1||S_j^1|) times |S_i||S_k| / sqrt(|S_i^0||S_k^0|)."""
        similar, dissimilar = self.rows.roots()
        as_closer, as_further = self.columns.roots()
        anchor, closer, further = self.places
        return (similar * dissimilar)[anchor] * as_closer[closer] * as_further[further]

    def mean(
        self, values: torch.Tensor, weights: torch.Tensor | None = None, priority: torch.Tensor | None = None
    ) -> torch.Tensor:
        """sum w p v / sum w over the triplets, 0 where there is none: `priority` p is left out of the normaliser."""
        return _weighted_mean(values, torch.ones_like(values) if weights is None else weights, priority)

    def to(self, device: torch.device) -> Triplets:
        return Triplets(self.size, self.places.to(device), self.rows.to(device), self.columns.to(device))


def cross_entropy(logit: torch.Tensor, similar: torch.Tensor) -> torch.Tensor:
    """-log p(s | t) with p = sigmoid(t), element by element: softplus(t) - s t, stable at any t."""
    return torch.nn.functional.binary_cross_entropy_with_logits(logit, similar.to(logit.dtype), reduction="none")


def class_cross_entropy(
    logits: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    """-sum_c w_c y_c log softmax(logits)_c / sum_c y_c of each row: its labels have equal shares."""
    shares = labels / labels.sum(1, keepdim=True).clamp_min(1)
    if weights is not None:
        shares = shares * weights
    return -(shares * torch.log_softmax(logits, 1)).sum(1)


def class_balanced_weights(sizes: torch.Tensor, beta: float) -> torch.Tensor:
    """(1 - beta) / (1 - beta^n) of classes of n rows, over the largest of them (Cui et al., CVPR 2019): 1 for all at
    beta = 0, inverse to the size towards beta = 1. A class without rows has 1."""
    weights = (1 - beta) / (1 - beta ** sizes.double().clamp_min(1))
    largest = torch.where(sizes > 0, weights, 0).max()
    return (weights / largest).clamp_max(1).to(sizes.dtype)


def log_cosh(x: torch.Tensor) -> torch.Tensor:
    """log cosh(x), a smooth |x|, stable at any x."""
    return x.abs() + torch.log1p(torch.exp(-2 * x.abs())) - log(2)


def cosine(rows: torch.Tensor, columns: torch.Tensor, inner: torch.Tensor | None = None) -> torch.Tensor:
    """cos(h_i, h_j) for all pairs, strictly inside (-1, 1); 0 where a code is zero. `inner` saves the product."""
    norms = (h.norm(dim=1).clamp_min(NORM_FLOOR) for h in (rows, columns))
    product = rows @ columns.T if inner is None else inner
    return (product / torch.outer(*norms)).clamp_(-1 + COSINE_EDGE, 1 - COSINE_EDGE)


def power(base: torch.Tensor, exponent: float) -> torch.Tensor:
    """base ** exponent for base >= 0 that needs no gradient; a third of the time of `**`, which a step would notice."""
    return base.clamp_min(torch.finfo(base.dtype).tiny).log_().mul_(exponent).exp_()


def priority_quantization(h: torch.Tensor, gamma: float) -> torch.Tensor:
    """mean_i (1 - q_i)^gamma || |h_i| - 1 ||_1 / K for codes within [-1, 1], q_i = (1 + cos(|h_i|, 1))/2 a constant:
    the entries of a code that is hard to quantise are pulled most (DPH, eq. 13 and 14)."""
    size = h.abs().mean(1)  # ||h_i||_1 / K; and | |h| - 1 | = 1 - |h|
    cos = sqrt(h.shape[1]) * size.detach() / h.detach().norm(dim=1).clamp_min(NORM_FLOOR)
    hard = (1 - cos.clamp_max(1 - COSINE_EDGE)) / 2
    return (power(hard, gamma) * (1 - size)).mean()


def binary(outputs: torch.Tensor) -> torch.Tensor:
    """b = +1 where u > 0, else -1: never 0, as sign() would be."""
    return torch.where(outputs > 0, 1.0, -1.0).to(outputs.dtype)


def straight_through(outputs: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """The codes, exactly, with the gradient of the outputs they were made of (Bengio et al., 2013): a step function
    that can be learned through."""
    return codes.detach() + (outputs - outputs.detach())


def straight_through_sign(outputs: torch.Tensor) -> torch.Tensor:
    """b = binary(u) with its gradient passed to u as it is."""
    return straight_through(outputs, binary(outputs))


def cosine_mismatch(codes: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    """mean (cos(b, b') - cos(x, x'))^2 over pairs of the first half of a batch with its second half, one to one; the
    last row of an odd batch has no partner."""
    half, cos = len(codes) // 2, torch.nn.functional.cosine_similarity
    error = cos(codes[:half], codes[half : 2 * half]) - cos(features[:half], features[half : 2 * half])
    return error.square().sum() / max(half, 1)
