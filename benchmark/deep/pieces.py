"""The stable pieces that losses are written with: likelihoods, penalties, weights, and what a batch holds.

Everything works on tensors of any floating type and stays finite at any finite input. No loss lives here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from benchmark.deep.lazy import torch
from benchmark.similarity import Similarity

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

    def to(self, device: torch.device) -> PairCounts:
        return PairCounts(*(count.to(device) for count in self))


@dataclass(frozen=True)
class PairBlock:
    """s_ij between the rows and the columns of a batch: 1 or 0 in `similar`; `known` is 0 where it is unknown."""

    similar: torch.Tensor
    known: torch.Tensor
    rows: PairCounts  # of each row, over the whole training set
    columns: PairCounts
    whole: PairCounts  # of the whole training set

    def mean(
        self, values: torch.Tensor, weights: torch.Tensor | None = None, priority: torch.Tensor | None = None
    ) -> torch.Tensor:
        """sum w p v / sum w over known pairs, 0 where none is known: `priority` p is left out of the normaliser."""
        weights = self.known if weights is None else self.known * weights
        total = weights.sum().clamp_min(torch.finfo(values.dtype).tiny)
        if priority is not None:
            weights = weights * priority
        return (weights * values).sum() / total

    def to(self, device: torch.device) -> PairBlock:
        counts = (self.rows.to(device), self.columns.to(device), self.whole.to(device))
        return PairBlock(self.similar.to(device), self.known.to(device), *counts)

    def counted(self) -> tuple[PairCounts, PairCounts]:
        """The degrees of rows and of columns inside this block alone."""
        similar = self.similar * self.known
        return _count(self.known, similar, 1), _count(self.known, similar, 0)


def _count(known: torch.Tensor, similar: torch.Tensor, axis: int) -> PairCounts:
    total, positive = known.sum(axis), similar.sum(axis)
    return PairCounts(total, positive, total - positive)


class PairGraph:
    """The similarity of a training set, ready to be cut into blocks."""

    def __init__(self, similarity: Similarity, self_pairs: bool = False) -> None:
        self.similarity, self.self_pairs = similarity, self_pairs
        degrees = similarity.degrees()
        counts = np.stack([degrees.total, degrees.similar, degrees.dissimilar]).astype(np.float32)
        self._degrees = torch.from_numpy(counts)
        self._whole = PairCounts(*self._degrees.sum(1))

    def __len__(self) -> int:
        return len(self.similarity)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> PairBlock:
        """All pairs between these rows and these columns; an item's pair with itself counts only on request."""
        similar, known = self.similarity.block(rows, columns)
        if not self.self_pairs:
            known = known & (rows[:, None] != columns[None, :])
        of_rows, of_columns = (PairCounts(*self._degrees[:, torch.from_numpy(items)]) for items in (rows, columns))
        values = (torch.from_numpy(similar).float(), torch.from_numpy(known).float())
        return PairBlock(*values, of_rows, of_columns, self._whole)


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


def binary(outputs: torch.Tensor) -> torch.Tensor:
    """b = +1 where u > 0, else -1: never 0, as sign() would be."""
    return torch.where(outputs > 0, 1.0, -1.0).to(outputs.dtype)


def straight_through_sign(values: torch.Tensor) -> torch.Tensor:
    """b = binary(v), exactly +-1, with the gradient of b passed to v as it is (Bengio et al., 2013)."""
    return binary(values) + (values - values.detach())
