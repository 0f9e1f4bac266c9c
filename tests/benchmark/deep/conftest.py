"""What the tests of deep methods share: random batches, rows that are easy to tell apart, a tiny backbone."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchmark import LabelSimilarity, Split
from benchmark.data.images import ImageArrays, Transform
from benchmark.deep import Codes, PairBlock, PairGraph, Training, assembly
from benchmark.deep.backbones import Backbone


def make_clusters(rows: int = 120, classes: int = 4, dimension: int = 16, seed: int = 0) -> Split:
    random = np.random.default_rng(seed)
    labels = np.arange(rows) % classes
    centres = 3 * np.random.default_rng(99).standard_normal((classes, dimension))
    features = centres[labels] + random.standard_normal((rows, dimension))
    return Split(features=features.astype(np.float32), labels=labels)


def make_batch(labels: np.ndarray, bits: int, seed: int = 0, scale: float = 1.0) -> tuple[Codes, PairBlock]:
    """Random float64 outputs for a square block over all these items, and the block."""
    graph = PairGraph(LabelSimilarity(np.asarray(labels)), self_pairs=True)
    everything = np.arange(len(graph))
    random = torch.Generator().manual_seed(seed)
    outputs = scale * torch.randn(2 * len(graph), bits, generator=random, dtype=torch.float64)
    return Codes(outputs, len(graph)), graph.block(everything, everything)


@pytest.fixture
def clusters() -> Callable[..., Split]:
    return make_clusters


@pytest.fixture
def batch() -> Callable[..., tuple[Codes, PairBlock]]:
    return make_batch


def make_tiny_backbone(name: str, *_: Any, **__: Any) -> Backbone:
    """A backbone of two layers with batch normalisation and dropout, pre-trained on nothing."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        pool = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())
        trunk = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), pool)
        last = nn.Sequential(OrderedDict(drop=nn.Dropout(0.1), fc=nn.Linear(32, 16), relu=nn.ReLU()))
    return Backbone(name, trunk.eval(), last.eval(), Transform(resize=14, crop=12), 16, "none")


def make_colours(seed: int, rows: int = 60) -> Split:
    """Noisy images of three colours."""
    labels = np.arange(rows) % 3
    images = np.random.default_rng(seed).integers(0, 120, (rows, 14, 14, 3))
    images[np.arange(rows), :, :, labels] += 100
    return Split(images=ImageArrays(images.astype(np.uint8)), labels=labels)


@pytest.fixture
def short() -> Training:
    """Twenty steps of the hash layer alone."""
    return Training(train="hash", steps=20, batch=16, device="cpu", checkpoint_seconds=0)


@pytest.fixture
def tiny_backbone() -> Callable[..., Backbone]:
    return make_tiny_backbone


@pytest.fixture
def colours() -> Callable[..., Split]:
    return make_colours


@pytest.fixture
def tiny(short: Training, monkeypatch: pytest.MonkeyPatch) -> Training:
    """Sixty steps with the tiny backbone in the place of every other."""
    monkeypatch.setattr(assembly, "load_backbone", make_tiny_backbone)
    return dataclasses.replace(short, backbone="tiny", steps=60, learning_rate=0.02)
