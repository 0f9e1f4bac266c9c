"""Backbones: cut where they should be, filled by strict names, and identified without torch."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from benchmark.data.vision import torchvision
from benchmark.deep.backbones import has_last, load_backbone, transform_of, weights_id
from benchmark.errors import UsageError


def last_layer_input(model, images):
    """What the last linear layer of a classifier sees, caught by a hook."""
    seen = []
    layer = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    layer.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0]))
    with torch.inference_mode():
        model(images)
    return seen[0]


def run(backbone, images):
    with torch.inference_mode():
        return backbone.last(backbone.trunk(images))


@pytest.mark.parametrize("name", ["alexnet", "resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_5"])
def test_penultimate_features_are_the_last_layers_input(name):
    images = torch.randn(2, 3, 96, 96)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torchvision.models.get_model(name).eval()
    backbone = load_backbone(name, "random")
    features = run(backbone, images)
    assert features.shape == (2, backbone.dimension)
    torch.testing.assert_close(features, last_layer_input(model, images))


def test_the_papers_networks_have_the_papers_dimensions():
    assert load_backbone("alexnet", "random").dimension == 4096
    assert load_backbone("resnet50", "random").dimension == 2048


@pytest.mark.parametrize("name", ["alexnet", "resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1"])
def test_without_layers_behind_the_trunk_both_cuts_are_one(name):
    backbone = load_backbone(name, "random")
    assert has_last(name) == bool(list(backbone.last.parameters()))


def test_sizes_are_those_of_torchvision():
    for name in torchvision.models.list_models(module=torchvision.models):
        weights = torchvision.models.get_model_weights(name)
        preset = (
            weights["IMAGENET1K_V1"] if "IMAGENET1K_V1" in weights.__members__ else next(iter(weights))
        ).transforms()
        ours = transform_of(name)
        assert [ours.crop] == preset.crop_size, name
        assert ours.mean == tuple(preset.mean), name
        assert ours.std == tuple(preset.std), name


def test_global_random_state_is_untouched():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    load_backbone("squeezenet1_1", "random")
    assert torch.rand(1) == expected


def test_weights_are_identified_without_torch(tmp_path):
    np.savez(tmp_path / "w.npz", a=np.zeros(1))
    code = (
        "import sys; from benchmark.deep.backbones import weights_id, transform_of;"
        f"print(weights_id('alexnet'), weights_id('alexnet', {str(tmp_path / 'w.npz')!r}), transform_of('vgg16').crop);"
        "print(weights_id('mini-cnn')); assert 'torch' not in sys.modules"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.startswith("alexnet:IMAGENET1K_V1 alexnet:sha256:")
    np.savez(tmp_path / "v.npz", a=np.ones(1))
    assert weights_id("alexnet", tmp_path / "v.npz") not in told
    assert weights_id("alexnet", tmp_path / "v.npz", partial=True).endswith("+partial")


# Weight files


def state(name="squeezenet1_1"):
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return torchvision.models.get_model(name).state_dict()


def test_npz_and_state_dict_fill_the_same_network(tmp_path):
    weights = state()
    torch.save(weights, tmp_path / "w.pth")
    np.savez(tmp_path / "w.npz", **{name: tensor.numpy() for name, tensor in weights.items()})
    images = torch.randn(1, 3, 64, 64)
    one, other = (run(load_backbone("squeezenet1_1", tmp_path / f"w.{kind}"), images) for kind in ("pth", "npz"))
    torch.testing.assert_close(one, other)
    assert not torch.equal(one, run(load_backbone("squeezenet1_1", "random"), images))


def without(weights, *prefixes):
    return {name: tensor for name, tensor in weights.items() if not name.startswith(prefixes)}


@pytest.mark.slow
def test_partial_weights_need_the_flag_and_average_the_trunk(tmp_path):
    torch.save(without(state("alexnet"), "classifier"), tmp_path / "conv.pth")
    with pytest.raises(UsageError, match="--partial-weights"):
        load_backbone("alexnet", tmp_path / "conv.pth")
    backbone = load_backbone("alexnet", tmp_path / "conv.pth", partial=True)
    assert backbone.dimension == 256
    assert all(name.startswith("classifier") for name in backbone.missing)
    model = torchvision.models.alexnet().eval()
    model.load_state_dict(without(state("alexnet"), "classifier"), strict=False)
    images = torch.randn(2, 3, 128, 128)
    with torch.inference_mode():
        expected = model.features(images).mean(dim=(2, 3))
    torch.testing.assert_close(run(backbone, images), expected)


def broken_weights(kind, path):
    weights = state()
    if kind == "lacks a layer of the trunk":
        torch.save(without(weights, "features.3."), path)
    elif kind == "has a layer too many":
        torch.save({**weights, "extra.weight": torch.zeros(1)}, path)
    elif kind == "has another shape":
        torch.save({**weights, "features.0.bias": torch.zeros(3)}, path)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("lacks a layer of the trunk", r"missing 'features.3.squeeze.weight', .* and 3 more"),
        ("has a layer too many", r"unexpected 'extra.weight'"),
        ("has another shape", r"'features.0.bias' has shape \(3,\), expected \(64,\)"),
        ("is not there", r"does not exist"),
    ],
)
@pytest.mark.parametrize("partial", [False, True])
def test_damaged_weights_are_one_line(tmp_path, kind, message, partial):
    path = tmp_path / "w.pth"
    broken_weights(kind, path)
    with pytest.raises(UsageError, match=message) as caught:
        load_backbone("squeezenet1_1", path, partial)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "weights", "message"),
    [
        ("squeezenet11", None, "did you mean 'squeezenet1_1'"),
        ("nothing-like-it", None, "unknown backbone"),
        ("alexnet", "IMAGENET9", "no weights 'IMAGENET9' in torchvision: it has IMAGENET1K_V1"),
        ("alexnet", "best ones", "neither a file"),
        ("mini-cnn", "random", "trains its own weights"),
    ],
)
def test_unknown_names(name, weights, message):
    with pytest.raises(UsageError, match=message):
        load_backbone(name, weights)


def test_real_squeezenet_weights_classify(shared_data):
    """Weights as shared: the features meet the file's own classifier, and it recognises Tiny-ImageNet's
    classes."""
    backbone = load_backbone("squeezenet1_1", shared_data / "weights_squeezenet1_1.npz")
    assert backbone.dimension == 512
    assert backbone.missing == ()
    with np.load(shared_data / "weights_squeezenet1_1.npz") as arrays:
        wanted = arrays["features.12.expand3x3.bias"].astype(np.float32)
    held = backbone.trunk.state_dict()["0.12.expand3x3.bias"].numpy()
    assert np.array_equal(held, wanted)


def test_real_alexnet_trunk_is_partial(shared_data):
    backbone = load_backbone("alexnet", shared_data / "weights_alexnet_conv.npz", partial=True)
    assert backbone.dimension == 256
    assert len(backbone.missing) == 6
