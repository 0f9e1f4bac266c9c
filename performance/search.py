"""What a search costs and what it finds: `python performance/search.py [--sizes N ...] [--results DIR CELL ...]`.

For random codes, for clustered ones (classes of codes that differ in one bit of twenty), or for the codes of stored
cells: time per query of the exact scan (ten nearest), of lookup within radius 2 and of multi-index hashing (ten
nearest), median and 99th percentile, as parts of the time that a scan of float features takes in the same run; codes
touched, keys probed, bytes per item. Then what radius 2 finds: codes in the ball, share of empty balls, and how many
of the ten nearest, or, of a cell, how many of the relevant lie in it. All on one thread; the three take turns.

The float scan is a product of one row with as many rows and the ten largest; it is measured at 10^5 rows at most and
taken to grow with the rows, as it does. Rows have as many columns as the cell's features where its model was kept, else
--dimensions; what the numbers are does not matter to the time. A cell's codes are drawn again and again until there are
--sizes of them, which changes no distribution; what radius 2 finds is counted on its own database. With --keep the
ratios at the largest size go into the cell's record, and the report's table of costs shows them.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy reads them

import numpy as np  # noqa: E402

from benchmark.evaluation.codes import pack  # noqa: E402
from benchmark.search import ExactScan, Index, MultiIndex, TableLookup, open_index  # noqa: E402

BITS = (16, 32, 48, 64)
FLOAT_ROWS = 100_000
NEAREST, RADIUS = 10, 2
CLASSES, FLIPPED = 1000, 0.05


@dataclass(frozen=True, eq=False)
class Codes:
    """Packed codes to search, and what is relevant to each query where that is known."""

    name: str
    bits: int
    queries: np.ndarray
    database: np.ndarray
    query_labels: np.ndarray | None = None  # packed, as the store keeps them
    database_labels: np.ndarray | None = None

    def enlarged(self, size: int) -> Codes:
        """`size` rows drawn from the database."""
        rows = np.random.default_rng(0).integers(0, len(self.database), size)
        return replace(self, database=self.database[rows])


def made_codes(kind: str, bits: int, size: int, queries: int) -> Codes:
    random = np.random.default_rng(bits)
    total = size + queries
    if kind == "random":
        packed = random.integers(0, 256, (total, bits // 8), dtype=np.uint8)
    else:
        centres = pack(random.integers(0, 2, (CLASSES, bits)))
        packed = centres[random.integers(0, CLASSES, total)]
        for bit in range(bits):  # column by column: all bits at once would need gigabytes
            flip = (random.random(total, dtype=np.float32) < FLIPPED).astype(np.uint8)
            packed[:, bit // 8] ^= flip << (7 - bit % 8)
    return Codes(kind, bits, packed[:queries], packed[queries:])


def stored_codes(results: Path, wanted: str) -> tuple[Codes, Any, Any]:
    """The codes of a cell, its record and the store."""
    from benchmark.execution.cell_names import label_of
    from benchmark.execution.model import find_record
    from benchmark.execution.store import Store

    store = Store(results)
    record = find_record(wanted, store)
    arrays, rows = store.payload(record), store.dataset(record.revision)
    labels = (rows["query_labels"], rows["database_labels"])
    codes = (arrays["query_codes"], arrays["database_codes"])
    return Codes(label_of(record), record.cell["bits"], *codes, *labels), record, store


def own_columns(record: Any, store: Any) -> int | None:
    """Of the features that a cell was given; None where its model, which says so, was not kept."""
    from benchmark.models.state_file import read_state

    if not store.has_model_file(record):
        return None
    columns: int | None = read_state(store.model(record), record.model["file"])[0]["columns"]
    return columns


# Times


@dataclass(frozen=True)
class Timing:
    """Seconds per query, and what a query meets."""

    median: float
    slowest: float  # 99th percentile
    touched: float
    probed: float
    bytes: float


def timed(
    calls: dict[str, Callable[[np.ndarray], Any]], queries: np.ndarray
) -> dict[str, tuple[list[float], list[Any]]]:
    """All calls on each query in turn, so that whatever else the machine does hits all alike."""
    found: dict[str, tuple[list[float], list[Any]]] = {name: ([], []) for name in calls}
    for query in [*queries[:3], *queries]:  # the first ones again: caches and tables of flips are warm then
        for name, call in calls.items():
            start = time.perf_counter()
            result = call(query)
            found[name][0].append(time.perf_counter() - start)
            found[name][1].append(result)
    return {name: (seconds[3:], results[3:]) for name, (seconds, results) in found.items()}


def time_searches(codes: Codes, faiss: bool) -> dict[str, Timing]:
    indexes: dict[str, Index] = {
        "scan": ExactScan(codes.database, codes.bits),
        "lookup": TableLookup(codes.database, codes.bits),
        "multi": MultiIndex(codes.database, codes.bits),
    }
    if faiss:
        indexes |= {
            f"faiss {kind}": open_index(codes.database, codes.bits, kind, faiss=True) for kind in ("scan", "lookup")
        }
    calls = {name: _asked(index, name.endswith("lookup")) for name, index in indexes.items()}
    found = {}
    for name, (seconds, results) in timed(calls, codes.queries).items():
        touched, probed = (float(np.median([getattr(one, what) for one in results])) for what in ("touched", "probed"))
        middle, slowest = np.percentile(seconds, [50, 99])
        found[name] = Timing(middle, slowest, touched, probed, indexes[name].bytes / len(codes.database))
    return found


def _asked(index: Index, ball: bool) -> Callable[[np.ndarray], Any]:
    return (lambda query: index.within(query, RADIUS)) if ball else (lambda query: index.top(query, NEAREST))


def float_scan(dimensions: int, rows: int) -> float:
    """Seconds to find the ten nearest of `rows` by float features."""
    random = np.random.default_rng(0)
    measured = min(rows, FLOAT_ROWS)
    features = random.random((measured, dimensions), np.float32)
    seconds = []
    for query in random.random((25, dimensions), np.float32):
        start = time.perf_counter()
        scores = features @ query
        np.argpartition(scores, measured - min(NEAREST, measured))
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)) * rows / measured


# What radius 2 finds


def found_within(codes: Codes) -> dict[str, float]:
    """Means over queries: codes in the ball, share of empty balls, and of what is wanted the part that is in it."""
    scan = ExactScan(codes.database, codes.bits)
    sizes, parts, exact = [], [], []
    for number, query in enumerate(codes.queries):
        distances = scan.distances(query)
        ball = distances <= RADIUS
        sizes.append(int(ball.sum()))
        if codes.query_labels is not None and codes.database_labels is not None:
            wanted = (codes.database_labels & codes.query_labels[number]).any(axis=1)
            exact.append(wanted[ball].mean() if ball.any() else 0.0)
        else:
            wanted = np.isin(np.arange(len(ball)), scan.top(query, NEAREST).rows)
        parts.append(ball[wanted].mean() if wanted.any() else np.nan)
    precision = {"precision": float(np.mean(exact))} if exact else {}
    empty = float(np.mean([size == 0 for size in sizes]))
    return {"in the ball": float(np.mean(sizes)), "empty": empty, "recall": float(np.nanmean(parts)), **precision}


# Words


def print_times(codes: Codes, size: int, reference: float, found: dict[str, Timing], dimensions: int) -> None:
    scan = f"float scan of {dimensions} columns {1000 * reference:.2f} ms per query"
    print(f"{codes.name}, {codes.bits} bits, {size:,} codes; {scan}")
    for name, one in found.items():
        print(
            f"  {name:14}{one.median / reference:10.5f}{one.slowest / reference:10.5f}{1000 * one.median:11.3f} ms"
            f"{one.touched:14,.0f}{one.probed:12,.0f}{one.bytes:10.1f}",
            flush=True,
        )


def print_head() -> None:
    print("time per query as a part of a float scan, one thread; the absolute median beside it")
    print(f"  {'':14}{'median':>10}{'99 %':>10}{'median':>14}{'touched':>14}{'probed':>12}{'B/item':>10}")


def print_found(rows: Sequence[tuple[Codes, int, dict[str, float]]]) -> None:
    print(f"\nwhat radius {RADIUS} finds (recall: of a cell, of all relevant; else of the {NEAREST} nearest)")
    for codes, size, found in rows:
        words = "  ".join(f"{name} {value:.4g}" for name, value in found.items())
        print(f"  {codes.name}, {codes.bits} bits, {size:,} codes: {words}")


def measure_made(args: argparse.Namespace) -> None:
    rows = []
    for size in args.sizes:
        reference = float_scan(args.dimensions, size)
        for kind in ("random", "clustered"):
            for bits in args.bits:
                codes = made_codes(kind, bits, size, args.queries)
                print_times(codes, size, reference, time_searches(codes, args.faiss), args.dimensions)
                found = found_within(replace(codes, queries=codes.queries[:50]))
                rows.append((replace(codes, database=codes.database[:0]), size, found))  # the codes may go
    print_found(rows)


def measure_cells(args: argparse.Namespace) -> None:
    rows = []
    for wanted in args.cells:
        codes, record, store = stored_codes(args.results, wanted)
        few = replace(codes, queries=codes.queries[: args.queries])
        dimensions = own_columns(record, store) or args.dimensions
        for size in args.sizes:
            reference = float_scan(dimensions, size)
            found = time_searches(few.enlarged(size), args.faiss)
            print_times(codes, size, reference, found, dimensions)
        rows.append((codes, len(codes.database), found_within(codes)))
        if args.keep:
            ratios = {name: found[name].median / reference for name in ("scan", "lookup", "multi")}
            record.search = {**ratios, "codes": size, "dimensions": dimensions}
            with store.lock(record.key) as mine:
                print(f"  kept in {record.key[:12]}" if mine else f"  {record.key[:12]} is in use, so nothing is kept")
                if mine:
                    store.commit(record)
    print_found(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="*", metavar="CELL", help="with --results: e.g. 'itq coco 64'")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the cells")
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000], metavar="N")
    parser.add_argument("--bits", nargs="+", type=int, default=BITS, metavar="K", help="multiples of 8, up to 64")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--dimensions", type=int, default=512, help="columns of the float features")
    parser.add_argument("--faiss", action="store_true", help="also faiss's scan and lookup")
    parser.add_argument("--keep", action="store_true", help="put a cell's ratios into its record, for the report")
    args = parser.parse_args()
    print_head()
    if args.cells:
        measure_cells(args)
    else:
        measure_made(args)


if __name__ == "__main__":
    main()
