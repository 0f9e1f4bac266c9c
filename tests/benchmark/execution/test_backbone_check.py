"""Networks and weights that cells need: what cannot be had is told before any work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark import UsageError
from benchmark.execution.backbone_check import check_backbones
from benchmark.execution.grid import Cell, cells, choose_datasets, make_grid


@pytest.fixture(scope="module")
def cell() -> Cell:
    """Of a data set with images; nothing is loaded."""
    return cells(make_grid(choose_datasets(["coco"]), ["lsh"], [8], [0], "quick"))[0]


def with_network(cell: Cell, backbone: str, weights: str | None) -> list[Cell]:
    return [replace(cell, choice=replace(cell.choice, backbone=backbone, weights=weights))]


@pytest.mark.parametrize(
    ("backbone", "weights", "told"),
    [
        ("alexnett", None, "did you mean 'alexnet'"),
        ("AlexNet", None, "did you mean 'alexnet'"),
        ("fasterrcnn_resnet50_fpn", None, "unknown backbone 'fasterrcnn_resnet50_fpn'"),
        ("zebra", None, "expected mini-cnn or a classifier"),
        ("alexnet", "IMAGENET9K_V1", "has no weights 'IMAGENET9K_V1' in torchvision: it has IMAGENET1K_V1"),
        ("alexnet", "nowhere.pth", "nowhere.pth does not exist"),
    ],
)
def test_a_network_that_cannot_be_had(cell: Cell, backbone: str, weights: str | None, told: str) -> None:
    """E: bad --weights and --backbone failed cell by cell."""
    with pytest.raises(UsageError, match=told):
        check_backbones(with_network(cell, backbone, weights))


def test_weights_of_another_network(cell: Cell, tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", conv=np.zeros(3, np.float32))
    with pytest.raises(UsageError, match=r"w\.npz"):
        check_backbones(with_network(cell, "squeezenet1_1", str(tmp_path / "w.npz")))


def test_a_network_that_can_be_had(cell: Cell) -> None:
    check_backbones([cell])
    check_backbones(with_network(cell, "resnet18", None))
    check_backbones(with_network(cell, "resnet18", "random"))
