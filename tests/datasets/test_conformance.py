"""Every registered data set keeps the promises of a data set; a new one fails here until it has a small root."""

import numpy as np
import pytest

from benchmark import check_dataset
from benchmark.registry import builtin_folder, datasets, get_dataset
from tests.datasets.conftest import trust_cifar

CLASSES = datasets.get("imagenet").class_names


def features(root, kind="features", **more):
    arrays = {f"{part}_features": np.random.default_rng(n).normal(size=(9, 4))
              for n, part in enumerate(("train", "query", "database"))}  # fmt: skip
    labels = {f"{part}_labels": np.arange(9) % 3 for part in ("train", "query", "database")}
    np.savez(root.folder / "f.npz", **arrays, **{**labels, **more})
    return {"dataset": f"{kind}:{root.folder / 'f.npz'}"}


def triplets(root):
    return features(root, "triplets", train_triplets=np.array([[0, 3, 1], [1, 4, 2], [2, 5, 0]]))


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


def nus21(root):
    root.nus(images=200)
    return {"dataset": "nus21", "data_root": root.folder, "options": {"queries_per_class": 1, "train_per_class": 2}}


def mirflickr(root):
    root.mirflickr(images=60)
    return {"dataset": "mirflickr", "data_root": root.folder, "options": {"queries": 6, "train_size": 20}}


def voc2012(root):
    root.voc(images=60)
    return {"dataset": "voc2012", "data_root": root.folder, "options": {"queries": 6, "train_size": 20}}


def torchvision_set(root):
    root.mnist("torchvision/MNIST")
    return {"dataset": "torchvision:MNIST", "data_root": root.folder, "options": {"train_size": 20}}


def cifar(name, classes, **options):
    """An instance: in a fresh process the files would not pass for CIFAR."""

    def recipe(root, monkeypatch):
        root.cifar(classes, rows=2 * classes)
        trust_cifar(monkeypatch)
        return {"dataset": get_dataset(name, root.folder, **options)}

    return recipe


SMALL = {
    "features": features,
    "pairs": pairs,
    "triplets": triplets,
    "coco": coco,
    "nus": nus,
    "imagenet": imagenet,
    "imagenet-balanced": lambda root: imagenet(root, "imagenet-balanced"),
    "folder": folder,
    "lists": lambda root: {"dataset": f"lists:{root.lists()}"},
    "nus21": nus21,
    "mirflickr": mirflickr,
    "voc2012": voc2012,
    "imagenet-lt": lambda root: {**imagenet(root, "imagenet-lt"), "options": {}},
    "torchvision": torchvision_set,
}
CIFAR = {
    "cifar10": cifar("cifar10", 10, queries_per_class=1, train_size=30),
    "cifar100": cifar("cifar100", 100, queries_per_class=1, train_size=100),
    "cifar100-lt": cifar("cifar100-lt", 100),
}


def test_no_data_set_is_left_out():
    built_in = {cls.info.name for cls in datasets if cls.info.source.parent == builtin_folder("datasets")}
    assert {name for name in built_in if not name.endswith("-mini")} == {*SMALL, *CIFAR}


@pytest.mark.parametrize("name", SMALL)
def test_every_promise_is_kept(root, name):
    rows = check_dataset(**SMALL[name](root), raise_first=False)
    assert [row for row in rows if not row.kept] == []


@pytest.mark.parametrize("name", CIFAR)
def test_every_promise_is_kept_by_cifar(root, name, monkeypatch):
    rows = check_dataset(**CIFAR[name](root, monkeypatch), raise_first=False)
    assert [row for row in rows if not row.kept] == []


def test_every_promise_is_kept_where_classes_are_held_out(root):
    recipe = features(root) | {"options": {"unseen": 0.4}}
    rows = check_dataset(**recipe, raise_first=False)
    assert [row for row in rows if not row.kept] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["imagenet-mini", "nus-mini", "coco-mini"])
def test_miniature(name):
    rows = check_dataset(name, raise_first=False)
    assert [row for row in rows if not row.kept] == []
