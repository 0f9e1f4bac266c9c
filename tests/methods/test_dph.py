"""DPH against its equations written out pair by pair, and the identities that tie it to the other methods."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark import LabelSimilarity, PairSimilarity, Split, UsageError, get_method
from benchmark.deep import Codes, PairBlock, PairGraph, Training, load_profile, priority_quantization

SKEWED = np.array([0, 0, 0, 0, 0, 1, 1, 2])
BALANCED = np.arange(12) % 3
SHORT = Training(train="hash", steps=150, batch=64, device="cpu")


def batch(labels: np.ndarray, bits: int, seed: int = 0) -> tuple[Codes, PairBlock]:
    """Random float64 outputs for the block of all pairs, self pairs included."""
    hot = np.eye(labels.max() + 1, dtype=bool)[labels]
    everything = np.arange(len(labels))
    block = PairGraph(LabelSimilarity(hot), self_pairs=True).block(everything, everything)
    random = torch.Generator().manual_seed(seed)
    return Codes(torch.randn(2 * len(labels), bits, generator=random, dtype=torch.float64), len(labels)), block


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """cos(a, b), kept a millionth away from its ends, where (1 - q)^gamma has no slope."""
    return float(np.clip(a @ b / math.sqrt((a @ a) * (b @ b)), -1 + 1e-6, 1 - 1e-6))


def equations(u: np.ndarray, labels: np.ndarray, gamma: float, beta: float, inverse_epsilon: float) -> float:
    """L + Q of the paper, loop by loop: eq. 6 to 14, L over sum alpha, Q over images and bits, constant dropped."""
    h, n = np.tanh(u), len(labels)
    rows, columns = h[:n], h[n:]
    numerator = denominator = 0.0
    for i in range(n):
        for j in range(n):
            similar = labels[i] == labels[j]
            partners = [int((labels == labels[k]).sum()) for k in (i, j)]
            degrees = partners if similar else [n - count for count in partners]
            alpha = n * n / math.sqrt(degrees[0] * degrees[1])
            cos = cosine(rows[i], columns[j])
            q = (1 + cos) / 2 if similar else (1 - cos) / 2
            p = 1 / (1 + math.exp(-beta * (rows[i] @ columns[j])))
            numerator -= alpha * (1 - q) ** gamma * math.log(p if similar else 1 - p)
            denominator += alpha
    quantization = 0.0
    for code in h:
        q = (1 + cosine(np.abs(code), np.ones(len(code)))) / 2
        quantization += (1 - q) ** gamma * np.abs(np.abs(code) - 1).sum()
    return numerator / denominator + inverse_epsilon * quantization / h.size


@pytest.mark.parametrize("labels", [SKEWED, BALANCED], ids=["skewed", "balanced"])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("bits", [1, 5])
def test_loss_is_the_papers(labels: np.ndarray, gamma: float, bits: int) -> None:
    codes, block = batch(labels, bits)
    method = get_method("dph")(bits, gamma=gamma, logit_scale=0.07 * bits, inv_epsilon=0.3)
    expected = equations(codes.both.numpy(), labels, gamma, 0.7, 0.3)
    assert method.loss(codes, block, 0).item() == pytest.approx(expected, rel=1e-6)


def test_beta_is_ten_over_bits() -> None:
    assert [get_method("dph")(bits).beta for bits in (16, 32, 48, 64)] == pytest.approx(
        [0.625, 0.3125, 0.20833, 0.15625], rel=1e-4
    )


def cross_entropy(codes: Codes, block: PairBlock, beta: float) -> float:
    h = codes.both.tanh().numpy()
    t = beta * h[: codes.size] @ h[codes.size :].T
    return float((np.logaddexp(0, t) - block.similar.numpy() * t).mean())


def test_a_without_gamma_alpha_and_q_it_is_plain_cross_entropy_and_dhn() -> None:
    codes, block = batch(SKEWED, 4)
    plain = get_method("dph-w")(4, gamma=0, logit_scale=0.16, inv_epsilon=0).loss(codes, block, 0).item()
    assert plain == pytest.approx(cross_entropy(codes, block, 0.4), rel=1e-12)
    unscaled = get_method("dph-w")(4, logit_scale=0.4, inv_epsilon=0).loss(codes, block, 0).item()
    assert unscaled == pytest.approx(get_method("dhn")(4, quantization=0).loss(codes, block, 0).item(), rel=1e-12)


def test_b_dph_q_is_the_limit_of_a_flat_prior() -> None:
    codes, block = batch(SKEWED, 4)
    bare = get_method("dph-q")(4).loss(codes, block, 0).item()
    losses = [get_method("dph")(4, inv_epsilon=e).loss(codes, block, 0).item() for e in (0, 1e-3, 2e-3)]
    assert losses[0] == bare
    assert losses[2] - losses[0] == pytest.approx(2 * (losses[1] - losses[0]))  # linear in 1/epsilon


def test_b_dph_w_ignores_the_degrees() -> None:
    codes, block = batch(SKEWED, 4)
    ones = dataclasses.replace(block, rows=batch(BALANCED[:8], 4)[1].rows)
    assert get_method("dph-w")(4).loss(codes, block, 0) == get_method("dph-w")(4).loss(codes, ones, 0)
    assert get_method("dph")(4).loss(codes, block, 0) != get_method("dph")(4).loss(codes, ones, 0)


def test_dph_f_takes_its_difficulty_from_the_likelihood() -> None:
    codes, block = batch(SKEWED, 4)
    method = get_method("dph-f")(4, gamma=0.5, logit_scale=0.32)
    h = codes.both.tanh()
    p = torch.sigmoid(0.8 * h[: codes.size] @ h[codes.size :].T)
    p = torch.where(block.similar > 0, p, 1 - p)
    assert torch.allclose(method.difficulty(-p.log(), codes.tanh(), block), 1 - p)
    assert method.loss(codes, block, 0) != get_method("dph")(4, gamma=0.5, logit_scale=0.32).loss(codes, block, 0)


@pytest.mark.parametrize("name", ["dph", "dph-f", "dph-w", "dph-q"])
def test_c_gradient_treats_the_weights_as_constants(name: str) -> None:
    codes, block = batch(SKEWED, 3)
    method = get_method(name)(3, gamma=0.5)
    outputs = codes.both.clone().requires_grad_()
    (found,) = torch.autograd.grad(method.loss(Codes(outputs, codes.size), block, 0), outputs)
    h = Codes(outputs, codes.size).tanh()
    nll = torch.nn.functional.softplus(method.beta * h.inner) - block.similar * method.beta * h.inner
    alpha, modulation = torch.ones_like(nll), torch.ones_like(nll)
    if method.weighted:
        alpha = method.alpha(block)
        modulation = method.difficulty(nll, h, block) ** 0.5
    size = h.both.detach().abs()
    easy = 0.5 + size.sum(1) / size.norm(dim=1) / math.sqrt(3) / 2
    prior = ((1 - easy) ** 0.5 * (h.both.abs() - 1).abs().sum(1)).mean() / 3 * 0.1
    expected = (alpha * modulation * nll).sum() / alpha.sum() + (0 if name == "dph-q" else prior)
    (wanted,) = torch.autograd.grad(expected, outputs)
    assert torch.allclose(found, wanted, atol=1e-7)


@given(factor=st.floats(0.05, 0.95))
@settings(max_examples=20)
def test_d_difficulty_ignores_the_magnitude_of_codes_and_likelihood_does_not(factor: float) -> None:
    codes, block = batch(SKEWED, 4)
    h = codes.tanh()
    shrunk = Codes(torch.cat([factor * h.both[:1], h.both[1:]]), h.size)
    method = get_method("dph")(4)
    nothing = torch.zeros_like(block.similar)
    assert torch.allclose(method.difficulty(nothing, h, block), method.difficulty(nothing, shrunk, block))
    assert not torch.allclose(h.inner[0], shrunk.inner[0])


def test_e_balanced_classes_give_hashnets_weighting() -> None:
    codes, block = batch(BALANCED, 5)
    method = get_method("dph")(5, gamma=0, inv_epsilon=0)
    similar, dissimilar = (method.alpha(block)[block.similar == value].unique() for value in (1, 0))
    assert len(similar) == len(dissimilar) == 1
    ratio = block.whole.dissimilar / block.whole.similar
    assert (similar / dissimilar).item() == pytest.approx(ratio.item())
    hashnet = get_method("hashnet")(5, logit_scale=1.0)
    assert hashnet.beta(0) == 1
    assert method.loss(codes, block, 0).item() == pytest.approx(hashnet.loss(codes, block, 0).item(), rel=1e-6)


def test_f_duplicating_every_item_changes_nothing() -> None:
    codes, _ = batch(SKEWED, 4)
    method = get_method("dph")(4)
    twice = Codes(torch.cat([codes.rows, codes.rows, codes.columns, codes.columns]), 2 * codes.size)
    losses = [
        method.loss(outputs, batch(labels, 4)[1], 0).item()
        for outputs, labels in ((codes, SKEWED), (twice, np.tile(SKEWED, 2)))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_g_binary_codes_cost_no_quantisation_and_zero_codes_are_finite() -> None:
    assert priority_quantization(torch.tensor([[1.0, -1, 1, 1], [-1, -1, 1, -1]]), 0.1).item() == 0
    zero = torch.zeros(2, 4, requires_grad=True)
    value = priority_quantization(zero, 0.1)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(zero.grad).all()


@pytest.mark.parametrize("mode", ["paper", "authors"])
def test_h_extreme_logits_are_finite(mode: str) -> None:
    codes, block = batch(SKEWED, 4)
    outputs = (1e4 * codes.both.float()).requires_grad_()
    loss = get_method("dph")(4, logit_scale=1000.0, mode=mode).loss(Codes(outputs, codes.size), block, 0)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(outputs.grad).all()


def test_i_difficulty_of_a_pair_called_similar_and_called_dissimilar_add_up_to_one() -> None:
    codes, block = batch(SKEWED, 4)
    method = get_method("dph")(4)
    other = dataclasses.replace(block, similar=1 - block.similar)
    nothing = torch.zeros_like(block.similar)
    total = method.difficulty(nothing, codes.tanh(), block) + method.difficulty(nothing, codes.tanh(), other)
    assert torch.allclose(total, torch.ones_like(total))


def test_degrees_of_the_batch_replace_those_of_the_data_set() -> None:
    hot = np.eye(3, dtype=bool)[np.array([0] * 50 + [1, 1, 2])]
    block = PairGraph(LabelSimilarity(hot), self_pairs=True).block(np.array([0, 50, 52]), np.array([1, 2, 51]))
    alpha = get_method("dph")(4, alpha_scope="batch").alpha(block)
    # row 0 has 2 similar and 1 dissimilar partners in the block, row 50 has 1 and 2, row 52 has 0 and 3
    assert alpha[0, 0].item() == pytest.approx(9 / math.sqrt(2 * 1))
    assert alpha[1, 2].item() == pytest.approx(9 / math.sqrt(1 * 1))
    assert alpha[2, 0].item() == pytest.approx(9 / math.sqrt(3 * 2))
    assert get_method("dph")(4).alpha(block)[0, 0].item() == pytest.approx(53 * 53 / 50)


def test_an_item_without_a_similar_partner_has_a_finite_weight() -> None:
    unlabelled = LabelSimilarity(np.zeros((3, 2), bool))
    block = PairGraph(unlabelled).block(np.arange(3), np.arange(3))
    for scope in ("dataset", "batch"):
        assert torch.isfinite(get_method("dph")(4, alpha_scope=scope).alpha(block)).all()


def released_gradient(h: np.ndarray, similar: np.ndarray, bits: int, beta: float, bug: bool) -> np.ndarray:
    """Their backward pass by loops: (2/C) a_ij f_ij / mean(f) (sigma(t) - s) h_j, a on similar pairs only; what
    should have been scaled by beta is so for the first B numbers of each stream."""
    n = len(similar)
    u, v = h[:n], h[n:]
    slope, f, a = (np.zeros((n, n)) for _ in range(3))
    for i in range(n):
        for j in range(n):
            cos = u[i] @ v[j] / (np.linalg.norm(u[i]) * np.linalg.norm(v[j]))
            cos = 0.99 * np.sign(cos) if abs(cos) > 1 - 1e-9 else cos
            f[i, j] = ((1 - (cos if similar[i, j] else -cos)) / 2) ** 0.1
            a[i, j] = np.sqrt(n / similar[i].sum() * n / similar[:, j].sum()) if similar[i, j] else 1
            slope[i, j] = 1 / (1 + np.exp(-beta * u[i] @ v[j])) - similar[i, j]
    slope *= 2 / a.sum() * a * f / f.mean()
    streams = []
    for pull in (slope @ v, slope.T @ u):
        flat = pull.reshape(-1).copy()
        flat[: n if bug else None] *= beta
        streams.append(flat.reshape(n, bits))
    return np.concatenate(streams)


@pytest.mark.parametrize("bug", [True, False])
def test_authors_gradient_is_that_of_their_layers(bug: bool) -> None:
    bits, weight = 3, 0.15
    codes, block = batch(SKEWED, bits)
    both = codes.both.clone()
    both[codes.size] = both[0]  # an image that both streams drew: a pair with itself, whose cosine is 1
    h = both.tanh().numpy()
    pulls = released_gradient(h, block.similar.numpy(), bits, 10 / bits, bug)
    quantization = np.tanh(np.abs(h) - 1) * np.sign(h) * weight / len(h)
    method = get_method("dph")(bits, mode="authors", beta_bug=bug, inv_epsilon=weight)
    outputs = both.requires_grad_()
    (found,) = torch.autograd.grad(method.loss(Codes(outputs, codes.size), block, 0), outputs)
    np.testing.assert_allclose(found.numpy(), (pulls + quantization) * (1 - h**2), rtol=1e-5, atol=1e-8)


def test_authors_mode_counts_an_images_pair_with_itself() -> None:
    train = Split(labels=SKEWED)
    rows = np.arange(len(SKEWED))
    for mode, counted in (("paper", 0), ("authors", 1)):
        method = get_method("dph")(4, mode=mode)
        method.prepare(train)
        assert method._graph.block(rows, rows).known.diagonal().mean().item() == counted


def test_authors_beta_and_rate_are_the_released_ones() -> None:
    assert get_method("dph")(48, mode="authors").beta == 0.208
    assert get_method("dph")(48).beta == 10 / 48
    paper = load_profile("paper").training
    authors = get_method("dph")(48, mode="authors", training=paper)
    assert authors.sgd_rate * paper.learning_rate == pytest.approx(5e-5)
    assert get_method("dph")(48, training=paper).sgd_rate == 1


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(UsageError, match="alpha_scope = 'image', expected 'dataset' or 'batch'"):
        get_method("dph")(8, alpha_scope="image")
    with pytest.raises(UsageError, match="mode = 'code', expected 'paper' or 'authors'"):
        get_method("dph")(8, mode="code")


@pytest.mark.parametrize("name", ["dph", "hashnet", "dhn", "dsh", "dpsh", "dnnh", "cnnh"])
def test_a_sparse_list_of_pairs_without_any_label_is_enough(name: str) -> None:
    """The paper's claim for pairwise methods: three in a hundred pairs are known, no label is, and it learns."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 4, 300)
    centres = 2 * np.random.default_rng(1).standard_normal((4, 32))
    features = (centres[labels] + random.standard_normal((300, 32))).astype(np.float32)
    pairs = random.integers(0, 300, (1350, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    known = PairSimilarity(300, pairs, labels[pairs[:, 0]] == labels[pairs[:, 1]])
    train = Split(features=features, similarity=known)
    assert train.labels is None
    codes: Any = get_method(name)(16, training=SHORT).fit(train.visible("images", "similarity")).encode(train)
    products = codes.astype(float) @ codes.T / 16
    same = labels[:, None] == labels[None, :]
    assert products[same].mean() > products[~same].mean() + 0.5


@pytest.mark.slow
def test_real_features_give_working_codes(shared_data: Any) -> None:
    with np.load(shared_data / "coco_features_lite0.npz") as arrays:
        feature, label, split = (arrays[key] for key in ("feature", "label", "split"))
    from benchmark import evaluate

    train = Split(features=feature[split == 1], labels=label[split == 1])
    query = Split(features=feature[split == 0][:500], labels=label[split == 0][:500])
    method = get_method("dph")(32).fit(train.visible("images", "similarity"))
    found = evaluate(method.encode(query), method.encode(train), query.labels, train.labels, k=1000)
    assert found.map > 0.6  # chance is 0.36
