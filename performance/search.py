"""What a search costs and what it finds: `python performance/search.py [--sizes N ...] [--results DIR CELL ...]`.

For random codes, for clustered ones (classes of codes that differ in one bit of twenty), or for the codes of stored
cells: time per query of the exact scan (ten nearest), of lookup within radius 2 and of multi-index hashing (ten
nearest), median and 99th percentile, as parts of the time that a scan of float features takes in the same run; codes
touched, keys probed, bytes per item. Then what radius 2 finds: codes in the ball, share of empty balls, and how many
of the ten nearest, or, of a cell, how many of the relevant lie in it. All on one thread; they and the float scan take
turns, and what counts is the time that the thread itself has run, so that a busy machine does not tell.

The float scan is a product of one row with as many rows and the ten largest. A cell's is one of the features that the
cell had, repeated as its codes are; without a cell it is one of random numbers in --dimensions columns. At most
--float-gigabytes are scanned, and more rows are taken to cost in proportion; the heading says where either happens.
A cell's codes are drawn again and again until there are --sizes of them, which changes no distribution; what radius 2
finds is counted on its own database. With --keep what was measured at the largest size goes into the cell's record, and
the report's tables of costs show it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy reads them

import numpy as np  # noqa: E402

from benchmark.commands.main import Parser  # noqa: E402
from benchmark.errors import UsageError  # noqa: E402
from benchmark.evaluation.codes import pack  # noqa: E402
from benchmark.search import ExactScan, Index, MultiIndex, TableLookup, open_index  # noqa: E402

BITS = (16, 32, 48, 64)
NEAREST, RADIUS = 10, 2
FLOAT_SCANS = 25  # among the queries of a measurement
ASKED = 200  # queries whose balls are counted
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


def own_features(record: Any, store: Any) -> np.ndarray | None:
    """The database's features as the cell had them; None where it had images, or nobody knows what it had."""
    if record.codes_only:
        return None
    from benchmark.execution.options import Options
    from benchmark.execution.recorded_cell import planned_again
    from benchmark.execution.runner import request_for
    from benchmark.execution.worker import checked_splits

    planned = planned_again(record, store)
    splits = checked_splits(planned.cell.method, request_for(planned, store, Options()))[1]
    features = splits.database.features
    return None if features is None else np.asarray(features, np.float32).reshape(len(features), -1)


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
    calls: dict[str, Callable[[np.ndarray], Any]], queries: np.ndarray, floats: FloatRows
) -> tuple[dict[str, tuple[list[float], list[Any]]], list[float]]:
    """All calls on each query in turn, and on some a float scan, so that whatever else the machine does hits all
    alike: (seconds and results of each call, seconds of the float scan)."""
    found: dict[str, tuple[list[float], list[Any]]] = {name: ([], []) for name in calls}
    scanned = []
    some = {*np.linspace(0, len(queries) - 1, FLOAT_SCANS).astype(int).tolist()}
    for number, query in enumerate(queries):
        if number in some:
            scanned.append(floats.scan(number))
            for call in calls.values():  # caches are theirs again
                call(query)
        for name, call in calls.items():
            start = time.thread_time()
            result = call(query)
            found[name][0].append(time.thread_time() - start)
            found[name][1].append(result)
    return found, scanned


def time_searches(codes: Codes, floats: FloatRows, faiss: bool) -> tuple[dict[str, Timing], FloatScan]:
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
    told, scanned = timed(calls, codes.queries, floats)
    for name, (seconds, results) in told.items():
        touched, probed = (float(np.median([getattr(one, what) for one in results])) for what in ("touched", "probed"))
        middle, slowest = np.percentile(seconds, [50, 99])
        found[name] = Timing(middle, slowest, touched, probed, indexes[name].bytes / len(codes.database))
    return found, floats.told(scanned)


def _asked(index: Index, ball: bool) -> Callable[[np.ndarray], Any]:
    return (lambda query: index.within(query, RADIUS)) if ball else (lambda query: index.top(query, NEAREST))


@dataclass(frozen=True)
class FloatScan:
    """Seconds to find the ten nearest by float features, and of how many rows they were measured."""

    seconds: float
    columns: int
    own: int  # rows there are, before they are repeated
    measured: int
    rows: int

    @property
    def words(self) -> str:
        told = [f"{self.own:,} rows repeated"] if self.own < self.measured else []
        told += [f"measured at {self.measured:,}, taken to cost in proportion"] if self.measured < self.rows else []
        part = f" ({'; '.join(told)})" if told else ""
        return f"float scan of {self.columns} columns {1000 * self.seconds:.2f} ms per query{part}"


