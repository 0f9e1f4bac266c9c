"""Small data roots of every layout, made of generated images, and a cache of each test's own."""

from __future__ import annotations

import json
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def paper_lists(shared_data, tmp_path_factory) -> Path:
    """The published lists of COCO and NUS-WIDE, unpacked."""
    folder = tmp_path_factory.mktemp("lists")
    with tarfile.open(shared_data / "paper_lists.tar.xz") as archive:
        wanted = [one for one in archive if one.name.startswith(("coco/t", "nuswide_81/"))]
        archive.extractall(folder, wanted, filter="data")
    return folder


class Root:
    """Writes images, lists and official files below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.random = np.random.default_rng(0)

    def image(self, path: str) -> str:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(self.random.integers(0, 256, (6, 6, 3), np.uint8)).save(target)
        return path

    def text(self, path: str, *lines: str) -> Path:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{line}\n" for line in lines))
        return target

    def lists(self, under: str = "", prefix: str = "images", classes: int = 3, per_class: int = 6) -> Path:
        """Images and lists: of each class two queries, the rest database, half of that training."""
        parts: dict[str, list[str]] = {"train": [], "query": [], "database": []}
        for number in range(classes * per_class):
            label = " ".join("1" if column == number % classes else "0" for column in range(classes))
            self.image(f"{under}images/{number}.png")
            line = f"{prefix}/{number}.png {label}"
            part = "query" if number // classes < 2 else "database"
            parts[part].append(line)
            if part == "database" and number // classes % 2:
                parts["train"].append(line)
        for part, lines in parts.items():
            self.text(f"{under}{part}.txt", *lines)
        return self.folder / under

    def coco(self, images: int = 200, categories: int = 80) -> None:
        """Two annotation files; every image has two categories, but every tenth has none."""
        ids = [3 * number + 1 for number in range(categories)]
        described = [{"id": i, "name": f"thing {i}"} for i in ids]
        for offset, part in ((0, "train2014"), (images, "val2014")):
            rows, pairs = [], []
            for number in range(offset, offset + images):
                name = f"COCO_{part}_{number:012d}.jpg"
                self.image(f"{part}/{name}")
                rows.append({"id": number, "file_name": name})
                if number % 10:
                    pairs += [{"image_id": number, "category_id": ids[(number * k) % categories]} for k in (1, 3)]
            told = {"images": rows, "annotations": pairs, "categories": described}
            self.text(f"annotations/instances_{part}.json", json.dumps(told))

    def nus(self, images: int = 400, concepts: int = 81) -> None:
        """Image list with backslashes, and a ground-truth file per concept; every fifth image has none."""
        names = [f"concept{number:02d}" for number in range(concepts)]
        entries = [f"folder{number % 7}\\{number:04d}_{number * 17}.jpg" for number in range(images)]
        for entry in entries:
            self.image("Flickr/" + entry.replace("\\", "/"))
        self.text("ImageList/Imagelist.txt", *entries)
        self.text("ConceptsList/Concepts81.txt", *reversed(names))
        for column, name in enumerate(names):
            held = (str(int(row % 5 > 0 and (row % concepts == column or row % 7 == column))) for row in range(images))
            self.text(f"Groundtruth/AllLabels/Labels_{name}.txt", *held)

    def mirflickr(self, images: int = 60) -> None:
        """Image n has annotation n % 24, and the strict one where there is one and n is even; every tenth has none."""
        names = [f"thing{number:02d}" for number in range(24)]
        strict = [f"{name}_r1" for name in names[:14]]
        lines: dict[str, list[str]] = {name: [] for name in (*names, *strict)}
        for number in range(1, images + 1):
            self.image(f"mirflickr/im{number}.jpg")
            name = names[number % 24]
            if number % 10:
                lines[name].append(str(number))
                if number % 2 == 0 and f"{name}_r1" in lines:
                    lines[f"{name}_r1"].append(str(number))
        for name, numbers in lines.items():
            self.text(f"mirflickr25k_annotations_v080/{name}.txt", *numbers)
        self.text("mirflickr25k_annotations_v080/README.txt", "about")

    def voc(self, images: int = 60) -> None:
        """Image n has class n % 20, and class 3 where n % 4 is 0; class 5 is difficult to see where n % 7 is 0."""
        entries = [f"2008_{number:06d}" for number in range(images)]
        for entry in entries:
            self.image(f"VOCdevkit/VOC2012/JPEGImages/{entry}.jpg")
        for column in range(20):
            values = []
            for number in range(images):
                has = number % 20 == column or (column == 3 and number % 4 == 0)
                values.append("1" if has else "0" if column == 5 and number % 7 == 0 else "-1")
            lines = (f"{entry} {value:>2}" for entry, value in zip(entries, values, strict=True))
            self.text(f"VOCdevkit/VOC2012/ImageSets/Main/class{column:02d}_trainval.txt", *lines)
        self.text("VOCdevkit/VOC2012/ImageSets/Main/trainval.txt", *entries)

    def mnist(self, under: str, train: int = 60, test: int = 20, digits: int = 10, prefix: str = "") -> None:
        """MNIST's four files, as torchvision unpacks them; row n shows n, and is of class n % digits."""
        folder = self.folder / under / f"{Path(under).name}/raw"
        folder.mkdir(parents=True)
        for part, rows in (("train", train), ("t10k" if not prefix else "test", test)):
            pixels = np.repeat(np.arange(rows, dtype=np.uint8), 28 * 28)
            head = b"".join(size.to_bytes(4, "big") for size in (0x803, rows, 28, 28))
            (folder / f"{prefix}{part}-images-idx3-ubyte").write_bytes(head + pixels.tobytes())
            head = b"".join(size.to_bytes(4, "big") for size in (0x801, rows))
            numbers = (np.arange(rows) % digits).astype(np.uint8)
            (folder / f"{prefix}{part}-labels-idx1-ubyte").write_bytes(head + numbers.tobytes())

    def cifar(self, classes: int, rows: int = 20) -> Path:
        """Files in CIFAR's format; the n-th file is of the colour n, row n of class n % classes."""
        kinds = {
            10: ("cifar-10-batches-py", "labels", "batches.meta", "label_names"),
            100: ("cifar-100-python", "fine_labels", "meta", "fine_label_names"),
        }
        below, labels, meta, names = kinds[classes]
        folder = self.folder / below
        folder.mkdir()
        batches = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
        for number, name in enumerate(batches if classes == 10 else ["train", "test"]):
            held = {"data": np.full((rows, 3072), number, np.uint8), labels: [n % classes for n in range(rows)]}
            (folder / name).write_bytes(pickle.dumps(held))
        (folder / meta).write_bytes(pickle.dumps({names: [f"class {number}" for number in range(classes)]}))
        return folder

    def ilsvrc(self, wnids, train: int = 8, val: int = 2) -> None:
        for wnid in wnids:
            for number in range(train):
                self.image(f"train/{wnid}/{wnid}_{number}.JPEG")
            for number in range(val):
                self.image(f"val/{wnid}/ILSVRC2012_val_{wnid}_{number}.JPEG")


def trust_cifar(monkeypatch):
    """Set torchvision's checksums aside."""
    from benchmark.data.vision import torchvision

    monkeypatch.setattr(torchvision.datasets.CIFAR10, "_check_integrity", lambda self: True)
    monkeypatch.setattr(torchvision.datasets.cifar, "check_integrity", lambda *a: True)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return Root(tmp_path / "root")


@pytest.fixture(scope="module")
def module_root(tmp_path_factory):
    """A root that the tests of one file share, and must not change."""
    return Root(tmp_path_factory.mktemp("root"))
