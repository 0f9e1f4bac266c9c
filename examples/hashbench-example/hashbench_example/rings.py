"""rings: points on four rings around one centre, drawn from a seed; no file is needed."""

from pathlib import Path

import numpy as np

from benchmark import Split, Splits, register_dataset
from benchmark.data import NamedDataset

ROWS = {"train": 200, "query": 40, "database": 400}
CLASSES = 4


@register_dataset("rings", title="Rings")
class Rings(NamedDataset):
    """Which ring a point lies on is its class."""

    protocol = "drawn"
    map_cutoff = 50
    backbone = None

    def __init__(self, argument: str | None = None, data_root: Path | None = None, *, noise: float = 0.1) -> None:
        super().__init__()
        self.noise = float(noise)
        self.revision = f"rings 1, noise {self.noise:g}"

    def check(self) -> None:
        """Nothing lies on a disk, so nothing can be missing."""

    def load(self) -> Splits:
        random = np.random.default_rng(0)
        return Splits(**{part: self._part(rows, random) for part, rows in ROWS.items()})

    def _part(self, rows: int, random: np.random.Generator) -> Split:
        labels = np.arange(rows) % CLASSES
        angle = random.uniform(0, 2 * np.pi, rows)
        radius = 1 + labels + self.noise * random.standard_normal(rows)
        points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return Split(features=points.astype(np.float32), labels=labels)
