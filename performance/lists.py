"""How long the published lists at full size take: parsed, then from the cache, and as whole data sets.

    python performance/lists.py

Reads ../shared/data/paper_lists.tar.xz into a scratch folder. Wanted: the 128,503 rows of ImageNet's database in
under 3 s, and in under 0.3 s from the cache. The best of three is shown, as the machine may be shared.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmark.data.list_files import read_list
from benchmark.registry import get_dataset

ARCHIVE = Path(__file__).parents[2] / "shared" / "data" / "paper_lists.tar.xz"
LISTS = {"imagenet/database.txt": 100, "coco/database_hashnet.txt": 80, "nuswide_81/train.txt": 81}


def best(task: Callable[[], object], fresh: bool, scratch: Path) -> float:
    """The shortest of three runs, each with an empty cache if `fresh`."""
    seconds = []
    for repeat in range(3):
        if fresh:
            os.environ["HASHBENCH_CACHE"] = str(scratch / f"cache{time.perf_counter_ns()}-{repeat}")
        start = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    if not ARCHIVE.is_file():
        raise SystemExit(f"{ARCHIVE} is not on this machine: nothing to measure")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(scratch, filter="data")
        for path, classes in LISTS.items():
            rows = len(read_list(scratch / path, classes))
            parsed, kept = (
                best(lambda p=path, c=classes: read_list(scratch / p, c), f, scratch) for f in (True, False)
            )
            print(f"{path:28}{rows:8,} rows: parsed {parsed:.2f} s, from the cache {kept:.3f} s")
        for dataset in ("imagenet", "nus", "coco"):
            load = lambda d=dataset: get_dataset(d, scratch).load()  # noqa: E731
            parsed, kept = (best(load, fresh, scratch) for fresh in (True, False))
            print(f"{dataset:28}all three lists: {parsed:.2f} s, from the cache {kept:.3f} s")


if __name__ == "__main__":
    main()
