"""The whole command line on real images laid out as a data root: published lists, and official annotations.

Both ways with real SqueezeNet weights: features are extracted, methods trained and scored, results committed.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmark.execution.store import Store

ROOT = Path(__file__).parents[2]
PARTS = {"query": [0], "train": [1], "database": [1, 2]}


class RealCoco:
    """Some of the shared COCO images, as files, lists and annotations."""

    def __init__(self, shared, folder, sizes):
        with np.load(shared / "coco_images.npz") as arrays:
            self.arrays = {name: arrays[name] for name in arrays.files}
        self.weights = shared / "weights_squeezenet1_1.npz"
        self.folder, self.rows = folder, self._chosen(sizes)

    def _chosen(self, sizes):
        split = self.arrays["split"]
        return np.concatenate([np.flatnonzero(split == part)[:size] for part, size in enumerate(sizes)])

    def name(self, row):
        """COCO's own file names; even ids are training images, odd ones validation images, for the test's sake."""
        number = int(self.arrays["image_id"][row])
        return f"{self.year(row)}/COCO_{self.year(row)}_{number:012d}.jpg"

    def year(self, row):
        return "val2014" if int(self.arrays["image_id"][row]) % 2 else "train2014"

    def write_images(self):
        offset, jpeg = self.arrays["offset"], self.arrays["jpeg"]
        for row in self.rows:
            path = self.folder / self.name(row)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(jpeg[offset[row] : offset[row + 1]].tobytes())

    def write_lists(self, names):
        for part, file in names.items():
            rows = [row for row in self.rows if self.arrays["split"][row] in PARTS[part]]
            lines = (f"/foreign/{self.name(r)} {' '.join(map(str, self.arrays['label'][r]))}\n" for r in rows)
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / file).write_text("".join(lines))

    def write_annotations(self):
        categories = [{"id": n + 1, "name": str(name)} for n, name in enumerate(self.arrays["class_name"])]
        for year in ("train2014", "val2014"):
            rows = [row for row in self.rows if self.year(row) == year]
            ids = self.arrays["image_id"]
            told = {
                "images": [{"id": int(ids[r]), "file_name": Path(self.name(r)).name} for r in rows],
                "annotations": [
                    {"image_id": int(ids[r]), "category_id": int(column) + 1}
                    for r in rows
                    for column in np.flatnonzero(self.arrays["label"][r])
                ],
                "categories": categories,
            }
            path = self.folder / "annotations" / f"instances_{year}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(told))

    def command(self, *words):
        """run_all.py with these words; its output must be clean."""
        told = subprocess.run(
            [sys.executable, "run_all.py", *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, told.stdout + told.stderr
        return told.stdout

    def run(self, tmp_path, dataset, *words):
        self.command(
            "--datasets", dataset, "--data-root", self.folder, "--backbone", "squeezenet1_1",
            "--weights", self.weights, "--results", tmp_path / "results", "--no-report", *words,
        )  # fmt: skip
        return list(Store(tmp_path / "results").records())


@pytest.fixture
def coco(shared_data, tmp_path):
    return RealCoco(shared_data, tmp_path / "root", (16, 30, 18))


LISTS = {"train": "coco/train.txt", "query": "coco/test.txt", "database": "coco/database.txt"}


@pytest.mark.slow
def test_published_lists_and_real_weights(coco, tmp_path):
    coco.write_images()
    coco.write_lists(LISTS)
    (record,) = coco.run(tmp_path, "coco", "--methods", "itq", "--bits", "16")
    assert record.status == "ok"
    assert record.cell["dataset"] == "coco"
    assert record.cell["protocol"] == "published lists"
    assert not record.miniature
    assert record.audit["parts"]["database"]["rows"] == 48
    assert record.metrics["map"] > record.metrics["chance_map"]


@pytest.mark.slow
def test_official_annotations_and_real_weights(coco, tmp_path):
    coco.write_images()
    coco.write_annotations()
    options = ("--option", "coco.train_size=30", "--option", "coco.queries_per_class=1")
    (record,) = coco.run(tmp_path, "coco", "--methods", "lsh", "--bits", "16", *options)
    assert record.status == "ok"
    assert record.cell["protocol"].startswith("drawn, 1 queries per class, 30 training images")
    rows = {part: told["rows"] for part, told in record.audit["parts"].items()}
    labelled = int(coco.arrays["label"][coco.rows].any(axis=1).sum())
    assert rows["train"] == 30
    assert rows["query"] + rows["database"] == labelled
    assert record.audit["overlap"] == 0


def test_features_see_what_is_in_the_images(shared_data, tmp_path, monkeypatch):
    """SqueezeNet features of real images retrieve far better than chance, through lists and cache."""
    from benchmark.data.feature_cache import FeatureSource, extract
    from benchmark.registry import get_dataset

    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    real = RealCoco(shared_data, tmp_path / "root", (20, 20, 80))
    real.write_images()
    real.write_lists({"train": "train.txt", "query": "query.txt", "database": "database.txt"})
    dataset = get_dataset(f"lists:{real.folder}")
    dataset.check()
    splits = extract(dataset, dataset.load(), FeatureSource("squeezenet1_1", real.weights))
    query, database = (s.features / np.linalg.norm(s.features, axis=1, keepdims=True)
                       for s in (splits.query, splits.database))  # fmt: skip
    relevant = splits.query.labels.astype(int) @ splits.database.labels.T.astype(int) > 0
    nearest = np.argsort(-query @ database.T, axis=1)[:, :5]
    precision = np.take_along_axis(relevant, nearest, axis=1).mean()
    assert precision > relevant.mean() + 0.1
    assert np.array_equal(splits.train.features, splits.database.features[:20])


@pytest.mark.slow
def test_a_thousand_images_both_ways_with_deep_methods(shared_data, tmp_path):
    real = RealCoco(shared_data, tmp_path / "root", (200, 500, 300))
    real.write_images()
    real.write_lists(LISTS)
    words = ("--methods", "lsh", "itq", "dph", "hashnet", "--bits", "16", "32")
    records = real.run(tmp_path, "coco", *words)
    assert [record.status for record in records] == ["ok"] * 8
    by_method = {r.cell["method"]: r.metrics["map"] for r in records if r.cell["bits"] == 32}
    assert by_method["dph"] > by_method["lsh"]
    for path in (real.folder / "coco").iterdir():
        path.unlink()
    real.write_annotations()
    told = real.command("prepare", "coco", "--data-root", real.folder, "--option", "coco.train_size=400",
                        "--option", "coco.queries_per_class=2", "--backbone", "squeezenet1_1",
                        "--weights", real.weights, "--lists", tmp_path / "drawn")  # fmt: skip
    assert "features squeezenet1_1" in told
    assert (tmp_path / "drawn" / "lists.json").is_file()
    again = real.run(tmp_path / "again", f"lists:{tmp_path / 'drawn'}", "--methods", "itq", "--bits", "16")
    assert again[0].status == "ok"
