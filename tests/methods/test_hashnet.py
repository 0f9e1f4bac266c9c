"""HashNet: its continuation and its weights."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from benchmark import LabelSimilarity, get_method
from benchmark.deep import Codes, PairGraph, Training

LABELS = np.eye(3, dtype=bool)[[0, 0, 0, 0, 1, 1, 2]]


def test_sharpness_follows_the_published_schedule() -> None:
    method = get_method("hashnet")(8, training=Training(steps=10_000))
    assert [method.beta(step) for step in (0, 199, 200, 10_000)] == pytest.approx([1, 1, 2**0.5, 7.1414], rel=1e-4)


def test_a_shorter_training_sees_the_whole_schedule() -> None:
    long, short = (get_method("hashnet")(8, training=Training(steps=steps)) for steps in (10_000, 500))
    assert [short.beta(step) for step in (0, 100, 250, 500)] == [long.beta(step) for step in (0, 2000, 5000, 10_000)]


def test_sharpness_does_not_depend_on_how_often_it_is_asked() -> None:
    method = get_method("hashnet")(8)
    assert method.beta(300) == method.beta(300)


def test_similar_and_dissimilar_pairs_weigh_the_same_in_all() -> None:
    graph = PairGraph(LabelSimilarity(LABELS), self_pairs=True)
    block = graph.block(np.arange(7), np.arange(7))
    # With codes of one direction every similar pair costs a, every dissimilar pair b: the loss is their mean.
    codes = Codes(torch.full((14, 4), 0.5, dtype=torch.float64), 7)
    t = 10 / (64 * 4) ** 0.5 * 4 * np.tanh(0.5) ** 2
    expected = (np.logaddexp(0, -t) + np.logaddexp(0, t)) / 2
    assert get_method("hashnet")(4, logit_scale=1.0).loss(codes, block, 0).item() == pytest.approx(expected, rel=1e-6)


def test_sharp_tanh_is_the_sign() -> None:
    u = Codes(torch.tensor([[0.3, -0.2], [-4.0, 5.0]]), 1)
    assert torch.allclose(u.tanh(1e3).both, u.both.sign())


def test_one_sided_training_sets_are_finite() -> None:
    codes = Codes(torch.randn(8, 4, generator=torch.Generator().manual_seed(0)), 4)
    for labels in (np.eye(4, dtype=bool), np.ones((4, 1), bool)):
        block = PairGraph(LabelSimilarity(labels)).block(np.arange(4), np.arange(4))
        empty = dataclasses.replace(block, similar=torch.zeros_like(block.similar))
        assert torch.isfinite(get_method("hashnet")(4).loss(codes, block, 0))
        assert torch.isfinite(get_method("hashnet")(4).loss(codes, empty, 0))
