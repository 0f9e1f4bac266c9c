"""CNNH, two stages: codes that fit the similarity matrix, found without images; then a network that predicts them."""

from __future__ import annotations

import numpy as np

from benchmark import Similarity, Split, parameter, register_method
from benchmark.deep import DeepMethod, Stream, torch
from benchmark.seeds import generator

ROWS = 128  # whose entries of one bit are moved together
STEPS = (1.0, 0.5, 0.25, 0.125)  # fractions of the joint step to try: alone each is safe, together they overshoot
SETTLED = 1e-4  # a sweep that lowers the loss by less, as part of it, is the last
POWERS = np.array([[step**power for power in (1, 2, 3, 4)] for step in STEPS])


@register_method("cnnh", title="CNNH", paper="Xia et al., AAAI 2014", groups=("paper",))
class CNNH(DeepMethod):
    """Stage 1: min ||S - H H^T / K||^2 over the known pairs, H in [-1, 1]^(n x K), then H = sign(H). Stage 2: the
    network's tanh outputs are fitted to the rows of H by squared error.

    Where all pairs are known, stage 1 run to its end finds one code for all rows with the same labels, and stage 2 is
    then a method of class codes, as CSQ is, with codes that lie as near each other as their labels do; after one or two
    sweeps such rows still differ.

    Differs: stage 1 moves the entries of many rows at a time and takes no step that raises the loss, which costs less
    and ends where it stops falling; the network is the one that all methods share, not the original's three
    convolutions; the class outputs of CNNH+ are left out, as they need labels.

    @inproceedings{xia2014cnnh, title={Supervised Hashing for Image Retrieval via Image Representation Learning},
      author={Xia, Rongkai and Pan, Yan and Lai, Hanjiang and Liu, Cong and Yan, Shuicheng}, booktitle={AAAI Conference
      on Artificial Intelligence}, year={2014}}
    """

    sweeps: int = parameter(
        20, least=1, search=[5, 10, 20], doc="most of stage 1 over all entries, which ends when its loss stops falling"
    )

    def prepare(self, train: Split) -> None:
        similarity = train.required_similarity()
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
        before = after = 0.0
        for first in range(0, len(codes), ROWS):
            rows = everything[first : first + ROWS]
            similar, known = similarity.block(rows, everything)
            similar[np.arange(len(rows)), rows] = known[np.arange(len(rows)), rows] = True
            mask = None if known.all() else known.astype(np.float32)
            found = improve(codes, rows, np.where(similar, np.float32(1), np.float32(-1)), mask)
            before, after = before + found[0], after + found[1]
        if after > (1 - SETTLED) * before:
            break
    return codes


def improve(codes: np.ndarray, rows: np.ndarray, target: np.ndarray, known: np.ndarray | None) -> tuple[float, float]:
    """One pass over the bits of these rows, in place; `target` is S and `known` its mask, (rows, n) each, None where
    every pair is known. The part of the loss that lies in these rows, before and after."""
    from scipy.linalg import blas

    bits = codes.shape[1]
    gap = codes[rows] @ codes.T - bits * target  # L = H H^T - K S, the rows at hand
    gap *= 1 if known is None else known
    mask = np.ones((len(rows), len(rows)), np.float32) if known is None else known[:, rows]
    before = float(np.vdot(gap, gap))
    for bit in range(bits):
        column = np.ascontiguousarray(codes[:, bit])
        weight = np.float32(column @ column) if known is None else known @ column**2
        move = joint_step(column, rows, gap, weight, mask)
        if move is not None:  # L grows by d h^T + h d^T + d d^T
            if known is None:
                blas.sger(1.0, column, move, a=gap.T, overwrite_a=True)  # in place, in one pass over memory
            else:
                gap += known * np.outer(move, column)
            codes[rows, bit] = np.clip(column[rows] + move, -1, 1)
            gap[:, rows] += mask * np.outer(codes[rows, bit], move)
    return before, float(np.vdot(gap, gap))


def joint_step(
    column: np.ndarray, rows: np.ndarray, gap: np.ndarray, weight: np.ndarray | np.float32, mask: np.ndarray
) -> np.ndarray | None:
    """How far to move these rows' entries of `column`; None where no fraction of Newton's step lowers the loss.
    `weight` is the known part of ||h||^2, `mask` what is known among the rows themselves."""
    entries = column[rows]
    pull = gap @ column
    slope, curvature = derivatives(pull, weight, entries, gap[np.arange(len(rows)), rows])
    newton = -slope / np.where(curvature > 0, curvature, 1)
    to_the_end = np.where(slope > 0, -2, 2)  # where the loss is not convex in an entry: the lower end
    move = np.clip(np.where(curvature > 0, newton, to_the_end), -1 - entries, 1 - entries).astype(np.float32)
    changes = POWERS @ loss_change(move, entries, pull, weight, gap[:, rows], mask)
    best = int(np.argmin(changes))
    return STEPS[best] * move if changes[best] < 0 else None


def derivatives(
    pull: np.ndarray, weight: np.ndarray | np.float32, entries: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative of the loss in each entry: 4 L_i.h and 4 (||h||^2 + h_i^2 + L_ii)."""
    return 4 * pull, 4 * (weight + entries**2 + own)


def loss_change(
    move: np.ndarray,
    entries: np.ndarray,
    pull: np.ndarray,
    weight: np.ndarray | np.float32,
    within: np.ndarray,
    mask: np.ndarray,
) -> np.ndarray:
    """What moving all these entries by x `move` adds to the loss, exactly: its coefficients of x, x^2, x^3, x^4."""
    linear = np.outer(move, entries)
    linear, square = linear + linear.T, np.outer(move, move)  # the change of L among the rows themselves
    outside = 4 * move @ (pull - within @ entries), 2 * move**2 @ (weight - mask @ entries**2)
    return np.array(
        [
            outside[0] + 2 * (within * linear).sum(),
            outside[1] + (2 * within * square + mask * linear**2).sum(),
            2 * (mask * linear * square).sum(),
            (mask * square**2).sum(),
        ]
    )
