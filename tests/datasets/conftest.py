"""Small data roots of every layout, made of generated images, and a cache of each test's own."""

from __future__ import annotations

import json
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

    def ilsvrc(self, wnids, train: int = 8, val: int = 2) -> None:
        for wnid in wnids:
            for number in range(train):
                self.image(f"train/{wnid}/{wnid}_{number}.JPEG")
            for number in range(val):
                self.image(f"val/{wnid}/ILSVRC2012_val_{wnid}_{number}.JPEG")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return Root(tmp_path / "root")


@pytest.fixture(scope="module")
def module_root(tmp_path_factory):
    """A root that the tests of one file share, and must not change."""
    return Root(tmp_path_factory.mktemp("root"))
