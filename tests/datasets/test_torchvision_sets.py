"""torchvision:NAME: classification sets by torchvision's own readers, from files that the test writes."""

import numpy as np
import pytest

from benchmark.commands import main
from benchmark.data.audit import audit
from benchmark.errors import UsageError
from benchmark.registry import datasets, get_dataset


def load(root, name, **options):
    dataset = get_dataset(f"torchvision:{name}", root.folder, **options)
    dataset.check()
    return dataset, dataset.load()


@pytest.mark.parametrize("name", ["MNIST", "FashionMNIST", "KMNIST"])
def test_the_training_part_is_the_database_and_the_test_part_the_queries(root, name):
    root.mnist(f"torchvision/{name}", train=60, test=20)
    dataset, splits = load(root, name)
    assert (dataset.name, dataset.title, dataset.map_cutoff) == (f"torchvision:{name}", name, 1000)
    assert (len(splits.train), len(splits.query), len(splits.database)) == (60, 20, 60)
    for split, start in ((splits.database, 0), (splits.query, 60)):
        for row in range(len(split)):
            number = int(split.ids[row]) - start
            assert split.images[row].shape == (28, 28, 3)
            assert (split.images[row] == number).all()
            assert split.labels[row].argmax() == number % 10
    assert audit(splits, 10).errors == []


def test_queries_and_training_set_may_be_drawn(root):
    root.mnist("torchvision/MNIST", train=200, test=60)
    options = {"queries_per_class": 2, "train_size": 50, "imbalance": "zipf:1", "map_cutoff": "all"}
    dataset, splits = load(root, "MNIST", **options)
    assert splits.query.labels.sum(axis=0).tolist() == [2] * 10
    sizes = np.sort(splits.train.labels.sum(axis=0))
    assert sizes[-1] > 3 * sizes[0]
    assert sizes.sum() <= 50
    assert dataset.map_cutoff == 0
    assert dataset.revision != load(root, "MNIST")[0].revision
    with pytest.raises(UsageError, match=r"give torchvision\.train_size too"):
        get_dataset("torchvision:MNIST", root.folder, imbalance="paper")


def test_a_set_whose_part_goes_through_to_its_base_class(root):
    root.mnist("torchvision/EMNIST", train=94, test=47, digits=47, prefix="emnist-balanced-")
    _, splits = load(root, "EMNIST")
    assert splits.database.labels.shape == (94, 47)
    assert splits.class_names[10] == "A"


def stl10(root):
    folder = root.folder / "torchvision" / "STL10" / "stl10_binary"
    folder.mkdir(parents=True)
    for part, rows in (("train", 20), ("test", 10)):
        np.full((rows, 3, 96, 96), 7, np.uint8).tofile(folder / f"{part}_X.bin")
        (np.arange(rows) % 10 + 1).astype(np.uint8).tofile(folder / f"{part}_y.bin")
    (folder / "class_names.txt").write_text("\n".join(f"thing{n}" for n in range(10)))


def dtd(root):
    for number in range(30):
        root.image(f"torchvision/DTD/dtd/dtd/images/{'abc'[number % 3]}/{'abc'[number % 3]}_{number}.jpg")
    for part, rows in (("train", range(20)), ("val", range(20, 24)), ("test", range(24, 30))):
        names = (f"{'abc'[row % 3]}/{'abc'[row % 3]}_{row}.jpg" for row in rows)
        root.text(f"torchvision/DTD/dtd/dtd/labels/{part}1.txt", *names)


def food(root):
    import json

    for part, rows in (("train", range(16)), ("test", range(16, 24))):
        held = {name: [f"{name}/{row}" for row in rows if row % 2 == n] for n, name in enumerate(("pie", "soup"))}
        root.text(f"torchvision/Food101/food-101/meta/{part}.json", json.dumps(held))
        for row in rows:
            root.image(f"torchvision/Food101/food-101/images/{('pie', 'soup')[row % 2]}/{row}.jpg")


@pytest.mark.parametrize(
    ("name", "write", "classes", "sizes"),
    [("STL10", stl10, 10, (20, 10)), ("DTD", dtd, 3, (20, 6)), ("Food101", food, 2, (16, 8))],
)
def test_a_set_that_is_asked_for_its_part_by_split(root, monkeypatch, name, write, classes, sizes):
    write(root)
    if name == "STL10":
        from benchmark.data.vision import torchvision

        monkeypatch.setattr(torchvision.datasets.STL10, "_check_integrity", lambda self: True)
    _, splits = load(root, name)
    assert (len(splits.database), len(splits.query)) == sizes
    assert splits.database.labels.shape[1] == classes
    assert splits.database.images[0].ndim == 3
    assert audit(splits, 10).errors == []


def test_a_set_in_one_piece_gives_queries_of_each_class(root):
    for number in range(40):
        root.image(f"torchvision/EuroSAT/eurosat/2750/{'abcd'[number % 4]}/{number}.jpg")
    _, splits = load(root, "EuroSAT", queries_per_class=2)
    assert splits.query.labels.sum(axis=0).tolist() == [2] * 4
    assert (len(splits.train), len(splits.database)) == (32, 32)
    assert set(splits.query.ids).isdisjoint(splits.database.ids)


def test_names_are_those_of_this_torchvision():
    from benchmark.data.vision import torchvision

    module = __import__("sys").modules[datasets.get("torchvision").__module__]
    for name in (*module.PARTED, *module.WHOLE):
        keywords = module.accepted(getattr(torchvision.datasets, name))
        assert ("train" in keywords or "split" in keywords) == (name in module.PARTED), name


@pytest.mark.parametrize(
    ("name", "told"),
    [("SVNH", "did you mean SVHN"), ("mnist", "did you mean MNIST"), ("CocoDetection", "known: CIFAR10"), ("", "name")],
)
def test_what_is_no_classification_set_is_one_line(root, name, told):
    with pytest.raises(UsageError, match=told) as caught:
        get_dataset(f"torchvision:{name}", root.folder)
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_told_with_the_remedy(root):
    with pytest.raises(UsageError, match=r"torchvision:MNIST: .*prepare torchvision:MNIST --data-root .* --download'"):
        get_dataset("torchvision:MNIST", root.folder).check()


def test_prepare_fetches_through_torchvision(root, monkeypatch, capsys):
    from benchmark.data.vision import torchvision

    fetched = []

    def download(self):
        if not fetched:
            root.mnist("torchvision/MNIST")
        fetched.append(str(self.root))

    monkeypatch.setattr(torchvision.datasets.MNIST, "download", download)
    words = ["prepare", "torchvision:MNIST", "--data-root", str(root.folder), "--no-features"]
    assert main([*words, "--download", "--dry-run"]) == 1
    assert fetched == []
    assert main([*words, "--download", "--lists", str(root.folder / "lists")]) == 0
    assert set(fetched) == {str(root.folder / "torchvision" / "MNIST")}
    assert "60 rows" in capsys.readouterr().out
    assert (root.folder / "lists" / "train.txt").read_text().startswith("00000.png ")
    fetched.clear()
    assert main([*words, "--download"]) == 0
    assert fetched == []  # it is there


def test_what_torchvision_cannot_fetch_is_told_before_any_work(root, capsys):
    words = ["--data-root", str(root.folder), "--no-features", "--download"]
    assert main(["prepare", "nus", *words]) == 2
    assert "--download: torchvision cannot fetch nus" in capsys.readouterr().err
    assert main(["prepare", "torchvision:FER2013", *words]) == 2
    assert "torchvision cannot fetch it; put its files into" in capsys.readouterr().err
