"""How fast the evaluator is, beside the usual ways: `python performance/evaluator.py [--bits 64] [--no-scale]`.

Labels are the real ones of COCO and ImageNet at the paper's size where ../shared/data is at hand, else synthetic ones
of the same shape; codes are synthetic. Rivals run on some of the queries, hashbench on all; they take turns, and the
least processor time of several rounds counts, so that a busy machine distorts the ratios little. One thread, but for
the last column: counting with two threads against one, by the clock on the wall, which needs an idle machine.
hashbench's time is that of counting and of all four metrics (MAP@k, PR, P@H<=r, P@N); the rivals' that of MAP@k
alone unless named otherwise.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy reads them

import numpy as np  # noqa: E402

from benchmark import count, score_counts  # noqa: E402
from benchmark.evaluation.codes import pack  # noqa: E402

LISTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "paper_lists.tar.xz"
ROUNDS = 5
RIVAL_QUERIES = 64


@dataclass(frozen=True, eq=False)
class Case:
    """Labels of one data set, and the cut-off of its MAP."""

    name: str
    query_labels: np.ndarray
    database_labels: np.ndarray
    k: int
    real: bool

    def codes(self, bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Codes that follow the labels: a random projection of them, and noise."""
        random = np.random.default_rng(bits)
        projection = random.normal(size=(self.query_labels.shape[1], bits))
        both = [labels @ projection for labels in (self.query_labels, self.database_labels)]
        noisy = [values + 1.5 * random.normal(size=values.shape) for values in both]
        return np.where(noisy[0] > 0, 1, -1).astype(np.int8), np.where(noisy[1] > 0, 1, -1).astype(np.int8)


def cases() -> list[Case]:
    shapes = {"COCO": (80, 2.9, 4000, 112_218, 5000), "ImageNet": (100, 1, 5000, 128_503, 1000)}
    if not LISTS.exists():
        print("the paper's lists (../shared/data/paper_lists.tar.xz) are not here: labels are synthetic")
        return [synthetic(name, *shape) for name, shape in shapes.items()]
    files = {
        "COCO": ("coco/test.txt", "coco/database_hashnet.txt"),
        "ImageNet": ("imagenet/test.txt", "imagenet/database.txt"),
    }
    with tarfile.open(LISTS) as archive:
        return [
            Case(name, *(read_labels(archive, file, shapes[name][0]) for file in pair), k=shapes[name][4], real=True)
            for name, pair in files.items()
        ]


def synthetic(name: str, classes: int, mean: float, queries: int, items: int, k: int) -> Case:
    random = np.random.default_rng(0)
    if mean == 1:
        labels = [np.eye(classes, dtype=bool)[np.sort(random.integers(0, classes, n))] for n in (queries, items)]
    else:
        labels = [random.random((n, classes)) < mean / classes for n in (queries, items)]
    return Case(name, labels[0], labels[1], k, real=False)


def read_labels(archive: tarfile.TarFile, name: str, classes: int) -> np.ndarray:
    """Multi-hot labels of a list file: the last `classes` digits of each line."""
    member = archive.extractfile(name)
    assert member is not None
    digits = b"".join(line.strip()[1 - 2 * classes :: 2] for line in member.read().splitlines() if line.strip())
    return (np.frombuffer(digits, np.uint8) == ord("1")).reshape(-1, classes)


# --- the ways to score ---------------------------------------------------------------------------------------------


Way = Callable[[], Any]


def ours(case: Case, query: np.ndarray, database: np.ndarray, threads: int = 1, kernel: str = "numba") -> Way:
    def run() -> Any:
        counts = count(
            query, database, case.query_labels[: len(query)], case.database_labels, kernel=kernel, threads=threads
        )
        scores = score_counts(counts, case.k)
        curves = scores.precision_recall, scores.precision_at_radius, scores.precision_at_n
        return scores.map, curves, scores.empty_ball_share

    return run


