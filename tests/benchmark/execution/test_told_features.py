"""Features that are told: the same numbers, every batch heard of, and the pre-training before them step by step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.data.cache import telling
from benchmark.data.feature_cache import FeatureSource, extract
from benchmark.deep import mini_cnn
from benchmark.execution.told_features import extract_told
from benchmark.registry import get_dataset


def test_telling_changes_no_feature_and_counts_every_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def untrained() -> torch.nn.Module:
        torch.manual_seed(0)
        return mini_cnn.build_mini_cnn()

    monkeypatch.setattr("benchmark.deep.mini_cnn.load_mini_cnn", untrained)
    dataset = get_dataset("coco-mini", None)
    splits, source = dataset.load(), FeatureSource("mini-cnn")
    plain = extract(dataset, splits, source, tmp_path / "a", workers=0)
    heard: list[tuple[str, int, int]] = []
    with telling(lambda *told: heard.append(told)):
        told = extract_told(dataset, splits, source, cache=tmp_path / "b", workers=0)
    for name, split in plain.parts().items():
        np.testing.assert_array_equal(split.features, told.parts()[name].features)
    counts = [done for what, done, _ in heard if what == "features of mini-cnn"]
    totals = {total for what, _, total in heard if what == "features of mini-cnn"}
    assert totals == {counts[-1]}
    assert counts == sorted(counts)
    assert len(counts) > counts[-1] / 64


def test_pre_training_is_told_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmark.execution.told_features import _pretraining_told

    monkeypatch.setattr(mini_cnn, "CANVASES", 128)
    monkeypatch.setattr(mini_cnn, "EPOCHS", 1)
    heard: list[tuple[str, int, int]] = []
    with telling(lambda *told: heard.append(told)), _pretraining_told():
        mini_cnn.pretrain(128, 1)
    assert [told[1:] for told in heard] == [(1, 2), (2, 2)]
    with telling(lambda *told: heard.append(told)):
        mini_cnn.pretrain(128, 1)
    assert len(heard) == 2
