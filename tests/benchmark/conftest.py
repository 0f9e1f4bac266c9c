"""A results folder with made-up cells: small, quick, and with every kind of outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.evaluation.counting import EVALUATOR_VERSION
from benchmark.execution.record import SCHEMA_VERSION, Record
from benchmark.execution.store import Store

QUALITY = {"dph": 0.62, "hashnet": 0.55, "itq": 0.4, "lsh": 0.2}
TITLES = {"dph": "DPH", "hashnet": "HashNet", "itq": "ITQ", "lsh": "LSH"}
FAMILY = {"dph": "deep", "hashnet": "deep", "itq": "unsupervised", "lsh": "data-independent"}
DATASETS = {"imagenet-mini": "ImageNet-mini", "nus-mini": "NUS-WIDE-mini"}
HISTORY = {"step": [0, 10, 20], "loss": [1.0, 0.5, 0.4], "gradient_norm": [3.0, 2.0, 1.0]}
QUERIES, DATABASE, CLASSES = 60, 300, 12


class Synthetic:
    """Writes made-up cells into a store."""

    def __init__(self, root: Path) -> None:
        self.store = Store(root)
        self.count = 0
        self.rng = np.random.default_rng(0)

    def dataset(self, revision: str) -> None:
        query = np.eye(CLASSES, dtype=bool)[np.arange(QUERIES) % CLASSES]
        database = np.eye(CLASSES, dtype=bool)[np.sort(np.arange(DATABASE) % CLASSES)]
        self.store.save_dataset(
            revision,
            {
                "query_labels": np.packbits(query, axis=1),
                "database_labels": np.packbits(database, axis=1),
                "train_class_counts": np.linspace(5, 200, CLASSES).astype(int),
                "class_names": np.array([f"class {i}" for i in range(CLASSES)]),
                "classes": np.array(CLASSES),
            },
        )

    def cell(self, method: str, dataset: str, bits: int, seed: int = 0, **changes: Any) -> Record:
        """Commit one cell; `changes` replace parts of the record."""
        self.count += 1
        key = f"{self.count:064x}"
        quality = changes.pop("quality", QUALITY.get(method, 0.3))
        ap = np.clip(self.rng.normal(quality + bits / 600, 0.1, QUERIES), 0, 1)
        revision = changes.pop("revision", f"rev-{dataset}")
        self.dataset(revision)
        versions = {"evaluator": EVALUATOR_VERSION, "schema": SCHEMA_VERSION}
        parts = {"profile": {}, "weights": "w", "sources": {"method": "s"}} | versions | changes.pop("parts", {})
        cutoff = changes.pop("cutoff", changes.get("metrics", {}).get("k", 100))
        fields = {
            "key": key,
            "cell": {
                "method": method, "params": changes.pop("params", {}), "dataset": dataset,
                "protocol": changes.pop("protocol", "miniature"),
                "bits": bits, "seed": seed, "profile": changes.pop("profile", "quick"),
                "backbone": changes.pop("backbone", "mini-cnn"),
                "settings": changes.pop("settings", "shipped"), "tuned": changes.pop("tuned", {}),
            },
            "status": "ok",
            "parts": {"dataset": {"revision": revision, "map_cutoff": cutoff}} | parts,
            "titles": {"method": TITLES.get(method, method), "dataset": DATASETS.get(dataset, dataset)},
            "family": FAMILY.get(method, "supervised"),
            "miniature": dataset.endswith("-mini"),
            "metrics": self.metrics(ap) | {"k": cutoff},
            "seconds": {"load": 0.1, "fit": 2.0 * bits / 16, "encode": 0.2, "score": 0.05},
            "peak_memory": 300_000_000,
            "health": {"bit_balance": 0.1, "constant_bits": 0.0, "distinct": 250, "distinct_share": 0.8,
                       "collapsed": False},
            "audit": self.audit(),
            "training": HISTORY if FAMILY.get(method) == "deep" else {},
            "provenance": {"versions": {"torch": "2.13.0"}, "machine": {"processor": "x"},
                           "ended": f"2026-01-01T{self.count // 60:02d}:{self.count % 60:02d}:00"},
            "error": None,
        } | changes  # fmt: skip
        record = Record(**fields)
        self.store.commit(record, self.payload(ap, bits) if record.status == "ok" else None)
        return record

    def published_cell(self, method: str, dataset: str, bits: int) -> Record:
        """A cell on real data, measured as the paper does."""
        made = self.metrics(np.full(QUERIES, 0.5)) | {"k": 1000 if dataset.startswith("imagenet") else 5000}
        return self.cell(
            method, dataset, bits, metrics=made, protocol="published lists", backbone="alexnet", profile="paper"
        )

    def audit(self) -> dict[str, Any]:
        part = {"rows": 500, "duplicates": 0, "unlabelled": 2, "labels_per_row": 1.0, "class_counts": [9, 5, 1]}
        return {
            "parts": {"train": part}, "classes": CLASSES, "overlap": 0, "chance_map": 0.09, "map_cutoff": 100,
            "groups": {"head": [10, 11], "middle": [5, 6, 7], "tail": [0, 1]},
            "errors": [], "warnings": ["train: 2 rows without a label"], "notes": [],
        }  # fmt: skip

    def metrics(self, ap: np.ndarray) -> dict[str, Any]:
        mean = float(ap.mean())
        return {
            "map": mean, "k": 100, "ties": "expected", "denominator": "hits", "empty": "zero", "map_all": mean * 0.8,
            "map_best": mean + 0.02, "map_worst": mean - 0.02, "map_stable": mean, "precision_at_radius_2": mean * 0.9,
            "empty_ball_share": 0.3, "chance_map": 0.09, "queries": QUERIES, "skipped_queries": 0,
            "map_groups": {"head": mean + 0.1, "middle": mean, "tail": mean - 0.1},
        }  # fmt: skip

    def payload(self, ap: np.ndarray, bits: int) -> dict[str, np.ndarray]:
        recall = np.linspace(0, 1, 101)
        return {
            "query_codes": self.rng.integers(0, 256, (QUERIES, bits // 8), dtype=np.uint8),
            "database_codes": self.rng.integers(0, 256, (DATABASE, bits // 8), dtype=np.uint8),
            "ap": ap,
            "recall": recall,
            "precision": ap.mean() * (1 - recall * 0.6),
            "precision_at_radius": np.linspace(ap.mean(), 0.1, bits + 1),
            "recall_at_radius": np.linspace(0, 1, bits + 1),
            "n": np.arange(100, 1001, 100),
            "precision_at_n": np.linspace(ap.mean(), 0.1, 10),
            "class_ap": self.rng.random(CLASSES),
        }

    def grid(self, bits: tuple[int, ...] = (16, 32, 64), seeds: int = 1) -> Synthetic:
        for dataset in DATASETS:
            for method in QUALITY:
                for length in bits:
                    for seed in range(seeds):
                        self.cell(method, dataset, length, seed)
        return self


@pytest.fixture
def synthetic(tmp_path: Path) -> Synthetic:
    return Synthetic(tmp_path / "results")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports whose figures are files without ink: drawing is what takes time."""

    def write_only(drawing: Any, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix in ("pdf", "png"):
            (folder / f"{drawing.name}.{suffix}").write_bytes(b"")
        (folder / f"{drawing.name}.csv").write_text(drawing.csv())

    monkeypatch.setattr("benchmark.report.composition.draw_figure", write_only)
    monkeypatch.setattr("benchmark.report.composition.PARALLEL_FROM", 10**9)


@pytest.fixture
def other(tmp_path: Path) -> Synthetic:
    """A second results folder."""
    return Synthetic(tmp_path / "other")


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report on the small grid, with a failure and a skip in it."""
    from benchmark.report import render

    folder = tmp_path_factory.mktemp("report")
    made = Synthetic(folder / "results").grid(bits=(16, 64))
    error = {"kind": "skipped", "message": "needs <b>labels</b> & more", "traceback": ""}
    made.cell("ksh", "nus-mini", 16, status="skipped", error=error, metrics={})
    return render(made.store, folder / "out").parent
