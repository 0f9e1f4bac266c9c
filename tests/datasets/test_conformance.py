"""Every registered data set keeps the promises of a data set; a new one fails here until it has a small root."""

import pickle

import numpy as np
import pytest

from benchmark import check_dataset
from benchmark.registry import builtin_folder, datasets, get_dataset

CLASSES = datasets.get("imagenet").class_names


def features(root):
    arrays = {f"{part}_features": np.random.default_rng(n).normal(size=(9, 4))
              for n, part in enumerate(("train", "query", "database"))}  # fmt: skip
    labels = {f"{part}_labels": np.arange(9) % 3 for part in ("train", "query", "database")}
    np.savez(root.folder / "f.npz", **arrays, **labels)
    return {"dataset": f"features:{root.folder / 'f.npz'}"}


def pairs(root):
    root.lists(classes=2)
    path = root.text("pairs.txt", "images/5.png images/7.png 1", "images/7.png images/6.png 0")
    return {"dataset": f"pairs:{path}"}


def coco(root):
    root.coco(images=100)
    return {"dataset": "coco", "data_root": root.folder, "options": {"queries_per_class": 1, "train_size": 50}}


def nus(root):
    root.nus(images=200)
    return {"dataset": "nus", "data_root": root.folder, "options": {"queries_per_class": 1, "train_size": 50}}


def imagenet(root, name="imagenet"):
    root.ilsvrc(CLASSES, train=3, val=1)
    return {"dataset": name, "data_root": root.folder, "options": {"train_size": 200}}


def folder(root):
    for number in range(12):
        root.image(f"{'cat' if number % 2 else 'dog'}/{number}.png")
    return {"dataset": f"folder:{root.folder}", "options": {"queries_per_class": 2}}


def cifar10(root, monkeypatch):
    from benchmark.data.vision import torchvision

    below = root.folder / "cifar-10-batches-py"
    below.mkdir()
    rows = {"data": np.zeros((20, 3072), np.uint8), "labels": [n % 10 for n in range(20)]}
    for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
        (below / name).write_bytes(pickle.dumps(rows))
    (below / "batches.meta").write_bytes(pickle.dumps({"label_names": [str(n) for n in range(10)]}))
    monkeypatch.setattr(torchvision.datasets.CIFAR10, "_check_integrity", lambda self: True)
    monkeypatch.setattr(torchvision.datasets.cifar, "check_integrity", lambda *a: True)
    made = get_dataset("cifar10", root.folder, queries_per_class=1, train_size=30)
    return {"dataset": made}  # an instance: in a fresh process the files would not pass for CIFAR


SMALL = {
    "features": features,
    "pairs": pairs,
    "coco": coco,
    "nus": nus,
    "imagenet": imagenet,
    "imagenet-balanced": lambda root: imagenet(root, "imagenet-balanced"),
    "folder": folder,
    "lists": lambda root: {"dataset": f"lists:{root.lists()}"},
    "cifar10": cifar10,
}


def test_no_data_set_is_left_out():
    built_in = {cls.info.name for cls in datasets if cls.info.source.parent == builtin_folder("datasets")}
    assert {name for name in built_in if not name.endswith("-mini")} == set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_every_promise_is_kept(root, name, monkeypatch):
    recipe = SMALL[name](root, monkeypatch) if name == "cifar10" else SMALL[name](root)
    rows = check_dataset(**recipe, raise_first=False)
    assert [row for row in rows if not row.kept] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["imagenet-mini", "nus-mini", "coco-mini"])
def test_miniature(name):
    rows = check_dataset(name, raise_first=False)
    assert [row for row in rows if not row.kept] == []
