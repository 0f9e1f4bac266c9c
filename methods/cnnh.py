"""CNNH, two stages: codes that fit the similarity matrix, found without images; then a network that predicts them."""

from __future__ import annotations

import numpy as np

from benchmark import Similarity, register_method
from benchmark.deep import DeepMethod, Stream, Training, torch
from benchmark.seeds import generator

ROWS = 128  # whose entries of one bit are moved together
STEPS = (1.0, 0.5, 0.25, 0.125)  # fractions of the joint step to try: alone each is safe, together they overshoot


@register_method("cnnh", title="CNNH", family="deep", input="images", needs="similarity", paper="Xia et al., AAAI 2014")
class CNNH(DeepMethod):
    """Stage 1: min ||S - H H^T / K||^2 over the known pairs, H in [-1, 1]^(n x K), then H = sign(H). Stage 2: the
    network's tanh outputs are fitted to the rows of H by squared error."""

    def __init__(
        self,
        bits: int,
        seed: int = 0,
        *,
        sweeps: int = 5,  # of stage 1 over all entries
        scaling: str = "center-l2",
        training: Training | None = None,
    ) -> None:
        super().__init__(bits, seed, scaling=scaling, training=training)
        self.sweeps = sweeps

    def prepare(self, similarity: Similarity) -> None:
        start = generator("cnnh", self.seed).uniform(-1, 1, (len(similarity), self.bits))
        codes = fit_codes(similarity, start, self.sweeps)
        self._codes = torch.from_numpy(np.where(codes > 0, 1, -1).astype(np.float32))
        self._stream = Stream(len(similarity), 2 * self.training.batch, self.seed)

    def draw(self, step: int) -> tuple[np.ndarray, torch.Tensor]:
        items = self._stream.draw(step)
        return items, self._codes[torch.from_numpy(items)]

    def objective(self, outputs: torch.Tensor, target: torch.Tensor, step: int) -> torch.Tensor:
        return (torch.tanh(outputs) - target).square().mean()


def fit_codes(similarity: Similarity, start: np.ndarray, sweeps: int) -> np.ndarray:
    """Stage 1 by coordinate descent: H that lowers ||H H^T - K S||^2 over the known pairs, never raising it."""
    codes = np.array(start, np.float32)
    everything = np.arange(len(codes))
    for _ in range(sweeps):
        for first in range(0, len(codes), ROWS):
            rows = everything[first : first + ROWS]
            similar, known = similarity.block(rows, everything)
            similar[np.arange(len(rows)), rows] = known[np.arange(len(rows)), rows] = True
            improve(codes, rows, np.where(similar, np.float32(1), np.float32(-1)), known.astype(np.float32))
    return codes


def improve(codes: np.ndarray, rows: np.ndarray, target: np.ndarray, known: np.ndarray) -> None:
    """One pass over the bits of these rows, in place; `target` is S and `known` its mask, (rows, n) each."""
    bits = codes.shape[1]
    gap = known * (codes[rows] @ codes.T - bits * target)  # L = H H^T - K S, the rows at hand
    for bit in range(bits):
        move = joint_step(codes[:, bit], rows, gap, known)
        if move is None:
            continue
        column = codes[:, bit].copy()
        codes[rows, bit] = np.clip(column[rows] + move, -1, 1)
        gap += known * (np.outer(codes[rows, bit], codes[:, bit]) - np.outer(column[rows], column))


def joint_step(column: np.ndarray, rows: np.ndarray, gap: np.ndarray, known: np.ndarray) -> np.ndarray | None:
    """How far to move these rows' entries of `column`; None where no fraction of Newton's step lowers the loss."""
    entries = column[rows]
    slope, curvature = derivatives(column, rows, gap, known)
    newton = -slope / np.where(curvature > 0, curvature, 1)
    uphill = np.where(slope > 0, -2.0, 2.0)  # where the loss is not convex in an entry: to the better end
    move = np.clip(np.where(curvature > 0, newton, uphill), -1 - entries, 1 - entries)
    changes = [loss_change(step * move, column, rows, gap, known) for step in STEPS]
    best = int(np.argmin(changes))
    return STEPS[best] * move if changes[best] < 0 else None


def derivatives(
    column: np.ndarray, rows: np.ndarray, gap: np.ndarray, known: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative of the loss in each entry: 4 L_i.h and 4 (||h||^2 + h_i^2 + L_ii)."""
    own = gap[np.arange(len(rows)), rows]
    return 4 * gap @ column, 4 * (known @ column**2 + column[rows] ** 2 + own)


def loss_change(move: np.ndarray, column: np.ndarray, rows: np.ndarray, gap: np.ndarray, known: np.ndarray) -> float:
    """What moving all these entries at once adds to the loss, exactly."""
    entries = column[rows]
    cross = np.outer(move, entries)
    inner = cross + cross.T + np.outer(move, move)  # the change of L among the rows themselves
    within, mask = gap[:, rows], known[:, rows]
    outside = 2 * move @ (gap @ column) - 2 * move @ (within @ entries)
    squares = move**2 @ (known @ column**2 - mask @ entries**2)
    return float(2 * outside + 2 * squares + (2 * within * inner + mask * inner**2).sum())
