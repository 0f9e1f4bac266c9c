"""The pieces of losses against the slow, obvious way of computing them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmark import LabelSimilarity, PairSimilarity
from benchmark.deep import (
    Codes,
    PairCounts,
    PairGraph,
    Triplets,
    binary,
    class_balanced_weights,
    class_cross_entropy,
    cosine,
    cosine_mismatch,
    cross_entropy,
    log_cosh,
    power,
    priority_quantization,
    straight_through,
    straight_through_sign,
)
from benchmark.errors import UsageError

numbers = st.floats(-700, 700)


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@given(logit=numbers, similar=st.sampled_from([0.0, 1.0]))
def test_cross_entropy_is_the_negative_log_likelihood(logit: float, similar: float) -> None:
    # -log sigmoid(t) = log(1 + exp(-t)), and for s = 0 the same at -t
    sign = -1 if similar else 1
    assert cross_entropy(tensor(logit), tensor(similar)).item() == pytest.approx(np.logaddexp(0, sign * logit))


def test_class_cross_entropy_shares_a_row_among_its_labels() -> None:
    logits = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 4)))
    labels = torch.tensor([[0, 1, 0, 0], [1, 0, 1, 1], [1, 1, 1, 1.0]]).double()
    weights = tensor(1, 0.5, 0.25, 2)
    for w in (None, weights):
        expected = []
        for row, hot in zip(logits.numpy(), labels.numpy(), strict=True):
            parts = [
                (1 if w is None else w[c].item()) * (math.log(sum(math.exp(x) for x in row)) - row[c])
                for c in range(4)
                if hot[c]
            ]
            expected.append(sum(parts) / len(parts))
        assert class_cross_entropy(logits, labels, w).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("beta", [0.0, 0.9, 0.999])
def test_class_balanced_weights(beta: float) -> None:
    sizes = [500, 3, 0, 60]
    plain = [(1 - beta) / (1 - beta**n) for n in sizes if n]
    expected = [plain[0] / max(plain), plain[1] / max(plain), 1, plain[2] / max(plain)]
    assert class_balanced_weights(tensor(*sizes), beta).tolist() == pytest.approx(expected)


def test_class_balanced_weights_are_inverse_to_the_size_in_the_end() -> None:
    found = class_balanced_weights(torch.tensor([1.0, 10.0, 100.0]), 1 - 1e-9)
    assert found.tolist() == pytest.approx([1, 0.1, 0.01], rel=1e-5)


@pytest.mark.parametrize("value", [-1e4, 0.0, 1e4])
def test_class_cross_entropy_is_finite_with_extreme_logits_and_without_a_label(value: float) -> None:
    logits = torch.tensor([[value, 0.0], [0.0, value]])
    found = class_cross_entropy(logits, torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    assert torch.isfinite(found).all()
    assert found[1] == 0


@given(value=st.floats(-300, 300))
def test_log_cosh(value: float) -> None:
    assert log_cosh(tensor(value)).item() == pytest.approx(math.log(math.cosh(value)), abs=1e-12)


@pytest.mark.parametrize("value", [-1e4, 0.0, 1e4])
def test_pieces_stay_finite_in_float32(value: float) -> None:
    x = torch.tensor([value])
    for result in (cross_entropy(x, torch.ones(1)), cross_entropy(x, torch.zeros(1)), log_cosh(x)):
        assert torch.isfinite(result).all()


@given(base=st.floats(0, 1), exponent=st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]))
def test_power(base: float, exponent: float) -> None:
    assert power(tensor(base), exponent).item() == pytest.approx(base**exponent, rel=1e-9, abs=1e-30)


def test_cosine_of_all_pairs() -> None:
    a, b = np.random.default_rng(0).standard_normal((2, 5, 3))
    found = cosine(torch.from_numpy(a), torch.from_numpy(b))
    for i, j in np.ndindex(5, 5):
        assert found[i, j].item() == pytest.approx(a[i] @ b[j] / math.sqrt((a[i] @ a[i]) * (b[j] @ b[j])))


def test_cosine_of_zero_is_zero_and_never_quite_one() -> None:
    x = tensor(1, 2)[None]
    assert cosine(torch.zeros_like(x), x).item() == 0
    assert 0.999 < cosine(x, x).item() < 1
    assert -1 < cosine(x, -x).item() < -0.999


def test_squared_distance_of_all_pairs() -> None:
    outputs = torch.from_numpy(np.random.default_rng(1).standard_normal((7, 4)))
    codes = Codes(outputs, 3)
    for i, j in np.ndindex(3, 4):
        expected = (outputs[i] - outputs[3 + j]).square().sum().item()
        assert codes.squared_distance()[i, j].item() == pytest.approx(expected)


def test_binary_has_no_zero() -> None:
    assert binary(tensor(-2, 0, 3)).tolist() == [-1, -1, 1]


def test_mean_is_over_known_pairs_only() -> None:
    similarity = PairSimilarity(4, np.array([[0, 1], [2, 3]]), np.array([True, False]))
    block = PairGraph(similarity).block(np.array([0, 2]), np.array([1, 3]))
    values = torch.tensor([[5.0, 100.0], [100.0, 7.0]])
    assert block.mean(values).item() == 6
    assert block.mean(values, torch.tensor([[3.0, 9.0], [9.0, 1.0]])).item() == pytest.approx(22 / 4)


def test_mean_of_no_pair_is_zero() -> None:
    block = PairGraph(PairSimilarity(3, np.array([[0, 1]]), np.array([True]))).block(np.array([2]), np.array([0]))
    assert block.mean(torch.ones(1, 1)).item() == 0


def test_values_that_are_not_one_per_pair_are_refused() -> None:
    """An average over the wrong axis went into the loss by broadcasting, and nobody said a word."""
    block = PairGraph(LabelSimilarity(np.eye(2, dtype=bool))).block(np.arange(2), np.arange(2))
    with pytest.raises(UsageError, match=r"values of shape \(2,\), expected one number of each, \(2, 2\)"):
        block.mean(torch.ones(2, 2).mean(0))


def test_an_item_is_no_pair_with_itself_unless_asked() -> None:
    similarity = LabelSimilarity(np.eye(3, dtype=bool))
    items = np.arange(3)
    assert PairGraph(similarity).block(items, items).known.tolist() == (1 - np.eye(3)).tolist()
    assert PairGraph(similarity, self_pairs=True).block(items, items).known.tolist() == np.ones((3, 3)).tolist()


def test_counts_inside_a_block_and_over_the_whole_set() -> None:
    similarity = LabelSimilarity(np.eye(2, dtype=bool)[[0, 0, 0, 1]])
    block = PairGraph(similarity, self_pairs=True).block(np.array([0, 3]), np.array([1, 2, 3]))
    rows, columns = block.counted()
    assert (rows.total.tolist(), rows.similar.tolist(), rows.dissimilar.tolist()) == ([3, 3], [2, 1], [1, 2])
    assert (columns.similar.tolist(), columns.dissimilar.tolist()) == ([1, 1, 1], [1, 1, 1])
    assert (block.rows.similar.tolist(), block.rows.dissimilar.tolist()) == ([3, 1], [1, 3])
    assert (block.whole.total.item(), block.whole.similar.item(), block.whole.dissimilar.item()) == (16, 10, 6)


def test_counts_are_named_and_come_in_order() -> None:
    counts = PairCounts(torch.tensor([5.0, 3.0]), torch.tensor([0.0, 2.0]), torch.tensor([5.0, 1.0]))
    total, similar, dissimilar = counts.floored()
    assert (total.tolist(), similar.tolist(), dissimilar.tolist()) == ([5, 3], [1, 2], [5, 1])
    assert counts.floored().similar.tolist() == [1, 2]


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0, 1e4, 1e30])
def test_straight_through_sign_is_binary_forward_and_the_identity_backward(scale: float) -> None:
    values = (scale * torch.randn(50, generator=torch.Generator().manual_seed(0))).requires_grad_()
    found = straight_through_sign(values)
    assert torch.equal(found, binary(values))  # exactly: rounding would leave Hamming space
    target = torch.linspace(-2, 2, 50)
    (gradient,) = torch.autograd.grad((found - target).square().sum(), values)
    assert torch.equal(gradient, 2 * (binary(values) - target))


def test_rare_pairs_have_large_factors() -> None:
    counts = PairCounts(tensor(10, 10, 10), tensor(4, 1, 0), tensor(6, 9, 10))
    similar, dissimilar = counts.roots()
    assert similar.tolist() == pytest.approx([5, 10, 10])  # a count of 0 divides as 1
    assert dissimilar.tolist() == pytest.approx([10 / 6**0.5, 10 / 3, 10**0.5])
    assert counts.take(np.array([2, 0])).similar.tolist() == [0, 4]


def test_values_and_means_of_triplets() -> None:
    none = PairCounts(*torch.ones(3, 3))
    triplets = Triplets(3, torch.tensor([[0, 2, 2], [1, 0, 1], [2, 3, 0]]), none, none)
    block = torch.arange(12.0, dtype=torch.float64).view(3, 4)
    closer, further = triplets.of(block)
    assert (closer.tolist(), further.tolist()) == ([1, 8, 9], [2, 11, 8])
    assert triplets.mean(closer).item() == 6
    weights, priority = tensor(1, 1, 2), tensor(1, 0, 1)
    assert triplets.mean(closer, weights, priority).item() == pytest.approx((1 + 18) / 4)
    nobody = Triplets(3, torch.empty(3, 0, dtype=torch.int64), none, none)
    assert nobody.mean(nobody.of(block)[0]).item() == 0


@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0])
def test_priority_quantisation_by_loops(gamma: float) -> None:
    h = np.tanh(np.random.default_rng(0).standard_normal((5, 4)))
    expected = 0.0
    for row in np.abs(h):
        q = (1 + row.sum() / (np.sqrt((row**2).sum()) * 2)) / 2  # the length of a code of four ones is 2
        expected += (1 - q) ** gamma * np.abs(row - 1).mean() / 5
    assert priority_quantization(torch.from_numpy(h), gamma).item() == pytest.approx(expected)


def test_graded_similarity_is_the_cosine_of_label_vectors() -> None:
    labels = np.random.default_rng(0).random((30, 7)) < 0.4
    labels[:3] = False
    everything = np.arange(30)
    block = PairGraph(LabelSimilarity(labels), labels=labels).block(everything, everything)
    plain = PairGraph(LabelSimilarity(labels)).block(everything, everything)
    for i in range(30):
        for j in range(30):
            norm = np.linalg.norm(labels[i].astype(float)) * np.linalg.norm(labels[j].astype(float))
            expected = (labels[i] & labels[j]).sum() / norm if norm else 0.0
            assert block.similar[i, j].item() == pytest.approx(expected)
            assert (block.similar[i, j].item() == 1) == (norm > 0 and (labels[i] == labels[j]).all())
    assert torch.equal(block.similar > 0, plain.similar > 0)
    assert torch.equal(block.known, plain.known)
    assert torch.equal(block.whole.similar, plain.whole.similar)


def test_codes_go_forward_and_gradients_straight_through() -> None:
    u = tensor(0.5, -2.0, 0.0).requires_grad_()
    codes = straight_through(u, binary(u))
    (codes * tensor(1, 2, 3)).sum().backward()
    assert codes.tolist() == [1, -1, -1]
    assert u.grad.tolist() == [1, 2, 3]


def test_mismatch_is_over_the_two_halves_of_a_batch() -> None:
    codes, features = tensor(1, 1, 1, -1, -1, 1).view(3, 2), tensor(1, 0, 1, 1, 5, 5).view(3, 2)
    assert cosine_mismatch(codes, features).item() == pytest.approx((0 - 0.5**0.5) ** 2)  # the third has no partner
    assert cosine_mismatch(codes[:1], features[:1]).item() == 0
