"""OrthoHash: softmax of scaled cosines to fixed codes, a margin at the row's own classes, batch normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.deep import Training

LABELS = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]], bool)
SHORT = Training(train="hash", steps=60, batch=16, learning_rate=0.01, device="cpu")


def prepared(labels: np.ndarray = LABELS, **parameters: Any) -> Any:
    method = get_method("orthohash")(6, training=SHORT, **parameters)
    method.prepare(Split(labels=labels))
    method.state = {"centres": method.centres.double()}
    return method


def some_outputs() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((5, 6)))


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_loss_against_a_loop(margin: float) -> None:
    method, outputs = prepared(margin=margin, scale=5.0), some_outputs()
    total = 0.0
    for v, hot in zip(outputs.numpy(), LABELS, strict=True):
        logits = []
        for c, centre in enumerate(method.centres.numpy()):
            cos = sum(a * b for a, b in zip(v, centre, strict=True)) / np.sqrt(sum(a * a for a in v) * 6)
            logits.append(5 * (cos - margin * hot[c]))
        shares = [np.log(np.exp(logits).sum()) - logits[c] for c in range(3) if hot[c]]
        total += sum(shares) / len(shares)
    found = method.loss(outputs, torch.from_numpy(LABELS.astype(float)), 0).item()
    assert found == pytest.approx(total / 5, rel=1e-9)


def test_without_a_margin_it_is_the_softmax_of_cosines() -> None:
    method, outputs = prepared(LABELS[[0, 1, 4]], margin=0.0), some_outputs()[:3]
    cosines = torch.nn.functional.cosine_similarity(outputs[:, None], method.centres[None], dim=2)
    expected = torch.nn.functional.cross_entropy(8 * cosines, torch.tensor([0, 1, 2]))
    assert method.loss(outputs, torch.eye(3).double(), 0).item() == pytest.approx(expected.item(), rel=1e-9)


def test_the_length_of_an_output_is_irrelevant_and_a_margin_raises_the_loss() -> None:
    labels, lengths = torch.from_numpy(LABELS.astype(float)), torch.tensor([[0.1], [1], [3], [50], [7]]).double()
    losses = [prepared(margin=m).loss(x, labels, 0).item() for m, x in ((0.2, some_outputs()), (0.0, some_outputs()))]
    assert losses[0] > losses[1]
    assert prepared().loss(lengths * some_outputs(), labels, 0).item() == pytest.approx(losses[0], rel=1e-9)


def test_bits_are_normalised_over_the_batch_and_encoding_uses_what_was_learned() -> None:
    head = get_method("orthohash")(4).head(7)
    assert head[0].bias is None
    rows = 5 + torch.randn(40, 7, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(head.train()(rows).mean(0), torch.zeros(4), atol=1e-5)
    alone, together = head.eval()(rows[:1]), head.eval()(rows)
    assert torch.allclose(alone, together[:1], atol=1e-6)


@pytest.mark.parametrize("several", [False, True])
def test_it_learns_beside_rows_without_a_label(beside_unlabelled_rows: Any, several: bool) -> None:
    method, found = beside_unlabelled_rows("orthohash", several)
    assert method.multi_label is several
    assert found > 0.9


def test_a_single_class_is_no_trouble() -> None:
    outputs = some_outputs().requires_grad_()
    prepared(np.ones((5, 1), bool)).loss(outputs, torch.ones(5, 1).double(), 0).backward()
    assert torch.isfinite(outputs.grad).all()