def usual(case: Case, query: np.ndarray, database: np.ndarray, with_curve: bool = False) -> Way:
    """(a) what public code does: per query a matrix product, an argsort and a cumulative sum."""
    real, real_queries = database.astype(np.float32), query.astype(np.float32)
    labels, query_labels = case.database_labels.astype(np.float32), case.query_labels.astype(np.float32)

    def run() -> float:
        found = []
        for index in range(len(query)):
            relevant = (query_labels[index] @ labels.T > 0).astype(np.float32)
            distance = 0.5 * (real.shape[1] - real_queries[index] @ real.T)
            ranked = relevant[np.argsort(distance)]
            top = ranked[: case.k]
            hits = int(top.sum())
            if hits:
                place = np.flatnonzero(top == 1) + 1.0
                found.append(np.mean(np.linspace(1, hits, hits) / place))
            if with_curve:
                running = np.cumsum(ranked)
                _ = running / running[-1], running / np.arange(1.0, len(running) + 1)
        return float(np.mean(found))

    return run


def with_faiss(case: Case, query: np.ndarray, database: np.ndarray) -> Way:
    """(b) faiss' exhaustive binary search, then relevance of what it found."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryFlat(database.shape[1])
    index.add(pack(database))
    packed = pack(query)

    def run() -> float:
        _, found = index.search(packed, case.k)
        relevant = [
            (case.database_labels[rows] & own).any(axis=1)
            for rows, own in zip(found, case.query_labels[: len(query)], strict=True)
        ]
        return average(np.array(relevant))

    return run


def with_torch(case: Case, query: np.ndarray, database: np.ndarray) -> Way:
    """(c) torch: matrix product and topk over blocks of queries."""
    import torch

    torch.set_num_threads(1)
    items, labels = torch.from_numpy(database).float().T, torch.from_numpy(case.database_labels).float().T
    own = torch.from_numpy(case.query_labels[: len(query)]).float()
    queries = torch.from_numpy(query).float()

    def run() -> float:
        parts = []
        for start in range(0, len(query), 16):
            block = slice(start, start + 16)
            place = (queries[block] @ items).topk(case.k, dim=1).indices
            parts.append(((own[block] @ labels) > 0).gather(1, place).numpy())
        return average(np.concatenate(parts))

    return run


def average(relevant: np.ndarray) -> float:
    hits = relevant.cumsum(axis=1)
    precision = (hits / np.arange(1, relevant.shape[1] + 1) * relevant).sum(axis=1)
    return float((precision / np.maximum(hits[:, -1], 1)).mean())


def limit(case: Case, query: np.ndarray, database: np.ndarray) -> Way:
    """(d) XOR, population count and a sum: reading the codes and nothing else."""
    from numba import njit, types
    from numba.extending import intrinsic

    from benchmark.evaluation.codes import words

    @intrinsic
    def ones(context: Any, word: Any) -> Any:
        return types.uint64(types.uint64), lambda context, builder, signature, values: builder.ctpop(values[0])

    @njit(nogil=True)
    def run_over(queries: np.ndarray, items: np.ndarray) -> Any:
        total = np.uint64(0)
        for index in range(queries.shape[1]):
            for word in range(items.shape[0]):
                column, own = items[word], queries[word, index]
                for item in range(len(column)):
                    total += ones(column[item] ^ own)
        return total

    arrays = words(pack(query), query.shape[1]), words(pack(database), database.shape[1])
    return lambda: run_over(*arrays)


# --- measuring -----------------------------------------------------------------------------------------------------


def least(ways: dict[Any, tuple[Way, int]], clock: Callable[[], float] = time.process_time) -> dict[Any, float]:
    """Nanoseconds per pair of each way: the least of some rounds in which all take turns."""
    for way, _ in ways.values():
        way()
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, (way, pairs) in ways.items():
            start = clock()
            way()
            best[name] = min(best[name], (clock() - start) / pairs * 1e9)
    return best


def compare(case: Case, bits: int) -> dict[str, float]:
    query, database = case.codes(bits)
    some = query[:RIVAL_QUERIES]
    all_pairs, some_pairs = len(query) * len(database), len(some) * len(database)
    times = least(
        {
            "hashbench": (ours(case, query, database), all_pairs),
            "numpy path": (ours(case, some, database, kernel="numpy"), some_pairs),
            "usual": (usual(case, some, database), some_pairs),
            "usual+PR": (usual(case, some, database, True), some_pairs),
            "faiss": (with_faiss(case, some, database), some_pairs),
            "torch": (with_torch(case, some, database), some_pairs),
            "limit": (limit(case, query[:1000], database), min(1000, len(query)) * len(database)),
        }
    )
    walls = least({f"{n} threads": (ours(case, query, database, n), all_pairs) for n in (1, 2)}, time.perf_counter)
    return times | {"two threads": walls["1 threads"] / walls["2 threads"]}


def table(bits_list: list[int]) -> None:
    rivals = ("usual", "usual+PR", "faiss", "torch", "numpy path")
    for case in cases():
        kind = "real" if case.real else "synthetic"
        shape = f"{len(case.query_labels)} queries x {len(case.database_labels)} items x {case.query_labels.shape[1]}"
        print(f"\n{case.name}: {shape} {kind} labels, k = {case.k}; ns per pair, and times slower than hashbench")
        print(
            f"{'bits':>5}{'hashbench':>11}{'limit':>8}{'x limit':>9}" + "".join(f"{name:>18}" for name in rivals),
            end="",
        )
        print(f"{'2 threads':>11}")
        for bits in bits_list:
            found = compare(case, bits)
            own = found["hashbench"]
            print(f"{bits:5}{own:11.3f}{found['limit']:8.3f}{own / found['limit']:9.2f}", end="")
            print("".join(f"{found[name]:10.2f} ={found[name] / own:5.0f}x" for name in rivals), end="")
            print(f"{found['two threads']:10.2f}x", flush=True)


# --- size ----------------------------------------------------------------------------------------------------------


@contextmanager
def database_file(items: int, classes: int) -> Iterator[tuple[Path, Path]]:
    """Files of packed 64-bit codes and packed labels, written in pieces."""
    random = np.random.default_rng(items)
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "codes.npy", Path(folder) / "labels.npy"
        codes = np.lib.format.open_memmap(paths[0], "w+", np.uint8, (items, 8))
        labels = np.lib.format.open_memmap(paths[1], "w+", np.uint8, (items, -(-classes // 8)))
        for start in range(0, items, 100_000):
            size = min(100_000, items - start)
            codes[start : start + size] = random.integers(0, 256, (size, 8), np.uint8)
            labels[start : start + size] = np.packbits(random.random((size, classes)) < 3 / classes, axis=1)
        del codes, labels
        yield paths


class PeakMemory:
    """Megabytes resident beyond those at the start, at most, looked up every 5 ms by a thread."""

    def __enter__(self) -> PeakMemory:
        self.start = self.most = self.resident()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()
        self.extra = self.most - self.start

    def watch(self) -> None:
        while not self.done.wait(0.005):
            self.most = max(self.most, self.resident())

    @staticmethod
    def resident() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def stream(paths: tuple[Path, Path], items: int, queries: int, classes: int, answer: Any) -> None:
    """Count against a file in a process of its own: nanoseconds per pair, and megabytes for counting and scoring."""
    random = np.random.default_rng(0)
    codes = random.integers(0, 256, (queries, 8), np.uint8)
    labels = random.random((queries, classes)) < 3 / classes
    shape = {"bits": 64, "classes": classes, "kernel": "numba", "threads": 1}
    count(codes[:2], codes, labels[:2], labels, **shape)
    with PeakMemory() as memory:
        start = time.thread_time()
        counts = count(codes, paths[0], labels, paths[1], **shape)
        spent = time.thread_time() - start
        scores = score_counts(counts, 5000)
        _ = scores.map, scores.precision_recall, scores.precision_at_radius, scores.precision_at_n
    answer.put((spent / (queries * items) * 1e9, memory.extra))


def scale(queries: int = 5000, classes: int = 80) -> None:
    print(f"\nstreamed from files, {queries} queries, 64 bits, {classes} labels, one thread")
    print(f"{'items':>12}{'ns per pair':>14}{'extra memory, MB':>19}")
    context = multiprocessing.get_context("spawn")
    for items in (10**5, 10**6, 10**7):
        with database_file(items, classes) as paths:
            found = []
            for _ in range(3 if items < 10**7 else 1):
                answer = context.Queue()
                process = context.Process(target=stream, args=(paths, items, queries, classes, answer))
                process.start()
                found.append(answer.get())
                process.join()
        print(f"{items:12}{min(one[0] for one in found):14.3f}{max(one[1] for one in found):19.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bits", type=int, nargs="+", default=[16, 32, 48, 64, 128])
    parser.add_argument("--no-scale", action="store_true", help="leave out the runs on files of up to 10^7 items")
    arguments = parser.parse_args()
    table(arguments.bits)
    if not arguments.no_scale:
        scale()


if __name__ == "__main__":
    main()
