"""Parts of the network: each against the formula it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchmark.data.images import Transform
from benchmark.deep.network import ClassMemory, HashNetwork, Normalise, Scale, Slices, hash_layer, parameter_groups
from benchmark.shallow.scaling import FeatureScaling


@pytest.mark.parametrize("mode", ["none", "center", "l2", "center-l2"])
@pytest.mark.parametrize("gain", [1.0, "sqrt"])
def test_scaling_inside_a_network_is_the_one_outside(mode: Any, gain: Any) -> None:
    features = np.random.default_rng(0).normal(2, 1, (30, 6)).astype(np.float32)
    scaling = FeatureScaling.fit(features, mode=mode, gain=gain)
    inside = Scale(scaling)
    np.testing.assert_allclose(inside(torch.from_numpy(features)).numpy(), scaling.transform(features), rtol=1e-5)
    assert list(inside.parameters()) == []  # fixed


def test_bit_k_is_a_linear_unit_on_slice_k() -> None:
    layer, units = Slices(bits=3, width=4), torch.randn(5, 12)
    nn.init.normal_(layer.bias)
    found, weight, bias = layer(units).tolist(), layer.weight.tolist(), layer.bias.tolist()
    for row in range(5):
        for bit in range(3):
            own = units[row, 4 * bit : 4 * bit + 4].tolist()
            expected = bias[bit] + sum(a * b for a, b in zip(own, weight[bit], strict=True))
            assert found[row][bit] == pytest.approx(expected, abs=1e-5)


def test_a_hash_layer_starts_with_the_stated_deviation_and_no_bias() -> None:
    torch.manual_seed(0)
    layer = hash_layer(400, 64, 0.01)
    assert layer.weight.std().item() == pytest.approx(0.01, rel=0.05)
    assert layer.weight.mean().item() == pytest.approx(0, abs=0.001)
    assert not layer.bias.any()


def test_outputs_are_head_of_scale_of_body_and_the_classifier_is_no_part() -> None:
    body, head, inputs = nn.Linear(3, 4), nn.Linear(4, 2), torch.randn(7, 3)
    network = HashNetwork(body, nn.Tanh(), head)
    network.classifier = nn.Linear(2, 9)
    torch.testing.assert_close(network(inputs), head(torch.tanh(body(inputs))))


def test_every_parameter_is_in_one_group_with_its_rate_and_decay() -> None:
    network = HashNetwork(nn.Linear(3, 4), nn.Identity(), nn.Linear(4, 2))
    network.classifier = nn.Linear(2, 5)
    groups = parameter_groups(network, 10.0, 2.0, 0.5, 0.1)
    of = {id(group["params"][0]): (group["rate"], group["weight_decay"]) for group in groups}  # type: ignore[index]
    assert len(groups) == len(of) == len(list(network.parameters()))
    for part, fast, decay in ((network.body, 1, 0.1), (network.head, 10, 0.5), (network.classifier, 10, 0.5)):
        assert of[id(part.weight)] == (fast, decay)
        assert of[id(part.bias)] == (2 * fast, 0.0)


def test_images_are_normalised_as_their_transform_does() -> None:
    transform = Transform(resize=14, crop=12)
    pixels = np.random.default_rng(0).integers(0, 256, (2, 12, 12, 3)).astype(np.uint8)
    found = Normalise(transform)(torch.from_numpy(pixels))
    assert found.shape == (2, 3, 12, 12)
    torch.testing.assert_close(found, transform.normalise(pixels))


def test_class_memory_adds_what_the_attended_classes_look_like() -> None:
    torch.manual_seed(0)
    memory = ClassMemory(5, 3)
    memory.means = torch.randn(3, 5)
    rows = torch.randn(4, 5)
    for row, found in zip(rows, memory(rows), strict=True):
        scores = (memory.attention.weight @ row + memory.attention.bias).exp()
        recalled = sum(score / scores.sum() * mean for score, mean in zip(scores, memory.means, strict=True))
        selected = torch.tanh(memory.selector.weight @ row + memory.selector.bias)
        assert torch.allclose(found, row + selected * recalled, atol=1e-6)


def test_class_memory_is_the_mean_of_each_class_after_a_pass_and_keeps_what_it_did_not_meet() -> None:
    memory, random = ClassMemory(5, 3), torch.Generator().manual_seed(0)
    rows = torch.randn(6, 5, generator=random)
    labels = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0.0]])
    assert torch.equal(memory(rows), rows)  # nothing is known yet
    memory.means = torch.full((3, 5), 7.0)
    for part in (slice(0, 4), slice(4, 6)):
        assert (memory.means == 7).all()
        output = memory(rows[part].clone().requires_grad_()).sum()
        memory.note(labels[part], 6)
        output.backward()  # M may be renewed between forward and backward
    expected = torch.stack([rows[[0, 1, 3]].mean(0), rows[[1, 2, 4, 5]].mean(0), torch.full((5,), 7.0)])
    assert torch.allclose(memory.means, expected)
    assert memory.noted == memory.counts.sum() == memory.sums.abs().sum() == 0
    assert not memory.means.requires_grad


def test_class_memory_notes_nothing_while_encoding() -> None:
    memory = ClassMemory(5, 3).eval()
    memory(torch.randn(2, 5))
    memory.note(torch.eye(3)[:2], 1)
    assert memory.noted == 0
    assert {"means", "sums", "counts", "noted"} <= set(memory.state_dict())
