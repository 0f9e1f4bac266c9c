"""ADSH on the training list: outputs against learned codes, whose renewal never raises the sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmark import PairSimilarity, Split, evaluate, get_method
from benchmark.deep import Training

BITS = 5
MULTI = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]] * 2, bool)  # some have no label
SHORT = Training(train="hash", steps=60, batch=16, device="cpu")


def prepared(train: Split | None = None, **parameters: Any) -> Any:
    method = get_method("adsh")(BITS, seed=1, training=SHORT, **parameters)
    method.prepare(train or Split(labels=MULTI))
    return method


def pair_list(size: int, seed: int) -> Split:
    random = np.random.default_rng(seed)
    pairs = np.unique(np.sort(random.integers(0, size, (40, 2)), axis=1), axis=0)
    similarity = PairSimilarity(size, pairs, random.random(len(pairs)) < 0.5)
    return Split(features=np.ones((size, 2)), similarity=similarity)


def cost(method: Any, codes: np.ndarray, h: np.ndarray, rows: np.ndarray) -> float:
    """The sum that is minimised, pair by pair."""
    total, (similar, known) = 0.0, method._graph.similarity.block(rows, np.arange(len(codes)))
    counts = method._graph.similarity.degrees()
    ratio = max(counts.similar.sum(), 1) / max(counts.dissimilar.sum(), 1)
    for place, i in enumerate(rows):
        for j in range(len(codes)):
            if known[place, j] and i != j:
                total += (h[i] @ codes[j] - BITS * (1 if similar[place, j] else -ratio)) ** 2
        total += method.gamma * len(codes) / 59_000 * ((codes[i] - h[i]) ** 2).sum()
    return float(total)


@pytest.mark.parametrize("gamma", [0.0, 9000.0])
def test_loss_by_loops(gamma: float) -> None:
    method = prepared(gamma=gamma, batch=4)
    items, target = method.draw(0)
    u = torch.randn(4, BITS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    h = np.zeros((12, BITS))
    h[items] = np.tanh(u.numpy())
    expected = cost(method, method.state["codes"].numpy(), h, items) / (4 * 11)
    assert method.objective(u, target, 0).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("listed", [False, True], ids=["labels", "pair list"])
def test_renewal_never_raises_the_sum_and_ends_where_no_bit_would_lower_it(seed: int, listed: bool) -> None:
    method = prepared(pair_list(12, seed) if listed else None, gamma=9000.0)
    random = np.random.default_rng(seed)
    h, rows = np.tanh(random.standard_normal((12, BITS))), random.choice(12, 7, replace=False)
    codes = method.state["codes"].numpy().astype(float)
    values = [cost(method, codes, h, rows)]
    for _ in range(12):
        codes = method.renewed(codes, h, rows).astype(float)
        values.append(cost(method, codes, h, rows))
    assert (np.diff(values) <= 1e-9).all()
    assert values[-1] < values[0]
    assert set(np.unique(codes)) == {-1, 1}
    if not listed:  # then it is coordinate descent itself, not a bound
        for j, k in np.ndindex(codes.shape):
            other = codes.copy()
            other[j, k] *= -1
            others = [one for one in rows if one != j]
            if j not in rows:  # the pair of a row with itself is not known, and bounded as above
                assert cost(method, other, h, np.array(others)) >= cost(method, codes, h, np.array(others)) - 1e-9


def test_rounds_sample_anew_and_pass_three_times_over_their_rows() -> None:
    method = prepared(sampled=6, batch=4)
    assert method._round == 5  # ceil(3 * 6 / 4)
    for number in range(3):
        drawn = np.concatenate([method.draw(number * 5 + place)[0] for place in range(5)])
        assert set(drawn) == set(method.omega(number))
        assert len(set(drawn)) == 6
    assert set(method.omega(0)) != set(method.omega(1))


def test_codes_change_between_rounds_only() -> None:
    method = prepared(sampled=6, batch=4)
    before = method.state["codes"].clone()
    for step in range(6):
        items, target = method.draw(step)
        method.objective(torch.randn(len(items), BITS, generator=torch.Generator().manual_seed(step)), target, step)
        assert torch.equal(method.state["codes"], before) == (step < 5)


def test_it_learns_and_encodes_by_the_network_alone() -> None:
    random = np.random.default_rng(0)
    classes = np.arange(80) % 4
    features = (3 * random.standard_normal((4, 8))[classes] + random.standard_normal((80, 8))).astype(np.float32)
    train = Split(features=features, labels=classes)
    method = get_method("adsh")(12, training=SHORT).fit(train)
    codes = method.encode(train)
    assert evaluate(codes, codes, train.labels, train.labels, k=None).map > 0.9
    np.testing.assert_array_equal(method.encode(Split(features=features[:3])), codes[:3])