class FloatRows:
    """As many rows of float features as there are codes, up to a number of gigabytes, to be scanned."""

    def __init__(self, source: np.ndarray, rows: int, gigabytes: float) -> None:
        self.source, self.rows = source, rows
        measured = min(rows, int(gigabytes * 2**30 / 4 / source.shape[1]))
        self.features = np.empty((measured, source.shape[1]), np.float32)
        for start in range(0, measured, len(source)):
            self.features[start : start + len(source)] = source[: measured - start]

    def scan(self, number: int) -> float:
        """Seconds that the ten nearest to one of the rows take."""
        query, measured = self.source[number % len(self.source)], len(self.features)
        start = time.thread_time()
        np.argpartition(self.features @ query, measured - min(NEAREST, measured))
        return time.thread_time() - start

    def told(self, seconds: Sequence[float]) -> FloatScan:
        measured, columns = self.features.shape
        each = float(np.median(seconds)) * self.rows / measured
        return FloatScan(each, columns, len(self.source), measured, self.rows)


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
            wanted = scan.top(query, NEAREST).rows
        parts.append(ball[wanted].mean() if len(ball[wanted]) else np.nan)
    precision = {"precision": float(np.mean(exact))} if exact else {}
    empty = float(np.mean([size == 0 for size in sizes]))
    return {"in the ball": float(np.mean(sizes)), "empty": empty, "recall": float(np.nanmean(parts)), **precision}


# Words


def print_times(codes: Codes, size: int, floats: FloatScan, found: dict[str, Timing]) -> None:
    print(f"{codes.name}, {codes.bits} bits, {size:,} codes; {floats.words}")
    reference = floats.seconds
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
    print_head()
    source = np.random.default_rng(0).random((10_000, args.dimensions), np.float32)
    for size in args.sizes:
        rows_of_floats = FloatRows(source, size, args.float_gigabytes)
        for kind in ("random", "clustered"):
            for bits in args.bits:
                codes = made_codes(kind, bits, size, args.queries)
                times, floats = time_searches(codes, rows_of_floats, args.faiss)
                print_times(codes, size, floats, times)
                found = found_within(replace(codes, queries=codes.queries[:ASKED]))
                rows.append((replace(codes, database=codes.database[:0]), size, found))  # the codes may go
    print_found(rows)


def measure_cells(args: argparse.Namespace) -> None:
    rows = []
    found_cells = [stored_codes(args.results, wanted) for wanted in args.cells]  # a wrong name costs no time
    print_head()
    for codes, record, store in found_cells:
        few = replace(codes, queries=codes.queries[: args.queries])
        source = own_features(record, store)
        if source is None:
            why = "is codes only" if record.codes_only else "had images"
            print(f"{codes.name} {why}: the float scan is one of random numbers in {args.dimensions} columns")
            source = np.random.default_rng(0).random((10_000, args.dimensions), np.float32)
        for size in args.sizes:
            found, floats = time_searches(few.enlarged(size), FloatRows(source, size, args.float_gigabytes), args.faiss)
            print_times(codes, size, floats, found)
        rows.append((codes, len(codes.database), found_within(codes)))
        if args.keep:
            record.search = kept_numbers(found, floats)
            with store.lock(record.key) as mine:
                print(f"  kept in {record.key[:12]}" if mine else f"  {record.key[:12]} is in use, so nothing is kept")
                if mine:
                    store.commit(record)
    print_found(rows)


def kept_numbers(found: dict[str, Timing], floats: FloatScan) -> dict[str, float]:
    """What a record keeps: times as parts of the float scan's, and what a query touches."""
    numbers: dict[str, float] = {"codes": floats.rows, "columns": floats.columns}
    for name in ("scan", "lookup", "multi"):
        one = found[name]
        numbers |= {name: one.median / floats.seconds, f"{name}_99": one.slowest / floats.seconds}
        numbers |= {f"{name}_touched": one.touched, f"{name}_bytes": one.bytes}
    return numbers


def main() -> None:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="*", metavar="CELL", help="with --results: e.g. 'itq coco 64'")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the cells")
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000], metavar="N")
    parser.add_argument("--bits", nargs="+", type=int, default=BITS, metavar="K", help="multiples of 8, up to 64")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument(
        "--dimensions", type=int, default=512, help="columns of the float features where no cell's are at hand"
    )
    parser.add_argument("--float-gigabytes", type=float, default=2.0, help="of float features scanned at the most")
    parser.add_argument("--faiss", action="store_true", help="also faiss's scan and lookup")
    parser.add_argument("--keep", action="store_true", help="put a cell's ratios into its record, for the report")
    try:
        args = parser.parse_args()
        if args.cells:
            measure_cells(args)
        else:
            measure_made(args)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
